"""Hands out turns: every candidate one shape before the next shape, in rounds whose order moves on by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from kgen.evidence.record import Record
from kgen.measure.candidate import source_of
from kgen.measure.gathered import Gathered
from kgen.measure.member import Limits, Lost, Member, NoGpu, NoRun
from kgen.measure.request import Request
from kgen.measure.session import SEEDS
from kgen.measure.stopping import Stop, enough
from kgen.measure.task import find_task
from kgen.runner.faults import NoDevice

Progress = Callable[[str], None]
Start = Callable[[str, str, str, Limits], Member]


COMPARED = ("baseline", "again", "peer")
"""Roles that others are compared with; such a file may leave out an output that it does not offer."""

MEMORY_SHARE = 1.8
"""Of the device's memory, what all processes together may take: they hold their most at different moments. One alone may
take half of it."""

MOST_NAMED = 6
"""Of the shapes that are left out."""

INTERRUPTED = "interrupted"
"""Why a record is incomplete whose run a person ended."""


def measure(
    request: Request, progress: Progress = lambda text: None, start: Start = Member
) -> Record:
    """One run. What is measured when it is interrupted is kept; the record then says that it is incomplete.

    `start` makes a member of a role, a name, a file and its limits. Raises `NoRun`, and `BundleError` for a problem
    that cannot be read.
    """
    run = Run(request, progress, start)
    try:
        incomplete = run.run()
    except KeyboardInterrupt:
        incomplete = INTERRUPTED
    finally:
        run.close()
    if incomplete == INTERRUPTED and not run.gathered.shapes:
        raise NoRun("interrupted before anything was measured")
    return run.gathered.record(incomplete)


def left_out(shapes: Sequence[dict[str, Any]], kept: Sequence[dict[str, Any]]) -> str:
    """Why a judgement of the shapes `kept` is none of the file, which may lose at the others; empty if none is left out."""
    names = [shape["name"] for shape in shapes if shape not in kept]
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    told = ", ".join(names[:MOST_NAMED]) + more
    return f"only {len(kept)} of {len(shapes)} shapes were asked for, without {told}"


class Run:
    """The members of a run and what has come of it."""

    def __init__(self, request: Request, progress: Progress, start: Start):
        self._task = find_task(request.candidate, request.problem)
        self.gathered = Gathered(request, self._task)
        self._request = request
        self._progress = progress
        self._start = start
        self._members: list[Member] = []
        self._eager = False
        self._spent: dict[Member, bool] = {}
        self._left_out = ""

    def run(self) -> str:
        """Why it is incomplete; empty if it is not."""
        self._open()
        shapes = self._shapes()
        self._ceilings()
        self._load()
        for number, shape in enumerate(shapes):
            if not any(one.role == "baseline" and not one.lost for one in self._members):
                return "the baseline could not be measured"
            self._shape(shape, number, len(shapes))
        self._clock("after")
        return self._left_out

    def close(self) -> None:
        """Ends every process."""
        for member in self._members:
            member.close()

    def _open(self) -> None:
        """Starts the processes, one before the others: what it cannot open, none can; the files are not loaded yet."""
        files = self._request.files()
        limits = Limits(
            seconds=self._request.timeout,
            host_bytes=int(self._request.host_gib * 2**30),
            memory_share=min(MEMORY_SHARE / len(files), MEMORY_SHARE / 2),
        )
        opened = {
            "device": self._request.device,
            "memory_share": limits.memory_share,
            "task": [self._request.candidate, self._request.problem],
        }
        self._progress(f"starting {len(files)} processes")
        for chosen in (files[:1], files[1:]):
            started = [self._start(role, name, file, limits) for role, name, file in chosen]
            self._members += started
            for member in started:
                try:
                    answer = member.ask("open", opened)
                except Lost as lost:
                    if lost.kind == NoDevice.__name__:
                        raise NoGpu("this machine has no GPU that torch sees") from lost
                    raise NoRun(lost.message) from lost
                self.gathered.environment = answer["environment"]

    def _shapes(self) -> list[dict[str, Any]]:
        try:
            shapes = self._members[0].ask("shapes", {})["shapes"]
        except Lost as lost:
            raise NoRun(lost.message) from lost
        kept = [shape for shape in shapes if self._request.shapes in shape["name"]]
        if not kept:
            names = ", ".join(shape["name"] for shape in shapes)
            raise NoRun(f"no shape is named {self._request.shapes!r}; there are {names}")
        if any(one.role == "candidate" for one in self._members):
            self._left_out = left_out(shapes, kept)
        return kept

    def _ceilings(self) -> None:
        self._progress("what the device reaches")
        try:
            self.gathered.limits = self._members[0].ask("limits", {})
        except Lost as lost:
            raise NoRun(f"the device's own limits could not be measured: {lost.message}") from lost
        self._clock("before")

    def _clock(self, when: str) -> None:
        for member in self._members:
            try:
                self.gathered.clock(when, member.ask("clock", {}))
                return
            except Lost:
                continue

    def _load(self) -> None:
        """Every file in its process; one that is not available stays in the record, without times."""
        for member in self._members:
            self._progress(f"loading {member.name}")
            told: dict[str, Any] = {}
            lost = None
            try:
                told = member.ask(
                    "load", {"file": member.file, "compared": member.role in COMPARED}
                )
            except Lost as error:
                lost = error
            self.gathered.candidate(member, told)
            if lost is not None:
                self.gathered.lost(member, "", lost)
                member.lost = member.lost or f"not measured: {lost.message}"
            elif told["unavailable"]:
                member.lost = f"not available: {told['unavailable']}"

    def _shape(self, shape: dict[str, Any], number: int, shapes: int) -> None:
        told = f"shape {number + 1} of {shapes}, {shape['name']}"
        seed = self._request.seed + number * SEEDS
        described = self._described(shape)
        self.gathered.shapes.append(described)
        begun = self._begin(shape, seed, told)
        if number == 0 and begun and not any(begun.values()):
            # no graph holds any of them: then all are timed call by call, for the whole run
            self._eager, self.gathered.timed = True, "eager"
            for member in begun:
                self._renew(member, shape["name"])
            begun = self._begin(shape, seed, told)
        ready = [member for member in self._members if begun.get(member)]
        described["calls_per_graph"] = shape["sets"] * max([1, *begun.values()])
        if any(member.role == "baseline" for member in ready):
            self._rounds(ready, shape["name"], told, self._request.budget / shapes)
        for member in begun:
            self._progress(f"{told}: {member.name} once more")
            answer = self._answer(member, "end", shape["name"], {"seed": seed})
            if answer is not None:
                self.gathered.found(member, shape["name"], "after", answer)
            self._renew(member, shape["name"])

    def _renew(self, member: Member, shape: str) -> None:
        """A capture that failed leaves traces in torch's allocator: the next shape gets a fresh process."""
        if self._spent.pop(member, False) and not member.lost:
            try:
                member.renew()
            except Lost as lost:
                self.gathered.lost(member, shape, lost)

    def _begin(self, shape: dict[str, Any], seed: int, told: str) -> dict[Member, int]:
        """How often each member's graph goes through the sets: as the baseline's for all, 0 for one without a graph."""
        begun: dict[Member, int] = {}
        for member in sorted(self._members, key=lambda one: one.role != "baseline"):
            self._progress(f"{told}: {member.name} is checked")
            payload = {
                "shape": shape["name"],
                "seed": seed,
                "sets": shape["sets"],
                "rounds": max(begun.values(), default=0),
                "eager": self._eager,
            }
            answer = self._answer(member, "begin", shape["name"], payload)
            if answer is not None:
                self.gathered.found(member, shape["name"], "before", answer)
                begun[member] = answer["rounds"]
                self._spent[member] = answer["spent"]
        return begun

    def _described(self, shape: dict[str, Any]) -> dict[str, Any]:
        """The shape as the record has it: whose fallback serves it, and how many calls a graph holds at least."""
        task = self._task
        served = [
            member.name
            for member in self._members
            if shape["regime"] in task.fallbacks
            and source_of(member.file).parent == task.form.directory
        ]
        return {**shape, "fallback": served, "calls_per_graph": shape["sets"]}

    def _answer(
        self, member: Member, verb: str, shape: str, payload: dict[str, Any]
    ) -> dict[str, Any] | None:
        """A member's answer; None, with the reason in the record, where it gives none."""
        if member.lost:
            return None
        try:
            return member.ask(verb, payload)
        except Lost as lost:
            self.gathered.lost(member, shape, lost)
            return None

    def _rounds(self, members: Sequence[Member], shape: str, told: str, seconds: float) -> None:
        stop = Stop(self._request.precision, self._request.rounds, seconds)
        baseline = next(member.name for member in members if member.role == "baseline")
        times: dict[str, list[float]] = {member.name: [] for member in members}
        start = time.monotonic()
        number = 0
        while not enough(stop, times, baseline, time.monotonic() - start):
            self._progress(f"{told}: round {number + 1}")
            by = number % len(members)
            for member in [*members[by:], *members[:by]]:
                if member.name not in times:
                    continue
                answer = self._answer(member, "turn", shape, {"replays": self._request.replays})
                if answer is None:
                    del times[member.name]
                    continue
                self.gathered.turn(member, shape, number, answer["seconds"])
                times[member.name].append(median(answer["seconds"]))
            if baseline not in times:
                return
            number += 1
