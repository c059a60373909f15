"""The records that the runner writes, one JSON object a line, and the parent reads back."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Status(enum.Enum):
    """Only `passed` is good. `error` means that the question could not be answered, `skipped` that
    it was not asked.
    """

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Failure:
    """Why a case did not pass.

    `line` counts lines of the emitted file from 1 (0: no line is known); `tensor`, `element`,
    `kernel` and `program` are given where the fault has them.
    """

    code: str
    message: str
    line: int = 0
    tensor: str = ""
    element: tuple[int, ...] = ()
    kernel: str = ""
    program: tuple[int, ...] = ()
    trace: str = ""


@dataclass(frozen=True)
class CaseResult:
    """What came of one case.

    `launched` names the kernels in the order of their launches; `worst` is the largest error as a
    fraction of what is allowed; after `device_lost` nothing more can run in the same process.
    """

    name: str
    regime: str
    status: Status
    failures: tuple[Failure, ...] = ()
    launched: tuple[str, ...] = ()
    worst: float = 0.0
    seconds: float = 0.0
    note: str = ""
    device_lost: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain data with `record: case`; an infinite `worst` is null: JSON has no infinity."""
        worst = self.worst if math.isfinite(self.worst) else None
        plain = dataclasses.asdict(self) | {"status": self.status.value, "worst": worst}
        return {"record": "case", **plain}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> CaseResult:
        """The inverse of `as_json`."""
        fields = {f.name: plain[f.name] for f in dataclasses.fields(cls)}
        fields["status"] = Status(plain["status"])
        fields["worst"] = math.inf if plain["worst"] is None else plain["worst"]
        fields["launched"] = tuple(plain["launched"])
        fields["failures"] = tuple(_failure(entry) for entry in plain["failures"])
        return cls(**fields)


def _failure(plain: Mapping[str, Any]) -> Failure:
    sequences = {"element": tuple(plain["element"]), "program": tuple(plain["program"])}
    return Failure(**{**plain, **sequences})


@dataclass(frozen=True)
class Summary:
    """The last record: what ran, on what, and how it came out.

    `sha256` is that of the file that ran; `edited` says that it is not the one that was rendered.
    """

    bundle: str
    sha256: str
    edited: bool
    mode: str
    device: str
    seed: int
    versions: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if at least one case passed and every other one passed or was skipped on purpose."""
        bad = self.counts.get("failed", 0) + self.counts.get("error", 0)
        return bad == 0 and self.counts.get("passed", 0) > 0

    def as_json(self) -> dict[str, Any]:
        """Plain data with `record: summary`."""
        return {"record": "summary", **dataclasses.asdict(self), "passed": self.passed}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Summary:
        """The inverse of `as_json`."""
        return cls(**{f.name: plain[f.name] for f in dataclasses.fields(cls)})


def count(results: Iterable[CaseResult]) -> dict[str, int]:
    """How many results have each status; every status is named."""
    counts = {status.value: 0 for status in Status}
    for result in results:
        counts[result.status.value] += 1
    return counts
