"""Intervals cover what they say, and pairing cancels what both suffer."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest
from scipy.stats import binom

from kgen.evidence import intervals
from kgen.evidence.intervals import Ratio, log_ratios, ratio, simultaneous, widened

RUNS = 400


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 999)


def normal(draw: random.Random) -> float:
    return draw.gauss(0, 0.02)


def heavy(draw: random.Random) -> float:
    """Now and then ten times the spread, as of a run that something disturbed."""
    return draw.gauss(0, 0.2 if draw.random() < 0.1 else 0.02)


def coverage(shapes: int, rounds: int, noise: Callable[[random.Random], float]) -> int:
    """In how many of `RUNS` simulated runs the interval holds the true ratio, 1.1."""
    draw, held = random.Random(5), 0
    for run in range(RUNS):
        logs = [[math.log(1.1) + noise(draw) for _ in range(rounds)] for _ in range(shapes)]
        found = ratio(logs, 0.0, str(run))
        held += found.low <= 1.1 <= found.high
    return held


@pytest.mark.parametrize("noise", [normal, heavy])
def test_intervals_of_a_shape_cover_at_their_nominal_rate(noise):
    low, high = binom.interval(0.999, RUNS, 0.95)
    assert low <= coverage(1, 20, noise) <= high


@pytest.mark.parametrize(("shapes", "rounds"), [(1, 7), (4, 7)])
def test_intervals_of_few_rounds_cover_at_least_at_their_nominal_rate(shapes, rounds):
    low, _ = binom.interval(0.999, RUNS, 0.95)
    assert low <= coverage(shapes, rounds, normal)


def test_an_interval_shrinks_with_the_rounds_and_misses_another_ratio():
    draw = random.Random(3)
    logs = [normal(draw) for _ in range(80)]
    few, many = ratio([logs[:10]], 0.0, "a"), ratio([logs], 0.0, "a")
    assert many.high - many.low < few.high - few.low
    assert many.high < 1.05


def drifting() -> tuple[dict[int, float], dict[int, float]]:
    """Times whose ratio is 1.1 while both become a third slower within the run."""
    draw = random.Random(4)
    drift = [1 + 0.5 * index / 20 for index in range(20)]
    times = [
        {index: seconds * slower * (1 + draw.gauss(0, 0.003)) for index, slower in enumerate(drift)}
        for seconds in (1.1e-5, 1e-5)
    ]
    return times[0], times[1]


def test_the_paired_ratio_cancels_a_common_drift_and_an_unpaired_one_would_not():
    baseline, candidate = drifting()
    paired = ratio([log_ratios(baseline, candidate)], 0.0, "a")
    assert paired.high - paired.low < 0.01
    assert paired.low <= 1.1 <= paired.high
    shuffled = dict(zip(candidate, reversed(candidate.values())))
    unpaired = ratio([log_ratios(baseline, shuffled)], 0.0, "a")
    assert unpaired.high - unpaired.low > 0.1


def test_a_drift_does_not_help_who_has_fewer_rounds():
    baseline, candidate = drifting()
    last = {index: candidate[index] for index in range(10, 20)}
    assert ratio([log_ratios(baseline, last)], 0.0, "a").point == pytest.approx(1.1, rel=0.01)
    assert statistics.median(baseline.values()) / statistics.median(last.values()) < 1.0


def test_no_interval_is_narrower_than_the_floor():
    found = ratio([[0.0] * 9], 0.015, "a")
    assert (found.point, found.low, found.high) == (1.0, 0.985, 1.015)
    assert widened(2.0, 1.5, 2.6, 9, 0.015) == Ratio(2.0, 1.5, 2.6, 9)


def test_fewer_than_five_rounds_give_no_interval():
    assert ratio([[0.1] * 4], 0.015, "a").low is None
    assert ratio([[0.1] * 5], 0.015, "a").low is not None
    assert ratio([[0.1] * 9, [0.1] * 4], 0.015, "a") == Ratio(
        pytest.approx(math.exp(0.1)), None, None, 4
    )


def test_the_same_samples_and_seed_give_the_same_interval():
    draw = random.Random(6)
    logs = [[normal(draw) for _ in range(20)] for _ in range(3)]
    assert ratio(logs, 0.0, "a") == ratio(logs, 0.0, "a")
    assert ratio(logs, 0.0, "a") != ratio(logs, 0.0, "b")


def test_the_aggregate_is_the_geometric_mean_where_a_fallback_counts_1():
    logs = [[math.log(2)] * 5, [math.log(4)] * 5]
    assert ratio(logs, 0.0, "a").point == pytest.approx(math.sqrt(8))
    assert ratio(logs, 0.0, "a", ones=1).point == pytest.approx(2)


def test_simultaneous_intervals_hold_together():
    assert simultaneous(1) == pytest.approx(0.95)
    assert simultaneous(20) ** 20 == pytest.approx(0.95)


def test_a_ratio_without_an_interval_shows_no_difference():
    unknown, known = Ratio(2.0, None, None, 3), Ratio(2.0, 1.9, 2.1, 9)
    assert unknown.includes_one and not known.includes_one
    assert unknown.overlaps(known) and known.overlaps(unknown)
    assert not known.overlaps(Ratio(3.0, 2.2, 3.5, 9))
    assert known.overlaps(Ratio(3.0, 2.1, 3.5, 9))
