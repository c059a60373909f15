"""What one program did, in its own order: accesses, barriers, and whatever went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kgen.prove.replay.model import Program

AccessKind = Literal["load", "store", "atomic"]


@dataclass(frozen=True, eq=False)
class Access:
    """One load, store or atomic of a program.

    `elements` are the row-major numbers of the elements that active lanes touch, one entry a lane,
    those out of range left out. `order` and `scope` are the memory semantics of an atomic
    (`acq_rel`, `relaxed` ...; `gpu`, `cta`, `sys`), empty otherwise.
    """

    kind: AccessKind
    tensor: str
    line: int
    elements: np.ndarray
    order: str = ""
    scope: str = ""


@dataclass(frozen=True)
class Barrier:
    """All threads of the program meet here (`tl.debug_barrier`)."""

    line: int


@dataclass(frozen=True)
class DependencyWait:
    """The program waits for the launch before its own (`gdc_wait`)."""

    line: int


Event = Access | Barrier | DependencyWait


@dataclass(frozen=True)
class OutOfRange:
    """An active lane left its tensor.

    `offset` counts elements of the tensor from its first one; an offset between two rows is out of
    range too.
    """

    kind: AccessKind
    tensor: str
    line: int
    offset: int
    lanes: int


CAST = "cast to "
"""How the operation of a cast begins."""


@dataclass(frozen=True)
class Wrap:
    """An integer operation whose exact result does not fit its type, in one of its lanes; a division by zero has none."""

    line: int
    operation: str
    left: int
    right: int | None
    type: str
    exact: int | None

    def __str__(self) -> str:
        if self.operation.startswith(CAST):
            return f"{self.left} {self.operation}, which does not hold it"
        if self.exact is None:
            return f"{self.left} {self.operation} {self.right} has no value"
        operands = f"{self.left}" if self.right is None else f"{self.left} and {self.right}"
        return f"{self.operation} of {operands} is {self.exact}, which {self.type} does not hold"


@dataclass(frozen=True)
class Reached:
    """A wrapped value came to matter at `line`: as the address of an active lane, or a mask ..."""

    wrap: Wrap
    use: str
    line: int


@dataclass(frozen=True)
class Uninitialised:
    """A load of an element of scratch that nothing had written."""

    tensor: str
    line: int
    element: int
    lanes: int


@dataclass(frozen=True)
class Opaque:
    """An address, mask or branch that depends on data without values: nobody knows it here."""

    use: str
    line: int


@dataclass(frozen=True)
class BrokenPromise:
    """A `tl.assume`, `tl.device_assert` or `tl.multiple_of` that does not hold."""

    text: str
    line: int


@dataclass(frozen=True, eq=False)
class Trace:
    """One program of one launch. `steps` counts the operations that were evaluated."""

    function: str
    program: Program
    events: tuple[Event, ...]
    out_of_range: tuple[OutOfRange, ...]
    wraps: tuple[Wrap, ...]
    reached: tuple[Reached, ...]
    uninitialised: tuple[Uninitialised, ...]
    opaque: tuple[Opaque, ...]
    broken: tuple[BrokenPromise, ...]
    steps: int

    @property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(event for event in self.events if isinstance(event, Access))


@dataclass(eq=False)
class Recorder:
    """Collects a trace. `line` is the line that is being evaluated."""

    line: int = 0
    events: list[Event] = field(default_factory=list)
    out_of_range: list[OutOfRange] = field(default_factory=list)
    wraps: dict[Wrap, None] = field(default_factory=dict)
    reached: dict[Reached, None] = field(default_factory=dict)
    uninitialised: list[Uninitialised] = field(default_factory=list)
    opaque: dict[Opaque, None] = field(default_factory=dict)
    broken: dict[BrokenPromise, None] = field(default_factory=dict)
    steps: int = 0
    accessed: int = 0

    def wrap(
        self, operation: str, left: int, right: int | None, type: str, exact: int | None
    ) -> Wrap:
        """Records a wrap at this line, and gives it, so that values can carry it."""
        wrap = Wrap(self.line, operation, left, right, type, exact)
        self.wraps[wrap] = None
        return wrap

    def reach(self, wraps: frozenset[Wrap], use: str) -> None:
        """Records that the effect of these wraps is used here."""
        for wrap in wraps:
            self.reached[Reached(wrap, use, self.line)] = None

    def depends_on_data(self, use: str) -> None:
        """Records a use of a value that is not known."""
        self.opaque[Opaque(use, self.line)] = None

    def finish(self, function: str, program: Program) -> Trace:
        """The finished trace."""
        return Trace(
            function=function,
            program=program,
            events=tuple(self.events),
            out_of_range=tuple(self.out_of_range),
            wraps=tuple(self.wraps),
            reached=tuple(self.reached),
            uninitialised=tuple(self.uninitialised),
            opaque=tuple(self.opaque),
            broken=tuple(self.broken),
            steps=self.steps,
        )
