"""Obligations and their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kgen.algebra import Certificate, Formula, Point, Poly, Status


@dataclass(frozen=True)
class Suspicion:
    """A point at which an obligation would fail, if the reading of the kernel is right: to be replayed.

    `launch` numbers the launches of the launcher, `programs` are the program ids along the grid's dimensions. `wanted` is
    what holds at the point, and has to at one that is shown in its place.
    """

    kind: Literal["out of range", "wraps", "no value"]
    launch: int
    programs: Sequence[Poly]
    tensor: str
    line: int
    point: Point
    wanted: Formula


@dataclass(frozen=True)
class Obligation:
    """One thing that was to be proved of a kernel, or of a launcher where `kernel` is empty.

    `says` is the statement, `evidence` how it was proved, where it fails or what is left open. `line` is a line of the
    emitted file, `tensor` what it is about. With a `suspicion` the status is `unknown` until a replay shows more.
    `certificates` are the proofs that were asked for on its way. `shown_by` are the kinds of findings of a run that show
    it to be false; where it names none, all those of its subject do. `case` are the
    values of axes that the launcher was read with, where it has several cases.
    """

    launcher: str
    kernel: str
    subject: str
    says: str
    status: Status
    evidence: str
    line: int = 0
    tensor: str = ""
    suspicion: Suspicion | None = None
    shown_by: tuple[str, ...] = ()
    case: str = ""
    certificates: tuple[Certificate, ...] = field(default=(), compare=False)

    def as_json(self) -> Mapping[str, Any]:
        """The obligation as plain data."""
        return {
            "launcher": self.launcher,
            "kernel": self.kernel,
            "subject": self.subject,
            "says": self.says,
            "status": str(self.status),
            "evidence": self.evidence,
            "line": self.line,
        }
