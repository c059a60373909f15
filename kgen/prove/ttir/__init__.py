"""Triton's intermediate language, read from its text.

`read(text, file)` gives the one kernel of a module as operations with their operands, attributes,
types, regions and the line of `file` that each comes from. Nothing here knows what an operation
means; whatever does not have the expected form raises `TtirError`.
"""

from kgen.prove.ttir.model import Block, Function, Operation, Region, TtirError, Type
from kgen.prove.ttir.read import read

__all__ = ["Block", "Function", "Operation", "Region", "TtirError", "Type", "read"]
