"""Fields of toy candidates, and a crew whose answers are a script: no process, no torch."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor

from kgen.measure.member import NoRun
from kgen.sweep.executor import Crew
from kgen.sweep.field import Entrant, Field
from kgen.sweep.trial import Answer, File, Job, Place, Timing, Workload

WORKLOADS = tuple(Workload(name, "decode", f"text of {name}") for name in ("short", "long"))
PLACE = Place("a device", "triton 3.6.0", WORKLOADS)


def entrant(number: int, seconds: float, status: str = "measured", **changes) -> Entrant:
    """Takes `seconds` at every workload, or fails as `status` says; called by its number."""
    file = File(f"candidate {number}", json.dumps([seconds, status]), {})
    settings = (("tile.BLOCK_N", number), ("variant", "toy"))
    options = {"estimates": {"short": seconds, "long": seconds}, **changes}
    return Entrant(settings, file, f"core {number}", "signature", **options)


def field(*entrants: Entrant, present: Entrant | None = None) -> Field:
    """A sweep of these; the present setting is the first where none is given."""
    return Field("toy", "decode", present or entrants[0], entrants)


class Script:
    """Answers jobs from what the file says, with a noise of 0.2 %; `asked` lists what it was asked."""

    def __init__(self, noise: float = 0.002, before=lambda job: None):
        self.asked: list[Job] = []
        self._random = random.Random(1)
        self._noise = noise
        self._before = before

    def measure(self, job: Job) -> Answer:
        self.asked.append(job)
        self._before(job)
        seconds, status = json.loads(job.candidate.text)
        if status == "no anchor":
            raise NoRun("the anchor gave no time")
        if status != "measured":
            return Answer(status, message=f"{job.candidate.name} is {status}")
        base = json.loads(job.anchor.text)[0]
        return Answer("measured", self._turns(seconds, job.rounds), self._turns(base, job.rounds))

    def _turns(self, seconds: float, rounds: int) -> tuple[float, ...]:
        return tuple(seconds * (1 + self._random.gauss(0, self._noise)) for _ in range(rounds))

    def crew(self, slots: int = 1) -> Crew:
        executor = ThreadPoolExecutor(slots)
        close = lambda: executor.shutdown(wait=True, cancel_futures=True)  # noqa: E731
        return Crew(executor, lambda problem, timing: PLACE, self.measure, slots, close)

    def rounds(self) -> dict[tuple[str, str], int]:
        """Rounds that were asked for, by candidate and workload."""
        found: dict[tuple[str, str], int] = {}
        for job in self.asked:
            key = (job.candidate.name, job.shape)
            found[key] = found.get(key, 0) + job.rounds
        return found


TIMING = Timing("a device", 0)
