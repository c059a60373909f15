"""Which accesses of different programs race.

The check is that of a happens-before race detector (Flanagan and Freund, FastTrack, PLDI 2009) over
the order in which the interpreter runs the programs.

Not looked at: the order of one program's own stores, and loads of an element by more than two
programs before one stores it, where only the last two are remembered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgen.runner.interpreter.clock import Clock


@dataclass(frozen=True)
class Conflict:
    """Unit `lane` of the `lanes` of an access meets what `segment` did to it: "stored", "loaded" or
    "updated".
    """

    lane: int
    lanes: int
    segment: int
    did: str


class Shadow:
    """For each unit of `unit` bytes of a storage, the segments that last stored, updated and loaded
    it (0: none).
    """

    def __init__(self, nbytes: int, unit: int) -> None:
        self.unit = unit
        self._nbytes = nbytes
        count = -(-nbytes // unit)
        self.stored = np.zeros(count, np.int32)
        self._updated = np.zeros(count, np.int32)
        self._loaded = np.zeros(count, np.int32)
        self._loaded_before = np.zeros(count, np.int32)

    def refine(self, unit: int) -> None:
        """Divides the units, for an access smaller than they are."""
        factor = self.unit // unit
        count = -(-self._nbytes // unit)
        for name in ("stored", "_updated", "_loaded", "_loaded_before"):
            setattr(self, name, np.repeat(getattr(self, name), factor)[:count])
        self.unit = unit

    def untouched(self, units: np.ndarray) -> np.ndarray:
        """For each unit, whether no program ever stored or updated it."""
        return (self.stored[units] == 0) & (self._updated[units] == 0)

    def writer(self, unit: int) -> int:
        """The segment that wrote a unit last, or 0."""
        return int(max(self.stored[unit], self._updated[unit]))

    def load(self, units: np.ndarray, clock: Clock, atomics_seen: np.ndarray) -> Conflict | None:
        """Notes a load; `atomics_seen` says for which lanes the atomics of others are ordered
        before.
        """
        stored = self.stored[units]
        conflict = _unordered(stored, clock, "stored") or self._own_store(stored, clock)
        conflict = conflict or _unordered(
            np.where(atomics_seen, 0, self._updated[units]), clock, "updated"
        )
        last = self._loaded[units]
        others = last < clock.first_of_program
        self._loaded_before[units[others]] = last[others]
        self._loaded[units] = clock.now
        return conflict

    def store(self, units: np.ndarray, clock: Clock, atomics_seen: np.ndarray) -> Conflict | None:
        """Notes a store; who is ordered after it finds it in place of what was there."""
        conflict = (
            _unordered(self.stored[units], clock, "stored")
            or _unordered(np.where(atomics_seen, 0, self._updated[units]), clock, "updated")
            or self._loads(units, clock)
        )
        self.stored[units] = clock.now
        self._updated[units] = self._loaded[units] = self._loaded_before[units] = 0
        return conflict

    def update(self, units: np.ndarray, clock: Clock) -> Conflict | None:
        """Notes an atomic. Atomics do not race with each other."""
        conflict = _unordered(self.stored[units], clock, "stored") or self._loads(units, clock)
        self._updated[units] = clock.now
        return conflict

    def _loads(self, units: np.ndarray, clock: Clock) -> Conflict | None:
        """The last two programs that loaded a unit are remembered; the one before is missed if both
        are ordered.
        """
        return _unordered(self._loaded[units], clock, "loaded") or _unordered(
            self._loaded_before[units], clock, "loaded"
        )

    @staticmethod
    def _own_store(stored: np.ndarray, clock: Clock) -> Conflict | None:
        """A store of this very segment: other threads of the program read it, and no barrier stands
        between.
        """
        own = stored == clock.now
        if not own.any():
            return None
        return Conflict(int(np.argmax(own)), own.size, clock.now, "stored")


def _unordered(segments: np.ndarray, clock: Clock, did: str) -> Conflict | None:
    """The first lane whose segment belongs to another program and is not ordered before."""
    others = (segments >= clock.first_unordered) & (segments < clock.first_of_program)
    if not others.any():
        return None
    for segment in np.unique(segments[others]):
        if not clock.sees(int(segment)):
            first = int(np.argmax(segments == segment))
            return Conflict(first, segments.size, int(segment), did)
    return None
