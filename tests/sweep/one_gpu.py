"""A machine with one GPU whose times are a table; run as a script, `kgen` on it, where the last candidate never ends.

The script tells on stderr when that candidate is under way.
"""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kgen.sweep.executor import Crew
from kgen.sweep.rendered import workloads
from kgen.sweep.trial import Answer, File, Job, Place

SECONDS = {4: 0.8, 8: 1.0, 16: 2.0}
"""How long a candidate takes by its number of warps, of what the spec has (8)."""

UNDER_WAY = "the last candidate is under way"


def warps(file: File) -> int:
    (rows,) = [one for one in file.manifest["regimes"] if one["name"] == "rows"]
    return rows["parameters"]["NUM_WARPS"]


class OneGpu:
    """`jobs` are those that it was asked; `before` is called with each."""

    def __init__(self, before: Callable[[Job], None] = lambda job: None):
        self.jobs: list[Job] = []
        self._before = before
        self._noise = random.Random(0)

    def place(self, problem, timing) -> Place:
        return Place("a GPU", "triton 3.6.0", workloads(problem.manifest))

    def measure(self, job: Job) -> Answer:
        self.jobs.append(job)
        self._before(job)
        own, base = SECONDS[warps(job.candidate)], SECONDS[warps(job.anchor)]
        turns = [self._noise.gauss(1, 0.001) for _ in range(job.rounds)]
        return Answer("measured", tuple(own * one for one in turns), (base,) * job.rounds)

    def crew(self, closing: Callable[[], None] = lambda: None) -> Crew:
        executor = ThreadPoolExecutor(1)

        def close() -> None:
            closing()
            executor.shutdown(cancel_futures=True)

        return Crew(executor, self.place, self.measure, 1, close)


def main() -> None:
    from kgen.cli import main, swept

    closed = threading.Event()

    def before(job: Job) -> None:
        if warps(job.candidate) == 16:
            print(UNDER_WAY, file=sys.stderr, flush=True)
            closed.wait()

    gpu = OneGpu(before)
    swept.crew = lambda executor: gpu.crew(closed.set)
    swept.visible_gpus = lambda: ["0"]
    main()


if __name__ == "__main__":
    # in the background of a shell a program inherits that Ctrl-C is ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
