"""What two sides are, and what is found between them: plain data that is printed as text or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

SideKind = Literal["spec", "file"]


@dataclass(frozen=True)
class Side:
    """One generated file.

    `label` is how messages call it. `manifest` describes `text`; None where nothing does, and `note` says why then.
    `document` is the resolved spec, None where the file was not rendered just now.
    """

    label: str
    kind: SideKind
    text: str
    manifest: Mapping[str, Any] | None
    document: Mapping[str, Any] | None = None
    note: str = ""


@dataclass(frozen=True)
class Subject:
    """One argument of the command: a single file under the key "", or the files of a folder by their paths in it."""

    label: str
    folder: bool
    sides: Mapping[str, Side]


@dataclass(frozen=True)
class Change:
    """A resolved key whose value differs; `present` says on which sides there is one."""

    key: str
    old: Any
    new: Any
    present: tuple[bool, bool] = (True, True)


@dataclass(frozen=True)
class Spot:
    """Where a difference stands: a function of B, or of A where B has none, and the first line in each (0: none)."""

    function: str
    a_line: int
    b_line: int


@dataclass(frozen=True)
class Substitution:
    """A literal or a name that is another one wherever it stands: one fact, however many lines show it.

    `name` is what the literal is the value of; empty for a renamed name.
    """

    name: str
    old: str
    new: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class FunctionChange:
    """A function that only one side has, or that has another name in each."""

    kind: Literal["added", "removed", "renamed"]
    what: str
    old: str
    new: str
    lines: int


@dataclass(frozen=True)
class Hunk:
    """Lines that differ and that no substitution explains.

    `template` is `FILE:LINE` of the template line behind them, empty for what kgen assembles itself, None where no
    manifest says it. Equal hunks that come from the same template line are one, with several `spots`.
    """

    template: str | None
    removed: tuple[str, ...]
    added: tuple[str, ...]
    comment: bool
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class SourceDiff:
    """How two texts differ: `differs` but for the header's two hashes, `core_differs` in what is computed."""

    differs: bool
    core_differs: bool
    constants: tuple[Substitution, ...] = ()
    renames: tuple[Substitution, ...] = ()
    functions: tuple[FunctionChange, ...] = ()
    hunks: tuple[Hunk, ...] = ()

    @property
    def explained(self) -> bool:
        """Whether something is shown of a text that differs."""
        return bool(self.constants or self.renames or self.functions or self.hunks)


@dataclass(frozen=True)
class Compiled:
    """One signature of a kernel for one target, on both sides: `old` is its name in A, `new` in B, empty for none.

    `signature` tells it from the kernel's others. `numbers` and `instructions` hold the pairs that differ; `same_code`
    is None where it is not known.
    """

    old: str
    new: str
    target: str
    signature: str
    status: tuple[str | None, ...]
    same_code: bool | None
    numbers: Mapping[str, tuple[int | None, ...]]
    instructions: Mapping[str, tuple[int, ...]]


Machine = Literal["same", "differs", "unknown"]


@dataclass(frozen=True)
class Consequence:
    """What the differences come to: `machine` code, why that is known, and the kernels of which something differs."""

    machine: Machine
    reason: str
    kernels: tuple[Compiled, ...] = ()


@dataclass(frozen=True)
class Waves:
    """Programs of a kernel at a workload, in turns of one program for each multiprocessor; None where unknown."""

    kernel: str
    shape: str
    device: str
    waves: tuple[float | None, float | None]


@dataclass(frozen=True)
class Measured:
    """How many times faster B is than A at a shape; no interval where a run has none.

    `receipts` is the one whose run timed both, or two that compared them with one baseline at different times.
    """

    device: str
    shape: str
    ratio: float
    low: float | None
    high: float | None
    receipts: tuple[str, ...]


@dataclass(frozen=True)
class FileDiff:
    """Everything between two files of the same place; a side that there is not is None.

    `spec` is None where a side says nothing of its spec, `measured` where no receipts were looked at.
    """

    name: str
    a: Side | None
    b: Side | None
    spec: tuple[Change, ...] | None = None
    source: SourceDiff | None = None
    consequence: Consequence | None = None
    waves: tuple[Waves, ...] = ()
    measured: tuple[Measured, ...] | None = None

    @property
    def text_differs(self) -> bool:
        """Whether there are two texts that differ, or only one."""
        return self.source is None or self.source.differs

    @property
    def differs(self) -> bool:
        """Whether there is anything to show."""
        return self.text_differs or bool(self.spec)
