"""Intervals against the sets of integers that they stand for."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
from hypothesis import given

from kgen.algebra import Interval

NEAR, FAR = 7, 10**30
"""Beyond any bound that is drawn: an open side is looked at up to the first, and at the second."""
bounded = st.tuples(st.integers(-4, 4), st.integers(-4, 4)).map(
    lambda ends: Interval(*sorted(ends))
)
intervals = st.one_of(
    bounded,
    bounded.map(lambda one: Interval(one.low, None)),
    bounded.map(lambda one: Interval(None, one.high)),
    st.just(Interval()),
)


def members(one: Interval) -> list[int]:
    """All members that are looked at."""
    return [n for n in (-FAR, *range(-NEAR, NEAR + 1), FAR) if n in one]


def tight(found: Interval, values: set[int], mine: Interval, theirs: Interval) -> None:
    """`found` holds every value, and of closed intervals no end is too far."""
    assert all(value in found for value in values)
    if None not in (*mine, *theirs):
        assert found == (min(values), max(values))


@given(intervals, intervals)
def test_sums_products_and_unions_hold_every_result_and_are_tight(mine, theirs):
    pairs = list(itertools.product(members(mine), members(theirs)))
    tight(mine.plus(theirs), {a + b for a, b in pairs}, mine, theirs)
    tight(mine.times(theirs), {a * b for a, b in pairs}, mine, theirs)
    tight(mine.union(theirs), {n for pair in pairs for n in pair}, mine, theirs)


@given(intervals, st.integers(-3, 3))
def test_a_multiple_holds_every_result_and_is_tight(one, factor):
    tight(one.scaled(factor), {factor * n for n in members(one)}, one, one)


@given(intervals, intervals)
def test_what_two_have_in_common_is_in_both_and_the_first_is_kept_where_there_is_nothing(
    mine, theirs
):
    common = set(members(mine)) & set(members(theirs))
    met = mine.meet(theirs)
    assert set(members(met)) == (common or set(members(mine)))
