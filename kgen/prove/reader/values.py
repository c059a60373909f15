"""Values of a kernel as the reader knows them.

A block's value is a polynomial (a formula, for truth values) over program ids, loop turns and *lanes*: one variable for
each axis of the block that has more than one element. So two blocks along different axes stay apart, and a sum of two
`arange`s along one axis is its diagonal.

A polynomial is the mathematical value. The machine's is the same only where the `needs` of the value hold: the numbers
of conditions (`kgen.prove.reader.record.Need`) such as "this product fits 32 bits".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from kgen.algebra import Formula, Poly

Shape = tuple[int, ...]
Needs = frozenset[int]
NONE: Needs = frozenset()


@dataclass(frozen=True)
class Integer:
    """An integer of `bits` bits, read as signed."""

    poly: Poly
    shape: Shape
    bits: int
    needs: Needs = NONE


@dataclass(frozen=True)
class Condition:
    """A truth value."""

    formula: Formula
    shape: Shape
    needs: Needs = NONE


@dataclass(frozen=True)
class Pointer:
    """The address of an element: `offset` elements of `element_bits` bits after the first of `tensor`."""

    tensor: str
    offset: Poly
    element: str
    shape: Shape
    needs: Needs = NONE


@dataclass(frozen=True)
class Data:
    """A value that reaches no address: a real number, or a pointer's target that is one."""

    shape: Shape


@dataclass(frozen=True)
class Lost:
    """A value about which nothing is known, `reason` says why; no access through it can be proved."""

    reason: str
    shape: Shape


Value = Union[Integer, Condition, Pointer, Data, Lost]


def needs_of(value: Value) -> Needs:
    """The numbers of what has to hold for the value to be what it says."""
    return getattr(value, "needs", NONE)
