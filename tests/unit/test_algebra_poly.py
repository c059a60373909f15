"""Polynomials and intervals: arithmetic that everything else rests on."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given as drawn

from kgen.algebra import Interval, Poly
from kgen.algebra.poly import ONE, ZERO

X, Y, Z = map(Poly.variable, range(3))

POLYS = st.lists(
    st.tuples(st.lists(st.integers(0, 2), max_size=3), st.integers(-5, 5)), max_size=4
).map(lambda terms: sum((_term(*term) for term in terms), ZERO))

POINTS = list(itertools.product((-3, -1, 0, 2, 5), repeat=3))


def _term(variables: list[int], coefficient: int) -> Poly:
    product = Poly.of(coefficient)
    for variable in variables:
        product = product * Poly.variable(variable)
    return product


def values(poly: Poly) -> list[int]:
    return [poly.evaluate(point.__getitem__) for point in POINTS]


@drawn(POLYS, POLYS)
def test_arithmetic_is_that_of_the_values(p, q):
    assert values(p + q) == [a + b for a, b in zip(values(p), values(q))]
    assert values(p - q) == [a - b for a, b in zip(values(p), values(q))]
    assert values(p * q) == [a * b for a, b in zip(values(p), values(q))]
    assert values(3 - p) == [3 - a for a in values(p)]
    assert values(p**2) == [a * a for a in values(p)]


@drawn(POLYS, POLYS)
def test_equal_polynomials_are_one_value(p, q):
    assert p + q == q + p and hash(p + q) == hash(q + p)
    assert (p - p) == ZERO and (p - p).constant == 0
    assert all((p * q).terms.values())


@drawn(POLYS, st.integers(0, 2))
def test_a_polynomial_splits_by_a_variable(p, v):
    x = Poly.variable(v)
    slope, offset = p.split(v)
    assert slope * x + offset == p
    assert v not in offset.variables
    assert sum((c * x**power for power, c in p.powers(v).items()), ZERO) == p
    assert p.degree(v) == max((power for power, c in p.powers(v).items()), default=0)


@drawn(POLYS, POLYS, POLYS)
def test_substitution_is_simultaneous(p, q, r):
    swapped = p.substitute({0: q, 1: r})
    inner = [[q.evaluate(at.__getitem__), r.evaluate(at.__getitem__), at[2]] for at in POINTS]
    assert values(swapped) == [p.evaluate(at.__getitem__) for at in inner]


@drawn(POLYS)
def test_tightening_keeps_where_a_polynomial_is_at_least_zero(p):
    tight = p.tightened()
    assert [value >= 0 for value in values(tight)] == [value >= 0 for value in values(p)]
    assert tight.tightened() == tight


def test_tightening_rounds_down_as_integers_allow():
    assert (2 * X - 5).tightened() == X - 3
    assert (6 * X * Y - 4 * Z + 3).tightened() == 3 * X * Y - 2 * Z + 1
    assert Poly.of(-7).tightened() == Poly.of(-7)


def test_division_by_a_term_leaves_what_does_not_divide():
    assert (6 * X * Y + 4 * X + 3).divide_by_term(2 * X) == (3 * Y + 2, Poly.of(3))
    assert (X * X * Y).divide_by_term(X * Y) == (X, ZERO)
    assert (5 * X).divide_by_term(2 * X) == (ZERO, 5 * X)


def test_the_common_term_of_two_polynomials():
    assert (6 * X * X * Y).common_term(4 * X * Y + 8 * X) == 2 * X
    assert X.common_term(Y) == ONE


def test_a_polynomial_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        X.terms = {}
    with pytest.raises(ValueError, match="no negative powers"):
        X**-1


def test_terms_are_ordered_by_degree_and_variables():
    assert [m for m, _ in (1 + Z + X * Y + X).sorted_terms()] == [(0, 1), (0,), (2,), ()]
    assert repr(2 * X * Y - 1) == "Poly(2*x0*x1 + -1*1)"


ENDS = st.one_of(st.none(), st.integers(-6, 6))


def sample(interval: Interval) -> list[int]:
    """Members of an interval, some of them far out where it has no bound."""
    low, high = interval
    near = range(-8 if low is None else low, 9 if high is None else high + 1)
    far = ([-(10**30)] if low is None else []) + ([10**30] if high is None else [])
    return [*near, *far]


@drawn(st.tuples(ENDS, ENDS, ENDS, ENDS), st.integers(-4, 4))
def test_interval_arithmetic_holds_every_value(ends, factor):
    one, other = Interval(*ends[:2]), Interval(*ends[2:])
    for a, b in itertools.product(sample(one), sample(other)):
        assert a + b in one.plus(other)
        assert a * b in one.times(other)
        assert a in one.union(other) and b in one.union(other)
        assert a * factor in one.scaled(factor)


def test_intervals_are_as_narrow_as_their_ends_allow():
    assert Interval(-2, 3).times(Interval(-1, 4)) == (-8, 12)
    assert Interval(0, None).times(Interval(2, 2)) == (0, None)
    assert Interval(None, None).times(Interval(0, 0)) == (0, 0)
    assert Interval(1, None).times(Interval(None, -1)) == (None, -1)
    assert Interval(10**400, None).plus(Interval(1, 1)) == (10**400 + 1, None)
    assert Interval(10**400, None).times(Interval(2, None)) == (2 * 10**400, None)
