"""Ratios of paired times and their intervals.

Two candidates take turns in rounds, so what drifts (clocks, temperature, other load) is nearly the same within a round.
The ratio of a round cancels it; the point is the median over rounds, and its interval is a bootstrap over whole rounds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FEWEST_ROUNDS = 5
"""Fewer rounds give no interval: a percentile interval of four medians cannot hold 95 %."""

LEVEL = 0.95
RESAMPLES = 4999


@dataclass(frozen=True)
class Ratio:
    """How many times faster; above 1 is faster. `low` and `high` are null where there is no interval.

    `rounds` is the number of pairs behind it, of several shapes the least.
    """

    point: float
    low: float | None
    high: float | None
    rounds: int

    @property
    def includes_one(self) -> bool:
        """Whether no difference was shown; also so without an interval."""
        return self.low is None or self.low <= 1 <= self.high

    def overlaps(self, other: Ratio) -> bool:
        """Whether two ratios to the same thing could be one; also so where an interval is missing."""
        if self.low is None or other.low is None:
            return True
        return self.low <= other.high and other.low <= self.high


def log_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> list[float]:
    """log(numerator / denominator) of each round that both have, in the order of rounds."""
    both = sorted(numerator.keys() & denominator.keys())
    return [math.log(numerator[index] / denominator[index]) for index in both]


def ratio(
    logs: Sequence[Sequence[float]], floor: float, seed: str, level: float = LEVEL, ones: int = 0
) -> Ratio:
    """The geometric mean over shapes of the median ratio of each, from the log ratios of its rounds.

    `ones` further shapes count with a ratio that is 1 by definition. Rounds are resampled within each shape. The interval is that of percentiles: BCa corrects by a jackknife, and that of
    a median takes two values only. Percentiles are too narrow for few rounds, so their level is the expanded one. The
    interval is widened to at least `floor` of the point either way. The same `seed` gives the same interval.
    """
    import numpy
    from scipy.stats import bootstrap

    def middle(*samples: numpy.ndarray, axis: int = -1) -> numpy.ndarray:
        return sum(numpy.median(one, axis=axis) for one in samples) / number

    samples, number = [numpy.asarray(one) for one in logs], len(logs) + ones
    point = math.exp(middle(*samples))
    rounds = min(len(one) for one in samples)
    if rounds < FEWEST_ROUNDS:
        return Ratio(point, None, None, rounds)
    found = bootstrap(
        samples,
        middle,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // sum(map(len, samples))),
        vectorized=True,
        confidence_level=_expanded(level, sum(map(len, samples)) - len(samples)),
        method="percentile",
        rng=numpy.random.default_rng(_number(seed)),
    ).confidence_interval
    return widened(point, math.exp(found.low), math.exp(found.high), rounds, floor)


def widened(point: float, low: float, high: float, rounds: int, floor: float) -> Ratio:
    """A ratio whose interval reaches at least `floor` of the point either way."""
    return Ratio(point, min(low, point * (1 - floor)), max(high, point * (1 + floor)), rounds)


def simultaneous(number: int) -> float:
    """The level of each of `number` independent intervals that all hold at once with `LEVEL`.

    An interval ends at the extremes of its rounds, so that fewer than ten rounds hold a little less for many shapes.
    """
    return LEVEL ** (1 / max(1, number))


def _expanded(level: float, freedom: int) -> float:
    """The level of percentiles that covers like an interval of Student's t, whose degrees of freedom these are.

    Hesterberg, What teachers should know about the bootstrap (2015), section 5.2.
    """
    from scipy.special import ndtr, stdtrit

    tail = (1 - level) / 2
    return 1 - 2 * float(ndtr(math.sqrt((freedom + 1) / freedom) * stdtrit(freedom, tail)))


def _number(seed: str) -> int:
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16])
