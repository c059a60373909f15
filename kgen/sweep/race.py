"""Who needs more samples: after a few of each candidate, only those that could still be the best.

Successive halving (Jamieson and Talwalkar, 2016) on intervals: a rung drops whoever is distinguishably slower than the
best, whether that is half of them or not. What is reported is computed elsewhere, from all samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeVar

from kgen.measure.stopping import LEAST_ROUNDS, half_width_of

T = TypeVar("T")


@dataclass(frozen=True)
class Rules:
    """`first` rounds of every candidate and shape, doubled for those in question up to `most`; `precision` is the half
    width of an interval at which more rounds are not worth their time.
    """

    first: int = LEAST_ROUNDS
    most: int = 60
    precision: float = 0.015


@dataclass(frozen=True)
class Standing:
    """A candidate over all shapes: the mean over shapes of the median log of anchor over candidate, and half of the
    width of its 95 % interval.
    """

    log: float
    half: float

    @property
    def low(self) -> float:
        return self.log - self.half

    @property
    def high(self) -> float:
        return self.log + self.half


def standing(logs: Sequence[Sequence[float]]) -> Standing:
    """From the logs of each shape's rounds, none of them empty. The shapes' errors are independent."""
    halves = [half_width_of(one) for one in logs]
    return Standing(fmean(map(median, logs)), math.hypot(*halves) / len(logs))


def in_question(standings: Mapping[T, Standing]) -> list[T]:
    """Those that are not distinguishably slower than the best, the best first."""
    if not standings:
        return []
    best = max(standings.values(), key=lambda one: one.log)
    kept = [name for name, one in standings.items() if one.high >= best.low]
    return sorted(kept, key=lambda name: -standings[name].log)


def next_rung(standings: Mapping[T, Standing], made: int, rules: Rules) -> tuple[list[T], int]:
    """Who gets more rounds after `made` of them, and how many in all; nobody where the race is over."""
    left = in_question(standings)
    wide = any(standings[name].half > rules.precision for name in left)
    if len(left) < 2 or made >= rules.most or not wide:
        return [], made
    return left, min(2 * made, rules.most)
