"""Minima and maxima taken apart, searches with closed definitions, and promises about table entries."""

from __future__ import annotations

import itertools

import pytest

from kgen.algebra import (
    TRUE,
    Interval,
    Poly,
    Space,
    Status,
    conjunction,
    conjuncts,
    decide,
    disjunction,
    ge,
    holds_at,
    le,
    lt,
    opened,
    substitute_formula,
)
from kgen.algebra.formula import polynomials
from kgen.algebra.sympy_check import recheck


def small() -> tuple[Space, list[Poly]]:
    space = Space()
    return space, [space.axis(name, -2, 2) for name in "xyz"]


def test_a_bound_by_a_minimum_is_a_bound_by_both_operands():
    space, (x, y, z) = small()
    assert opened(space, le(x, space.minimum(y, z))) == conjunction(le(x, y), le(x, z))
    assert opened(space, ge(x, space.maximum(y, z))) == conjunction(ge(x, y), ge(x, z))


def test_only_one_level_is_taken_apart():
    space, (x, y, z) = small()
    inner = space.minimum(y, z)
    found = opened(space, le(x, space.minimum(inner, y + 1)))
    assert set(conjuncts(found)) == {le(x, inner), le(x, y + 1)}


def test_the_other_direction_stays_as_it_is():
    space, (x, y, z) = small()
    for formula in (ge(x, space.minimum(y, z)), le(x, space.maximum(y, z)), lt(x, y)):
        assert opened(space, formula) == formula


def test_opened_formulas_are_true_at_the_same_points():
    space, (x, y, z) = small()
    formula = disjunction(
        conjunction(lt(x, space.minimum(y, z)), ge(2 * x, space.maximum(y, -z))),
        ge(3 * space.minimum(x, y), space.maximum(y, z) + 1),
    )
    wide = opened(space, formula)
    assert wide != formula
    for values in itertools.product(range(-2, 3), repeat=3):
        at = {next(iter(v.variables)): Poly.of(n) for v, n in zip((x, y, z), values)}
        assert substitute_formula(space, formula, at) == substitute_formula(space, wide, at)


def test_a_closed_definition_is_not_looked_into_but_its_bounds_are():
    space, (x, y, z) = small()
    least = space.minimum(x, y)
    closed = least.variables
    assert decide(space, le(least, x)).status is Status.PROVED
    assert decide(space, le(least, x), tries=0, closed=closed).status is Status.UNKNOWN
    assert decide(space, le(least, 2), tries=0, closed=closed).status is Status.PROVED


def test_a_search_without_tries_finds_no_counterexample():
    space, (x, y, _) = small()
    assert decide(space, le(x, y)).status is Status.REFUTED
    assert decide(space, le(x, y), tries=0).status is Status.UNKNOWN


def test_a_large_enough_dividend_has_a_quotient_of_at_least_one():
    space = Space()
    a, b = space.axis("a", 0), space.axis("b", 1)
    verdict = decide(space, ge(space.quotient(a, b), 1), ge(a, b))
    assert verdict.status is Status.PROVED and recheck(verdict.certificate)
    assert decide(space, ge(space.quotient(a, b), 1)).status is Status.REFUTED


# ---------------------------------------------------------------- table entries


def lengths() -> tuple[Space, Poly, Poly, object]:
    space = Space()
    i, n = space.axis("i", 0, 99), space.axis("n", 1, 1000)
    return space, i, n, space.table("lengths", 0, n - 1, Interval(-(2**31), 2**31 - 1))


def test_an_entry_is_in_its_declared_range_where_that_is_promised():
    space, i, n, table = lengths()
    entry = space.entry(table, i, promised=lt(i, 10))
    assert decide(space, lt(entry, n), lt(i, 10)).status is Status.PROVED
    found = decide(space, lt(entry, n))
    assert found.status is Status.REFUTED
    assert holds_at(space, lt(i, 10), found.point) is False


def test_an_entry_that_is_promised_nothing_still_fits_its_type():
    space, i, n, table = lengths()
    entry = space.entry(table, i, promised=lt(n, 0))
    assert decide(space, le(entry, 2**31 - 1)).status is Status.PROVED
    assert decide(space, ge(entry, 0)).status is Status.REFUTED


def test_entries_at_one_place_are_one_value_whatever_is_promised():
    space, i, n, table = lengths()
    assert space.entry(table, i, promised=lt(i, 10)) == space.entry(table, i, promised=lt(i, 10))
    everywhere = space.entry(table, i)
    assert decide(space, ge(everywhere, 0)).status is Status.PROVED


def test_a_promise_is_put_in_with_the_address():
    space, i, n, table = lengths()
    entry = space.entry(table, i, promised=lt(i, 10))
    goal = substitute_formula(space, lt(entry, n), {next(iter(i.variables)): Poly.of(3)})
    assert decide(space, goal).status is Status.PROVED
    goal = substitute_formula(space, lt(entry, n), {next(iter(i.variables)): Poly.of(30)})
    assert decide(space, goal).status is Status.REFUTED


@pytest.mark.parametrize("bound", [9, 10, 11])
def test_certificates_about_promised_entries_pass_the_second_check(bound):
    space, i, n, table = lengths()
    entry = space.entry(table, i, promised=lt(i, 10))
    verdict = decide(space, conjunction(ge(entry, 0), lt(entry, n)), lt(i, bound))
    assert (verdict.status is Status.PROVED) == (bound <= 10)
    if verdict.certificate is not None:
        assert recheck(verdict.certificate)
        assert all(poly.variables for poly in polynomials(verdict.certificate.given))


def test_nothing_promised_is_the_same_as_always():
    space, i, _, table = lengths()
    assert space.entry(table, i, promised=TRUE) == space.entry(table, i)
