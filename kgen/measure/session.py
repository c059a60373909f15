"""A candidate's own process: the file, the device, and one shape at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from kgen.measure.candidate import Candidate
from kgen.measure.compiles import Compiles
from kgen.measure.device import Device, NotCapturable, make_device
from kgen.measure.graph import DISTINCT, Calls
from kgen.measure.patches import Patches
from kgen.measure.probes import Findings, examine, listed
from kgen.measure.sets import bytes_of, copies, rotation
from kgen.measure.task import find_task
from kgen.measure.trial import Query, Trial
from kgen.runner.case import Case

SEEDS = 8
"""How many seeds a shape may use; those of two shapes or turns never meet."""

Emit = Callable[[dict], None]


class Session:
    """The verbs of a worker. `open` comes first, then for each shape `begin`, any number of `turn`, and `end`."""

    def __init__(self) -> None:
        self._device: Device | None = None
        self._candidate: Candidate | None = None
        self._compiles: Compiles | None = None
        self._trial: Trial | None = None
        self._calls: Calls | None = None
        self._compiled = 0
        self._patches: Patches | None = None
        self._exchanged: dict[str, None] = {}

    def verbs(self) -> dict[str, Callable[[dict, Emit], dict]]:
        """What a worker serves."""
        later = ("shapes", "limits", "clock", "load", "begin", "turn", "end")
        return {"open": self.open} | {name: self._on_stream(getattr(self, name)) for name in later}

    def _on_stream(self, verb: Callable[[dict, Emit], dict]) -> Callable[[dict, Emit], dict]:
        """All that a verb does, copies and comparisons too, goes to the one stream that calls are made on: nothing
        orders another stream with it.
        """

        def answer(payload: dict, emit: Emit) -> dict:
            with self._device.eager():
                return verb(payload, emit)

        return answer

    def open(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `device` and `memory_share`, `task` as the paths that find it; gives the environment."""
        self._device = make_device(payload["device"], payload["memory_share"])
        self._task = find_task(*payload["task"])
        self._asker = self._task.asker()
        mode = "interpret" if self._device.torch.type == "cpu" else "gpu"
        self._cases = {case.name: case for case in self._task.shapes(self._asker, mode)}
        return {"environment": self._device.describe()}

    def shapes(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Gives the record's shapes, without what a candidate decides, and how many sets each rotates."""
        return {"shapes": [self._shape(case) for case in self._cases.values()]}

    def _shape(self, case: Case) -> dict[str, Any]:
        inputs = self._asker.inputs(case, 0, self._device.torch, self._device.torch)
        held = bytes_of(inputs)
        del inputs
        work = self._asker.work(case)
        touched = min(work.bytes, held) if work else held
        turned = rotation(touched, held, self._device.l2_bytes, self._device.free_bytes())
        return {
            "name": case.name,
            "axes": dict(case.axes),
            "runtime": {name: list(values) for name, values in case.runtime.items()},
            "regime": case.regime,
            "bytes": work.bytes if work else None,
            "operations": work.operations if work else None,
            "input_bytes": touched,
            "sets": turned.sets,
            "cold": turned.cold,
        }

    def limits(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Gives what the device reaches."""
        return self._device.limits()

    def clock(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Gives the clock rates."""
        return self._device.clock()

    def load(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `file` and whether others are `compared` with it; gives what the file says of itself, having warmed it up."""
        self._compiles = Compiles(kernels=self._device.torch.type == "cuda")
        self._patches, self._exchanged = Patches(), {}
        self._candidate = Candidate(payload["file"], self._task.form, payload["compared"])
        unavailable = self._candidate.unavailable()
        if not unavailable:
            with self._device.eager():
                self._candidate.warm_up()
            self._device.settle()
        return {
            "terms": self._candidate.terms,
            "tolerance": self._candidate.tolerance,
            "unavailable": unavailable,
        }

    def begin(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `shape`, `seed`, `sets`, `rounds` (0: decide), `eager`; gives checks, flags, and `rounds` if it is timed.

        `spent` says that a capture failed, after which a process is better not used for another shape.
        """
        self._look()
        seed = payload["seed"]
        case = self._cases[payload["shape"]]
        self._trial = Trial(self._candidate, self._asker, self._device, case, self._compiles)
        first = self._trial.ask(seed)
        for _ in range(2):
            self._trial.call(first)
        found = examine(self._trial, first, [seed + 2, seed + 3, seed + 4])
        answer = {"rounds": 0, "seconds": 0.0}
        self._compiled = self._compiles.count
        try:
            answer = self._capture(first, payload, found)
        except NotCapturable as refused:
            self._calls = None
            self._late_compilations(found)
            if self._candidate.claims_capture(case.regime):
                found.flag(refused.flag, str(refused))
                found.flag("not_capturable", str(refused))
        self._tell_exchanged(found)
        return {**answer, "spent": self._calls is None, **_plain(found)}

    def _capture(self, first: Query, payload: dict[str, Any], found: Findings) -> dict[str, Any]:
        queries = [first]
        while len(queries) < payload["sets"]:
            number = len(queries)
            if number < DISTINCT:
                inputs = self._trial.inputs(first.seed + (number << 32))
            else:
                inputs = copies(queries[number % DISTINCT].inputs)
            arguments = self._candidate.prepared(inputs)
            queries.append(Query(first.seed, inputs, arguments, first.expected))
        self._calls = Calls(self._trial, queries, payload["eager"])
        self._calls.warm_up()
        self._compiled = self._compiles.count
        seconds = self._calls.prepare(payload["rounds"])
        found.flag(
            "kernel_set_differs" if self._calls.other_launches else "", self._calls.other_launches
        )
        return {"rounds": self._calls.rounds, "seconds": seconds}

    def _late_compilations(self, found: Findings) -> None:
        """What was compiled after each set had been warmed up."""
        late = self._compiles.count - self._compiled
        if late:
            found.flag("compiles_while_timed", f"{late} compilations after warming up")

    def _look(self) -> None:
        """Keeps what is exchanged at this moment: a file can put it back later."""
        self._exchanged.update(dict.fromkeys(self._patches.found()))

    def _tell_exchanged(self, found: Findings) -> None:
        self._look()
        if self._exchanged:
            told = f"since the file was loaded, {listed(tuple(self._exchanged))} was exchanged"
            found.flag("patches_measuring", told)

    def turn(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `replays`; gives seconds a call for each."""
        seconds = self._calls.turn(payload["replays"])
        self._look()
        return {"seconds": seconds}

    def end(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `seed`; gives checks and flags from after the timing, and forgets the shape."""
        seed = payload["seed"]
        found = Findings()
        query = self._trial.ask(seed + 7)
        eager = self._trial.judged_call(query)
        found.check(query, eager)
        if self._calls is not None:
            self._late_compilations(found)
            if not self._candidate.compared:
                found.flag(*self._calls.novelty(seed))
            for number in (5, 6):
                fresh = self._trial.ask(seed + number)
                replayed = self._calls.replayed(fresh)
                if replayed is None:
                    found.skip(fresh, "other data under the graph", self._calls.unlike(fresh))
                    continue
                query, judged = replayed
                right = judged.flag and not eager.flag
                found.check(query, replace(judged, flag="wrong_on_replay") if right else judged)
        self._tell_exchanged(found)
        self._trial = self._calls = None
        if self._device.torch.type == "cuda":
            torch.cuda.empty_cache()
        return _plain(found)


def _plain(found: Findings) -> dict[str, Any]:
    """Checks and flags as JSON; infinity is null."""
    checks = [
        {
            "seed": seed,
            "status": "failed" if one.failures else "passed",
            "worst": one.worst if math.isfinite(one.worst) else None,
            "failures": [{"code": f.code, "message": f.message} for f in one.failures],
        }
        for seed, one in found.checks
    ]
    skipped = [
        {
            "seed": seed,
            "status": "not run",
            "worst": None,
            "failures": [{"code": "KG917", "message": why}],
        }
        for seed, why in found.skipped
    ]
    return {"checks": checks + skipped, "flags": dict(found.flags)}
