"""When what one program did is ordered before what another does.

Programs of one launch run in any order on a GPU. What orders them is synchronisation through an
atomic: a release publishes what its program stored before its last CTA barrier (`tl.debug_barrier`;
the atomic is done by one thread, the stores by all), and what that program had itself acquired; an
acquire of the same location takes what was published. The rules are those of the PTX memory model
(release and acquire patterns, cumulativity) for GPU scope, with a barrier demanded as in
triton-lang/triton#4504.
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
