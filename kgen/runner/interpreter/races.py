"""Which accesses of different programs are ordered, and which race.

Programs of one launch run in any order on a GPU. What orders them is synchronisation through an
atomic: a release publishes what its program stored before its last CTA barrier (`tl.debug_barrier`;
the atomic is done by one thread, the stores by all), and what that program had itself acquired; an
acquire of the same location takes what was published. The rules are those of the PTX memory model
(release and acquire patterns, cumulativity) for GPU scope, with a barrier demanded as in
triton-lang/triton#4504. The check is that of a happens-before race detector (Flanagan and Freund,
FastTrack, PLDI 2009) over the order in which the interpreter runs the programs.

Not looked at: the order of one program's own stores, and loads of an element by more than two
programs before one stores it, where only the last two are remembered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgen.runner.faults import Where


@dataclass
class _Published:
    """Segments, as bit sets, that programs left at a location."""

    released: int = 0
    before_barrier_missing: int = 0
    without_release: int = 0


class Clock:
    """Time as segments: stretches of one program between two barriers, numbered from 1 in the order
    they ran.

    The segments that the running program sees, beside its own and those of earlier launches, are a
    bit set.
    """

    def __init__(self) -> None:
        self._places: list[Where | None] = [None]
        self._kernel = ""
        self._program: tuple[int, int, int] = (0, 0, 0)
        self._dependent = False
        self.first_of_launch = 1
        self.first_of_program = 1
        self.first_unordered = 1
        """The first segment that may run at the same time as the running program."""
        self._seen = 0
        self._without_barrier = 0
        self._weakly = 0
        # Both by storage, then by byte offset in it.
        self._published: dict[int, dict[int, _Published]] = {}
        self._acquired: dict[int, set[int]] = {}

    @property
    def now(self) -> int:
        """The running segment."""
        return len(self._places) - 1

    def where(self, segment: int) -> Where:
        """The program of a segment."""
        return self._places[segment]

    def begin_launch(self, kernel: str, dependent: bool = False) -> None:
        """One stream: everything before is ordered before this launch.

        A `dependent` launch (`launch_pdl`) may overlap those before; its programs are ordered after
        them from their `gdc_wait()` on.
        """
        self._kernel = kernel
        self._dependent = dependent
        self.first_of_launch = len(self._places)
        self._published.clear()

    def begin_program(self, program: tuple[int, int, int]) -> None:
        """The next program of the launch starts, and has seen nothing."""
        self._program = program
        self.first_of_program = len(self._places)
        self._seen = self._without_barrier = self._weakly = 0
        self._acquired.clear()
        self.first_unordered = 1 if self._dependent else self.first_of_launch
        self.barrier()

    def wait(self) -> None:
        """`gdc_wait()`: the launches before are complete."""
        self.first_unordered = self.first_of_launch

    def barrier(self) -> None:
        """A CTA barrier: the program's next segment begins."""
        self._places.append(Where(self._kernel, self._program))

    def synchronise(self, storage: int, byte: int, release: bool, acquire: bool) -> None:
        """An atomic of the running program. Both flags are off for relaxed and for CTA scope."""
        mine = self._bits(self.first_of_program, self.now)
        current = self._bits(self.now, self.now + 1)
        here = self._published.setdefault(storage, {}).setdefault(byte, _Published())
        if acquire:
            self._seen |= here.released
            self._without_barrier |= here.before_barrier_missing
            self._weakly |= here.without_release
            self._acquired.setdefault(storage, set()).add(byte)
        else:
            self._weakly |= here.released | here.before_barrier_missing | here.without_release
        if release:
            here.released |= mine | self._seen
            here.before_barrier_missing |= current
        else:
            here.without_release |= mine | current

    def overwritten(self, storage: int, offsets: np.ndarray) -> None:
        """Plain stores end what was published at these byte offsets."""
        published = self._published.get(storage)
        if published:
            for byte in np.intersect1d(offsets, list(published)):
                del published[int(byte)]

    def acquired(self, storage: int, offsets: np.ndarray) -> np.ndarray:
        """For each byte offset, whether the running program acquired that very location."""
        acquired = self._acquired.get(storage)
        if not acquired:
            return np.zeros(offsets.shape, bool)
        return np.isin(offsets, list(acquired))

    def sees(self, segment: int) -> bool:
        """Whether `segment`, which may run at the same time, is ordered before now by an atomic."""
        at = segment - self.first_of_launch
        return at >= 0 and bool(self._seen >> at & 1)

    def why_unordered(self, segment: int) -> str:
        """What is missing, if the two programs met at an atomic; otherwise that they did not."""
        at = segment - self.first_of_launch
        if at < 0:
            return "this launch may overlap that one (launch_pdl), and gdc_wait() comes too late"
        if self._without_barrier >> at & 1:
            return (
                "its atomic releases, but no tl.debug_barrier() is between the store and the atomic"
            )
        if self._weakly >> at & 1:
            return (
                "they meet at an atomic that is relaxed or of CTA scope, which orders nothing else"
            )
        return "nothing orders the two programs"

    def _bits(self, start: int, stop: int) -> int:
        """The segments from `start` up to, not with, `stop`."""
        return ((1 << (stop - start)) - 1) << (start - self.first_of_launch)


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
