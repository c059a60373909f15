"""Which offsets from its first element belong to a strided view, and at which index."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Extent:
    """Which offsets, in elements from the first, belong to a view of `shape` and `strides`."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    """(stride, size) with the largest stride first; neighbours that count on are one."""
    span: int
    gapped: bool

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def of(cls, shape: tuple[int, ...], strides: tuple[int, ...]) -> Extent:
        """The extent of a view; an expanded dimension (stride 0) adds no offsets."""
        if 0 in shape:
            return cls(shape, strides, (), 0, False)
        moving = sorted(((st, n) for st, n in zip(strides, shape) if n > 1 and st), reverse=True)
        steps: list[tuple[int, int]] = []
        for stride, size in moving:
            if steps and steps[-1][0] == stride * size:
                size *= steps.pop()[1]
            steps.append((stride, size))
        span = 1 + sum(stride * (size - 1) for stride, size in steps)
        inner = 1
        nested = True
        for stride, size in reversed(steps):
            nested = nested and stride >= inner
            inner += stride * (size - 1)
        # Rows that overlap each other leave no gap that arithmetic on the strides would find.
        gapped = nested and steps not in ([], [(1, span)])
        return cls(shape, strides, tuple(steps), span, gapped)

    def contains(self, offsets: np.ndarray) -> np.ndarray:
        """For each offset, whether an element lies there."""
        inside = (offsets >= 0) & (offsets < self.span)
        if not self.gapped:
            return inside
        rest = offsets
        for stride, size in self.steps:
            rest = rest - np.minimum(rest // stride, size - 1) * stride
        return inside & (rest == 0)

    def holds(self, offset: int) -> bool:
        """Whether an element lies at `offset`."""
        return bool(self.contains(np.array([offset]))[0])

    def index(self, offset: int) -> tuple[int, ...]:
        """The index of the element at `offset`; outside the view, the index that arithmetic leads
        to.
        """
        index = [0] * len(self.shape)
        moving = [d for d, n in enumerate(self.shape) if n > 1 and self.strides[d]]
        moving = sorted(moving, key=lambda d: -self.strides[d])
        if not moving and index:
            index[-1] = offset
        for d in moving:
            index[d], offset = divmod(offset, self.strides[d])
        return tuple(index)
