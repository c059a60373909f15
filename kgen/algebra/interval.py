"""Intervals of integers: the cheap bounds that come before any search."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """All integers from `low` to `high`, both included; None is no bound on that side."""

    low: int | None = None
    high: int | None = None

    def __contains__(self, value: int) -> bool:
        return not (
            (self.low is not None and value < self.low)
            or (self.high is not None and value > self.high)
        )

    def plus(self, other: Interval) -> Interval:
        """Every sum of a member of each."""
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Interval(low, high)

    def scaled(self, factor: int) -> Interval:
        """Every member times `factor`."""
        ends = [None if end is None else end * factor for end in self]
        return Interval(0, 0) if factor == 0 else Interval(*(ends if factor > 0 else ends[::-1]))

    def times(self, other: Interval) -> Interval:
        """Every product of a member of each: the extremes lie at the corners."""
        if self.low == self.high and self.low is not None:
            return other.scaled(self.low)
        if other.low == other.high and other.low is not None:
            return self.scaled(other.low)
        (a, b), (c, d) = self, other
        if a is not None and b is not None and c is not None and d is not None and a >= 0 <= c:
            return Interval(a * c, b * d)
        mine, theirs = _signed_ends(self), _signed_ends(other)
        corners = [_corner(a, b) for a in mine for b in theirs]
        low = None if -_INFINITE in corners else min(corners)
        high = None if _INFINITE in corners else max(corners)
        return Interval(low, high)

    def meet(self, other: Interval) -> Interval:
        """The members that both have; `self` where they have none in common."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        both = Interval(max(lows, default=None), min(highs, default=None))
        return self if lows and highs and both.low > both.high else both

    def union(self, other: Interval) -> Interval:
        """The least interval that holds both."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Interval(low, high)


_INFINITE = float("inf")


def _signed_ends(interval: Interval) -> tuple[int | float, int | float]:
    low, high = interval
    return (-_INFINITE if low is None else low), (_INFINITE if high is None else high)


def _corner(a: int | float, b: int | float) -> int | float:
    """`a * b` where zero times infinity is zero, and big integers never become floats."""
    if a == 0 or b == 0:
        return 0
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return _INFINITE if (a > 0) == (b > 0) else -_INFINITE
