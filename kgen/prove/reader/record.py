"""What reading a kernel leaves: its memory accesses, barriers and needs, in program order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from kgen.algebra import Formula, Poly
from kgen.prove.reader.values import Needs, Shape, Value
from kgen.prove.ttir import Operation


@dataclass(frozen=True)
class Loop:
    """A loop around something: `turn` counts its turns from 0, and `guard` holds in each."""

    turn: Poly
    guard: Formula
    line: int


@dataclass(frozen=True)
class Access:
    """A load, store or atomic operation, where `path` holds and, lane by lane, `mask`.

    `offset` counts elements of type `element` from the tensor's first. `value` is what is stored, or added, `result`
    what a load or an atomic operation gives. A load is `followed` if more is known of its result than where it is
    loaded. `order` is the position among all events of the kernel.
    """

    kind: Literal["load", "store", "atomic"]
    operation: Operation
    tensor: str
    offset: Poly
    element: str
    shape: Shape
    mask: Formula
    path: Formula
    loops: tuple[Loop, ...]
    needs: Needs
    control_needs: Needs
    value: Value | None
    result: Value | None
    order: int
    followed: bool = False

    @property
    def line(self) -> int:
        return self.operation.line


@dataclass(frozen=True)
class Barrier:
    """Something that orders memory accesses of one program: a CTA barrier, a wait, or inline assembly."""

    operation: Operation
    path: Formula
    loops: tuple[Loop, ...]
    order: int


Event = Union[Access, Barrier]


DIVIDES = "it is by at least 1"
"""What a division needs in order to have a value."""


@dataclass(frozen=True)
class Need:
    """A condition without which an operation's result is not its mathematical value, at `path`."""

    operation: Operation
    says: str
    formula: Formula
    path: Formula


@dataclass(frozen=True)
class Obstacle:
    """Something that the reader does not understand. With `opaque`, it may even access memory."""

    operation: Operation
    reason: str
    opaque: bool


@dataclass(frozen=True)
class Reading:
    """A kernel, read. `programs` are the polynomials of its program ids by name of the grid's dimension."""

    events: tuple[Event, ...]
    needs: tuple[Need, ...]
    obstacles: tuple[Obstacle, ...]
    programs: dict[str, Poly]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(event for event in self.events if isinstance(event, Access))
