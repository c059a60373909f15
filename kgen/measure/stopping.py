"""When a shape has been measured long enough. What is reported is computed elsewhere, from all samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev

LEAST_ROUNDS = 5
SURE_ROUNDS = 10
"""Fewer rounds may look alike by chance: narrow intervals end a shape only from here on."""

MEDIAN_WIDER = 1.2533
"""Standard error of a median over that of a mean, for normal samples."""


@dataclass(frozen=True)
class Stop:
    """`precision` is the half width of the interval of a ratio that ends a shape's rounds after ten, `rounds` the most of
    them, `seconds` the time after which no round begins; five rounds are always made.
    """

    precision: float
    rounds: int
    seconds: float


def enough(stop: Stop, times: Mapping[str, Sequence[float]], baseline: str, spent: float) -> bool:
    """Whether the rounds of one shape may end; `times` holds a median a round, by candidate."""
    made = max(map(len, times.values()), default=0)
    if made < LEAST_ROUNDS:
        return False
    if made >= stop.rounds or spent >= stop.seconds:
        return True
    if made < SURE_ROUNDS:
        return False
    ones = times.get(baseline, ())
    others = [taken for name, taken in times.items() if name != baseline]
    return all(half_width(ones, taken) <= stop.precision for taken in others or [ones])


def half_width(ones: Sequence[float], others: Sequence[float]) -> float:
    """Of the 95 % interval of the median ratio of pairs; of one series itself, that of its own median."""
    if ones is others:
        logs = [math.log(one / median(ones)) for one in ones]
    else:
        logs = [math.log(one / other) for one, other in zip(ones, others)]
    return half_width_of(logs)


def half_width_of(logs: Sequence[float]) -> float:
    """Of the 95 % interval of the median of these logarithms of ratios; infinite for too few."""
    if len(logs) < LEAST_ROUNDS:
        return math.inf
    return 1.96 * MEDIAN_WIDER * stdev(logs) / math.sqrt(len(logs))
