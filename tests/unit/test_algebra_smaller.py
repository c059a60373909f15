"""A point is made smaller only where the formula still holds, and table entries go with what reads them."""

from __future__ import annotations

import pytest

from kgen.algebra import TRUE, Kind, Point, Poly, Space, conjunction, ge, holds_at, lt
from kgen.algebra.interval import Interval
from kgen.algebra.smaller import smaller


@pytest.fixture
def space() -> Space:
    return Space()


def test_every_value_comes_as_near_to_0_as_it_can_alone(space):
    n = space.axis("N", 1, 10**9)
    i = space.axis("i", 0, n - 1, Kind.LANE)
    formula = ge(n * 3, 100)
    point = smaller(space, conjunction(formula, ge(i, 0)), Point({"N": 10**8, "i": 10**7}))
    assert point.values == {"N": 34, "i": 0}


def test_what_bounds_a_value_follows_it(space):
    n = space.axis("N", 1, 10**6)
    i = space.axis("i", 0, n - 1, Kind.LANE)
    point = smaller(space, ge(i * i, 50), Point({"N": 10**6, "i": 10**6 - 1}))
    assert point.values == {"N": 9, "i": 8}


def test_a_table_entry_is_kept_when_its_address_moves_and_is_made_smaller_itself(space):
    pages, stride = space.axis("PAGES", 1, 1 << 21), space.axis("stride", 0, 1 << 31)
    b = space.axis("b", 0, 255, Kind.PROGRAM)
    table = space.table("table", Poly.of(0), pages - 1, Interval(-(2**31), 2**31 - 1))
    page = space.entry(table, b * 1000, TRUE, Poly.of(0), TRUE)
    formula = ge(page * stride, 2**31)
    given = Point(
        {"PAGES": 1 << 21, "stride": 1 << 30, "b": 255}, {("table", 255_000): (1 << 21) - 1}
    )
    assert holds_at(space, formula, given)
    point = smaller(space, formula, given)
    assert holds_at(space, formula, point)
    assert point.values == {"PAGES": 3, "stride": 1 << 30, "b": 0}
    assert point.tables == {("table", 0): 2}


def test_negative_values_move_up_and_listed_ones_stay_listed(space):
    q = space.choice("Q", (2, 4, 8))
    x = space.axis("x", -(10**6), 10**6)
    formula = conjunction(lt(x, -q), ge(q, 3))
    point = smaller(space, formula, Point({"Q": 8, "x": -(10**6)}))
    assert point.values == {"Q": 4, "x": -5}


def test_a_point_where_the_formula_does_not_hold_stays_as_it_is(space):
    x = space.axis("x", 0, 10)
    given = Point({"x": 5})
    assert smaller(space, ge(x, 7), given) == given
