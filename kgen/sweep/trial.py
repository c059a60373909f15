"""One trial: a candidate's file at one shape, beside the anchor that all of them are compared with.

It needs the standard library alone, since it runs where nothing but torch and Triton is installed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kgen.evidence.plain import canonical
from kgen.measure.device import GPU

Status = Literal["measured", "wrong", "crashed", "timed out", "refused", "incomplete"]
"""`wrong` failed a check or has a flag against it and has no time; `refused` did not compile; `incomplete` was
interrupted, and is tried again.
"""

FINISHED = ("measured", "wrong", "crashed", "timed out", "refused")

_NOT_COMPUTED = ("regimes", "workloads", "axes", "outside")
"""Parts of a manifest's problem that do not say what one call computes."""


@dataclass(frozen=True)
class File:
    """A rendered file and its manifest; `name` is for messages."""

    name: str
    text: str
    manifest: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        """Of the text and of what it is asked with, as which it is laid down on a worker."""
        return _sha256(canonical([self.text, dict(self.manifest)]))


@dataclass(frozen=True)
class Timing:
    """How a trial is measured: `timeout` seconds for one step, `replays` a turn, GiB of host memory."""

    device: str = GPU
    seed: int = 0
    timeout: float = 120.0
    replays: int = 5
    host_gib: float = 64.0


@dataclass(frozen=True)
class Job:
    """What a worker is asked: `rounds` turns of `candidate` and of `anchor` at the workload called `shape`.

    `problem` is the file whose manifest has the workloads.
    """

    problem: File
    anchor: File
    candidate: File
    shape: str
    rounds: int
    timing: Timing


@dataclass(frozen=True)
class Answer:
    """What came of a job: seconds a call, the median of each turn, of both files by round.

    A candidate that is not `measured` has no seconds; `message` says why.
    """

    status: Status
    seconds: tuple[float, ...] = ()
    anchor_seconds: tuple[float, ...] = ()
    message: str = ""


@dataclass(frozen=True)
class Workload:
    """A shape by name, the regime that serves it, and `text`, what of it decides a result."""

    name: str
    regime: str
    text: str

    @property
    def axes(self) -> Mapping[str, int | None]:
        """Its static axes."""
        return json.loads(self.text)["axes"]


@dataclass(frozen=True)
class Place:
    """Where trials run: the device, the versions that decide a result, and the problem's workloads."""

    device: str
    versions: str
    workloads: tuple[Workload, ...]


def shape_text(manifest: Mapping[str, Any], axes: Mapping, runtime: Mapping) -> str:
    """What of a workload decides a result: what is computed, on which sizes and run-time values."""
    asked = {k: v for k, v in manifest["problem"].items() if k not in _NOT_COMPUTED}
    problem = _sha256(canonical([manifest["family"], asked]))[:16]
    return canonical({"problem": problem, "axes": axes, "runtime": runtime}).strip()


def versions_text(environment: Mapping[str, Any]) -> str:
    """The versions that decide what is compiled and how it is launched."""
    names = ("torch", "triton", "ptxas", "driver")
    return ", ".join(f"{name} {environment[name]}" for name in names if environment[name])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
