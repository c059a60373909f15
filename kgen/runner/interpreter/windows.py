"""Fake addresses: each tensor argument of a launch gets a window of its own, far from every other.

An access that leaves its tensor, in either direction and by any distance that a kernel's arithmetic
reaches, can't land in another one.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kgen.runner.extent import Extent

_SPREAD = 0x9E3779B97F4A7C15  # 2**64 / golden ratio: multiples of it lie far apart
_LOW, _ROOM = 1 << 61, 1 << 62
_ALIGNMENT = 4096


@dataclass(frozen=True)
class Window:
    """One tensor argument: its name, where it really lies, and the fake address of its first
    element.
    """

    name: str
    extent: Extent
    itemsize: int
    real: int
    base: int
    storage: int
    storage_offset: int
    """Bytes from the start of the storage (whose address is `storage`) to the first element."""

    def covers(self, offsets: np.ndarray, width: int) -> np.ndarray:
        """For each byte offset from the first element, whether `width` bytes there belong to the
        view.
        """
        first = offsets // self.itemsize
        covered = self.extent.contains(first)
        if width != self.itemsize or (offsets % self.itemsize).any():
            for byte in range(self.itemsize, width + self.itemsize, self.itemsize):
                last = (offsets + min(byte, width - 1)) // self.itemsize
                covered &= self.extent.contains(last)
        return covered


@dataclass(frozen=True)
class Access:
    """The pointers of one load or store that were computed from one window."""

    window: Window
    which: np.ndarray | slice
    """Positions among the pointers that were asked about."""
    offsets: np.ndarray
    """Bytes from the window's first element."""
    inside: np.ndarray
    """Whether every byte of the access belongs to the view."""


class AddressSpace:
    """The windows of one launch."""

    def __init__(self) -> None:
        self._windows: list[Window] = []
        self._bases: list[int] = []

    def clear(self) -> None:
        """Forgets every window."""
        self._windows.clear()
        self._bases.clear()

    def add(
        self,
        name: str,
        extent: Extent,
        itemsize: int,
        real: int,
        storage: int,
    ) -> Window:
        """A new window; its base is aligned as the real address is."""
        number = len(self._windows) + 1
        base = _LOW + number * _SPREAD % _ROOM // _ALIGNMENT * _ALIGNMENT + real % _ALIGNMENT
        window = Window(name, extent, itemsize, real, base, storage, real - storage)
        at = bisect.bisect(self._bases, base)
        self._bases.insert(at, base)
        self._windows.insert(at, window)
        return window

    def split(self, pointers: np.ndarray, width: int) -> Iterator[Access]:
        """Groups pointers by the window they were computed from, for accesses of `width` bytes."""
        nearest = self._nearest(int(pointers[0]))
        access = _access(nearest, slice(None), pointers, width)
        if access.inside.all():
            yield access
            return
        owners = np.array([self._windows.index(self._nearest(int(p))) for p in pointers])
        for owner in np.unique(owners):
            which = np.flatnonzero(owners == owner)
            yield _access(self._windows[owner], which, pointers[which], width)

    def _nearest(self, address: int) -> Window:
        """Windows lie so far apart that the nearest one is the one that an address was computed
        from.
        """
        if not self._windows:
            raise LookupError("an address that comes from no tensor argument of the kernel")
        at = bisect.bisect(self._bases, address)
        around = self._windows[max(0, at - 1) : at + 1]
        return min(around, key=lambda window: abs(address - window.base))


def _access(window: Window, which: np.ndarray | slice, pointers: np.ndarray, width: int) -> Access:
    """Offsets are signed: the subtraction wraps, as two's complement wants."""
    offsets = (pointers - np.uint64(window.base)).view(np.int64)
    return Access(window, which, offsets, window.covers(offsets, width))
