"""Who measures: a station for each GPU of this machine, or the one of a process that a cluster started."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from kgen.measure.member import Member
from kgen.sweep.station import Start, Station
from kgen.sweep.trial import Answer, File, Job, Place, Timing


class Stations:
    """Stations for as many trials at once as there are GPUs, each made when it is first needed."""

    def __init__(self, makers: list[Callable[[], Station]]):
        self._makers = makers
        self._lock = threading.Lock()
        self._idle: queue.LifoQueue[Station] = queue.LifoQueue()
        self._made: list[Station] = []

    def place(self, problem: File, timing: Timing) -> Place:
        """See `Station.place`."""
        return self._with(lambda station: station.place(problem, timing))

    def measure(self, job: Job) -> Answer:
        """See `Station.measure`."""
        return self._with(lambda station: station.measure(job))

    def close(self) -> None:
        """Ends every process."""
        for station in self._made:
            station.close()

    def _with(self, work: Callable[[Station], Any]) -> Any:
        station = self._taken()
        try:
            return work(station)
        finally:
            self._idle.put(station)

    def _taken(self) -> Station:
        with self._lock:
            if self._idle.empty() and self._makers:
                self._made.append(self._makers.pop(0)())
                return self._made[-1]
        return self._idle.get()


def local_stations(gpus: list[str], start: Start = Member) -> Stations:
    """A station for each of these GPUs, as CUDA_VISIBLE_DEVICES names them; none named, one that sees all."""
    if not gpus:
        return Stations([partial(Station, start)])
    starts = [partial(start, environment={"CUDA_VISIBLE_DEVICES": gpu}) for gpu in gpus]
    return Stations([partial(Station, one) for one in starts])


_own = local_stations([])
"""The station of a process that a cluster started: what it may see, whoever started it has decided."""


def place_here(problem: File, timing: Timing) -> Place:
    """`Station.place` in a worker of a cluster."""
    return _own.place(problem, timing)


def measure_here(job: Job) -> Answer:
    """`Station.measure` in a worker of a cluster."""
    return _own.measure(job)
