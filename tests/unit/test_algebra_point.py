"""Points: real, reproducible, simple, and found where they are rare."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
from hypothesis import given as drawn

from kgen.algebra import (
    FALSE,
    Interval,
    Opaque,
    Point,
    Poly,
    Space,
    conjunction,
    disjunction,
    eq,
    find_point,
    ge,
    gt,
    holds_at,
    le,
    lt,
    ne,
)
from kgen.algebra.box import Constraints


def test_a_point_satisfies_the_formula_and_all_ranges():
    space = Space()
    cap = space.axis("CAP", 1, 100)
    live = space.axis("S", 0, cap)
    point = find_point(space, conjunction(gt(live, 40), lt(cap, 50), ne(live, cap)))
    assert 40 < point.values["S"] < point.values["CAP"] < 50
    assert find_point(space, gt(live, cap)) is None
    assert find_point(space, FALSE) is None


def test_a_point_depends_on_formula_and_seed_only():
    space = Space()
    a, b = space.axis("a", 0, 10**6), space.axis("b", 0, 10**6)
    wanted = conjunction(gt(a, b), ne(a, 10**6), ne(b, 0), gt(a * b, 10**7))
    assert find_point(space, wanted) == find_point(space, wanted)
    assert find_point(space, wanted, seed=7) == find_point(space, wanted, seed=7)


def test_corners_come_first():
    space = Space()
    n = space.axis("n", 3, 10**9)
    assert find_point(space, ge(n, 0), tries=1) == Point({"n": 3})
    assert find_point(space, eq(n, 10**9), tries=2) == Point({"n": 10**9})


def test_points_are_moved_toward_small_values():
    space = Space()
    a, b = space.axis("a"), space.axis("b", 0)
    point = find_point(space, ge(a * a + b, 0))
    assert point == Point({"a": 0, "b": 0})


def test_equations_and_divisors_are_solved():
    space = Space()
    b, q, n = space.axis("B", 1, 256), space.axis("Q", 1, 64), space.axis("N", 0, 10**6)
    point = find_point(space, conjunction(eq(n, 96 * b + 5), gt(b, 7), eq(b + q, 20)))
    assert point.values["N"] == 96 * point.values["B"] + 5
    tiles = space.ceiling_quotient(n, Poly.of(128))
    point = find_point(space, conjunction(eq(tiles, 77), ne(n, 77 * 128)))
    assert -(-point.values["N"] // 128) == 77


def test_listed_values_and_none_are_drawn():
    space = Space()
    q, w = space.choice("Q", (1, 2, 8)), space.choice("W", (None, 4096))
    assert find_point(space, gt(q, 2)).values["Q"] == 8
    assert find_point(space, le(w.value, w.absent)) == Point({"W": None})
    there = find_point(space, gt(w.value, w.absent))
    assert there.values == {"W": 4096}
    assert str(Point({"W": None, "Q": 8})) == "W = none, Q = 8"


def test_opaque_conditions_and_values_make_no_point():
    space = Space()
    n = space.axis("n", 0, 9)
    assert find_point(space, conjunction(Opaque("flag"), ge(n, 0))) is None
    assert find_point(space, ge(space.unknown("sum", (n,), 1), 0)) is None
    assert find_point(space, disjunction(Opaque("flag"), gt(n, 4))).values["n"] > 4


def test_an_expression_without_a_value_makes_no_point():
    space = Space()
    n, divisor = space.axis("n", 0, 9), space.axis("d", 0, 0)
    assert find_point(space, ge(space.quotient(n, divisor), -100)) is None


def test_table_entries_belong_to_the_point():
    space = Space()
    n, pages = space.axis("n", 0, 5), space.axis("P", 4, 9)
    table = space.table("pages", 0, pages - 1, Interval(-(2**31), 2**31 - 1))
    one, other = space.entry(table, n), space.entry(table, n + 1)
    point = find_point(space, conjunction(eq(one, other + 2), eq(n, 3)))
    assert point.tables[("pages", 3)] == point.tables[("pages", 4)] + 2
    assert 0 <= point.tables[("pages", 4)] < point.values["P"]
    assert "pages[3] = " in str(point)
    same = space.entry(table, 2 * n - n)
    assert find_point(space, ne(one, same)) is None


def test_a_lane_that_is_masked_off_has_the_other_value_or_none():
    space = Space()
    n = space.axis("n", 0, 5)
    table = space.table("pages", 0, 3, Interval(-8, 7))
    masked = space.entry(table, n, lt(n, 2), Poly.of(-1))
    assert find_point(space, eq(masked, -1)).values["n"] >= 2
    undefined = space.entry(table, n, lt(n, 2))
    assert find_point(space, conjunction(ge(n, 2), ge(undefined, -8))) is None
    assert find_point(space, conjunction(lt(n, 2), eq(undefined, 3))) is not None


def test_a_point_may_cover_axes_that_the_formula_does_not_mention():
    space = Space()
    n, m = space.axis("n", 2, 5), space.axis("m", 7, 9)
    assert find_point(space, ge(n, 0)) == Point({"n": 2})
    assert find_point(space, ge(n, 0), also=(m,)) == Point({"n": 2, "m": 7})


def test_a_point_is_judged_with_three_outcomes():
    space = Space()
    n = space.axis("n", 0, 9)
    assert holds_at(space, ge(n, 3), Point({"n": 3})) is True
    assert holds_at(space, gt(n, 3), Point({"n": 3})) is False
    assert holds_at(space, Opaque("flag"), Point({"n": 3})) is None


def test_rare_points_among_many_regimes_are_found():
    space = Space()
    axes = [space.axis(name, 1, 4096) for name in "abcd"]
    holes = [eq(axis, 1000 + at) for at, axis in enumerate(axes)]
    outside = disjunction(*(lt(axis, 5) for axis in axes), *holes)
    point = find_point(space, conjunction(outside, *(ge(axis, 5) for axis in axes)))
    assert any(point.values[name] == 1000 + at for at, name in enumerate("abcd"))


BOUNDS = st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(-9, 9), st.integers(-2, 2))


@drawn(st.lists(BOUNDS, min_size=1, max_size=4))
def test_narrowing_a_box_loses_no_solution(rows):
    x, y = Poly.variable(0), Poly.variable(1)
    facts = [a * x + b * y + c + d * x * y for a, b, c, d in rows]
    box = {0: Interval(-5, 5), 1: Interval(-5, 5)}
    possible = Constraints(facts).narrow(box)
    for point in itertools.product(range(-5, 6), repeat=2):
        if all(fact.evaluate(point.__getitem__) >= 0 for fact in facts):
            assert possible and point[0] in box[0] and point[1] in box[1]


def test_narrowing_follows_constraints_to_each_other():
    x, y = Poly.variable(0), Poly.variable(1)
    box = {0: Interval(), 1: Interval(0, None)}
    assert Constraints([x - 10, y - 2 * x, 30 - y]).narrow(box)
    assert box == {0: Interval(10, 15), 1: Interval(20, 30)}
    assert not Constraints([x - 1, -x]).narrow({0: Interval()})


def test_an_entry_that_no_promise_covers_may_hold_anything_of_its_type():
    space = Space()
    n = space.axis("n", 0, 5)
    table = space.table("pages", 0, 3, Interval(-8, 7))
    entry = space.entry(table, n, promised=lt(n, 2))
    point = find_point(space, le(entry, -1))
    assert point.values["n"] >= 2 and point.tables[("pages", point.values["n"])] < 0
    assert find_point(space, conjunction(le(entry, -1), lt(n, 2))) is None
