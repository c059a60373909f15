"""A station measures trials on one GPU, in processes that a candidate may crash or hang without other harm.

A station keeps one process for candidates, which load one after the other in it, and one for the anchor at each shape,
where the anchor stays captured. It needs the standard library alone; torch is in the processes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from kgen.measure.member import Limits, Lost, Member, NoGpu, NoRun
from kgen.runner.faults import NoDevice
from kgen.sweep.trial import Answer, File, Job, Place, Status, Timing, Workload
from kgen.sweep.trial import shape_text, versions_text

ANCHORS = 4
"""Shapes whose anchor a station keeps ready at once."""

MEMORY_SHARE = 0.9 / (ANCHORS + 1)
"""Of the device's memory, what one process may take."""

REFUSED = ("CompilationError", "CompileTimeAssertionFailure", "OutOfResources", "PTXASError")
"""Exceptions of Triton that say that a kernel cannot be compiled or launched with these numbers."""

Start = Callable[[str, str, str, Limits], Member]


@dataclass(frozen=True)
class Ready:
    """An anchor that is captured at a shape: how often its graph goes through how many sets, or that it is timed
    call by call.
    """

    member: Member
    sets: int
    rounds: int
    eager: bool


class Station:
    """One GPU's processes. `start` makes one of a role, a name, a file and its limits."""

    def __init__(self, start: Start = Member):
        self._start = start
        self._folder = tempfile.TemporaryDirectory(prefix="kgen-sweep-")
        self._closed = False
        self._candidate: Member | None = None
        self._loaded = ""
        self._anchors: dict[tuple[str, str, str], Ready] = {}

    def place(self, problem: File, timing: Timing) -> Place:
        """Where trials of a problem run here. Raises `NoRun`, `NoGpu` where torch sees no GPU."""
        member = self._opened("candidate", problem, problem, timing)
        try:
            environment = member.ask("open", self._opening(problem, timing))["environment"]
            shapes = member.ask("shapes", {})["shapes"]
        except Lost as lost:
            raise _no_run(lost) from lost
        finally:
            member.close()
        workloads = (
            Workload(
                shape["name"],
                shape["regime"],
                shape_text(problem.manifest, shape["axes"], shape["runtime"]),
            )
            for shape in shapes
        )
        return Place(environment["device"], versions_text(environment), tuple(workloads))

    def measure(self, job: Job) -> Answer:
        """The trial's answer. Raises `NoRun` where the anchor gives no time, so that nothing can be compared."""
        ready = self._anchor(job)
        try:
            member = self._candidate_for(job)
            return self._turns(job, ready, member)
        except Lost as lost:
            self._close_candidate()
            message = lost.message.replace(f"{self._folder.name}{os.sep}", "")
            return Answer(_status(lost), message=message)

    def close(self) -> None:
        """Ends every process, from whichever thread; a trial under way ends as one whose process died."""
        self._closed = True
        self._close_candidate()
        for ready in list(self._anchors.values()):
            ready.member.close()
        self._anchors.clear()
        self._folder.cleanup()

    def _turns(self, job: Job, ready: Ready, member: Member) -> Answer:
        """Checks, times in turns with the anchor, and checks again."""
        timing = job.timing
        payload = {"shape": job.shape, "seed": timing.seed, "sets": ready.sets}
        payload |= {"rounds": ready.rounds, "eager": ready.eager}
        begun = member.ask("begin", payload)
        against = held(begun)
        if not against and not begun["rounds"]:
            against = "not_capturable: no graph holds its calls, and the anchor's are in one"
        own, base = ([], []) if against else self._rounds(job, ready, member)
        against = against or held(member.ask("end", {"seed": timing.seed}))
        if begun["spent"]:
            self._close_candidate()
        if against:
            return Answer("wrong", message=against)
        return Answer("measured", tuple(own), tuple(base))

    def _rounds(self, job: Job, ready: Ready, member: Member) -> tuple[list[float], list[float]]:
        own: list[float] = []
        base: list[float] = []
        turn = {"replays": job.timing.replays}
        for number in range(job.rounds):
            sides = [(member, own), (ready.member, base)]
            for side, kept in sides if number % 2 else reversed(sides):
                kept.append(median(self._turn(side, turn, ready)))
        return own, base

    def _turn(self, side: Member, turn: Mapping[str, Any], ready: Ready) -> list[float]:
        try:
            return side.ask("turn", dict(turn))["seconds"]
        except Lost as lost:
            if side is not ready.member:
                raise
            self._forget(ready)
            raise NoRun(f"the anchor gave no time: {lost.message}") from lost

    def _anchor(self, job: Job) -> Ready:
        """The anchor at the job's shape, captured; the one that was used longest ago makes room."""
        key = (job.problem.sha256, job.anchor.sha256, job.shape)
        if key in self._anchors:
            self._anchors[key] = self._anchors.pop(key)
            return self._anchors[key]
        while len(self._anchors) >= ANCHORS:
            self._forget(next(iter(self._anchors.values())))
        ready = self._captured(job, eager=False)
        if not ready.rounds:
            # no graph holds it: all are timed call by call at this shape then
            ready.member.close()
            ready = self._captured(job, eager=True)
        self._anchors[key] = ready
        return ready

    def _captured(self, job: Job, eager: bool) -> Ready:
        member = self._opened("baseline", job.anchor, job.problem, job.timing)
        try:
            member.ask("open", self._opening(job.problem, job.timing))
            shapes = {one["name"]: one for one in member.ask("shapes", {})["shapes"]}
            member.ask("load", {"file": member.file, "compared": True})
            sets = shapes[job.shape]["sets"]
            payload = {"shape": job.shape, "seed": job.timing.seed, "sets": sets, "rounds": 0}
            begun = member.ask("begin", {**payload, "eager": eager})
        except Lost as lost:
            member.close()
            raise _no_run(lost) from lost
        against = held(begun, ("synchronises", "not_capturable"))
        if against:
            member.close()
            raise NoRun(f"the setting to compare with is not right at {job.shape}: {against}")
        return Ready(member, sets, begun["rounds"], eager)

    def _forget(self, ready: Ready) -> None:
        ready.member.close()
        self._anchors = {key: one for key, one in self._anchors.items() if one is not ready}

    def _candidate_for(self, job: Job) -> Member:
        """The candidates' process with the job's file loaded. Raises `Lost`."""
        loaded = f"{job.problem.sha256}{job.candidate.sha256}"
        if self._candidate is not None and not self._loaded.startswith(job.problem.sha256):
            self._close_candidate()
        if self._candidate is None:
            self._candidate = self._open_candidate(job)
        if self._loaded != loaded:
            file = str(self._laid_down(job.candidate))
            self._candidate.ask("load", {"file": file, "compared": False})
            self._loaded = loaded
        return self._candidate

    def _open_candidate(self, job: Job) -> Member:
        """A fresh process for candidates; that it does not open is no candidate's doing."""
        member = self._opened("candidate", job.candidate, job.problem, job.timing)
        try:
            member.ask("open", self._opening(job.problem, job.timing))
        except Lost as lost:
            member.close()
            raise _no_run(lost) from lost
        return member

    def _close_candidate(self) -> None:
        if self._candidate is not None:
            self._candidate.close()
        self._candidate, self._loaded = None, ""

    def _opened(self, role: str, file: File, problem: File, timing: Timing) -> Member:
        if self._closed:
            raise NoRun("the sweep has ended")
        limits = Limits(timing.timeout, int(timing.host_gib * 2**30), MEMORY_SHARE)
        self._laid_down(problem)
        return self._start(role, file.name, str(self._laid_down(file)), limits)

    def _opening(self, problem: File, timing: Timing) -> dict[str, Any]:
        task = [str(self._laid_down(problem)), ""]
        return {"device": timing.device, "memory_share": MEMORY_SHARE, "task": task}

    def _laid_down(self, file: File) -> Path:
        """The folder with the file and its manifest."""
        folder = Path(self._folder.name, file.sha256[:20])
        if not (folder / "manifest.json").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "submission.py").write_text(file.text, encoding="utf-8")
            (folder / "manifest.json").write_text(json.dumps(dict(file.manifest)))
        return folder


def held(answer: Mapping[str, Any], allowed: tuple[str, ...] = ()) -> str:
    """What an answer's flags and checks hold against a file; empty if nothing."""
    for flag, message in answer["flags"].items():
        if flag not in allowed:
            return f"{flag}: {message}"
    failed = [one for one in answer["checks"] if one["status"] in ("failed", "error")]
    return (
        "; ".join(f"{one['code']}: {one['message']}" for one in failed[0]["failures"])
        if failed
        else ""
    )


def _status(lost: Lost) -> Status:
    if lost.what == "timeout":
        return "timed out"
    return "refused" if lost.kind in REFUSED else "crashed"


def _no_run(lost: Lost) -> NoRun:
    if lost.kind == NoDevice.__name__:
        return NoGpu("this machine has no GPU that torch sees")
    return NoRun(lost.message)
