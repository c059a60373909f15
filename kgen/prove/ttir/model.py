"""What a TTIR module consists of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


class TtirError(ValueError):
    """Text that does not have the form of TTIR as Triton 3.6 to 3.9 print it."""


@dataclass(frozen=True)
class Type:
    """A type of one element or of a block of them: `shape` is empty for a scalar.

    `element` is MLIR's name (`i32`, `bf16`, `f8E4M3FN`); that of a pointer is what it points to.
    """

    shape: tuple[int, ...]
    element: str
    pointer: bool = False

    @property
    def bits(self) -> int | None:
        """The width of an integer, 1 for a truth value; None for anything else."""
        found = None if self.pointer else re.fullmatch(r"i(\d+)", self.element)
        return int(found.group(1)) if found else None

    def pointee(self) -> Type:
        """What a load through a pointer of this type gives."""
        return Type(self.shape, self.element)


@dataclass(frozen=True)
class Operation:
    """One operation.

    `keywords` are the bare words between its name and its operands (`slt`, `acq_rel`, `gpu`), `text` is its
    first line without locations. `successors` are the blocks that a branch goes to, with what it binds there. `number`
    counts operations in the order of the text, so it tells two of one kind apart; `line` is that of the source file, 0
    where the text names none.
    """

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    keywords: tuple[str, ...]
    attributes: Mapping[str, str]
    operand_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    regions: tuple[Region, ...]
    successors: tuple[tuple[str, tuple[str, ...]], ...]
    number: int
    line: int
    text: str


@dataclass(frozen=True)
class Block:
    """A list of operations. The last one says where it goes on; `arguments` are bound by who goes there."""

    label: str
    arguments: tuple[tuple[str, Type], ...]
    operations: tuple[Operation, ...]


Region = tuple[Block, ...]


@dataclass(frozen=True)
class Function:
    """A kernel: its name, its parameters in order, and its body."""

    name: str
    arguments: tuple[tuple[str, Type], ...]
    body: Region

    def operations(self) -> Iterator[Operation]:
        """Every operation, those of nested regions after the one that holds them."""
        yield from _operations(self.body)


def _operations(region: Region) -> Iterator[Operation]:
    for block in region:
        for operation in block.operations:
            yield operation
            for inner in operation.regions:
                yield from _operations(inner)
