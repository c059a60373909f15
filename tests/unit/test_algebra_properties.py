"""The engine against enumeration: on small boxes, every value and verdict at every point.

The judge is `kgen.expr.evaluate`, which shares no code with the engine.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import hypothesis.strategies as st
from hypothesis import given as drawn
from hypothesis import settings

from kgen.algebra import (
    TRUE,
    Interval,
    Meaning,
    Poly,
    Rounding,
    Space,
    Status,
    check,
    conjunction,
    contradictory,
    decide,
    defined,
    find_point,
    ge,
    le,
    lower,
    lower_condition,
    lt,
    substitute,
)
from kgen.algebra.sympy_check import recheck
from kgen.algebra.valuation import Valuation
from kgen.expr import EvalError, Expr, evaluate, parse

Values = dict[str, int | None]


def small_space() -> tuple[Space, dict[str, Meaning], list[Values]]:
    """Five axes, one bounded by another, one that may be none, and all of their points."""
    space = Space()
    a, b = space.axis("A", 0, 4), space.axis("B", 1, 3)
    names: dict[str, Meaning] = {
        "A": a,
        "B": b,
        "C": space.axis("C", -2, a),
        "V": space.choice("V", (1, 4)),
        "W": space.choice("W", (None, 2)),
    }
    points = [
        {"A": x, "B": y, "C": z, "V": v, "W": w}
        for x, y, v, w in itertools.product(range(5), range(1, 4), (1, 4), (None, 2))
        for z in range(-2, x + 1)
    ]
    return space, names, points


def integers(depth: int) -> st.SearchStrategy[str]:
    """Texts of integer expressions."""
    leaf = st.sampled_from(("A", "B", "C", "V", "0", "1", "2", "3", "5"))
    if depth == 0:
        return leaf
    inner = integers(depth - 1)
    pair = st.tuples(inner, inner)
    return st.one_of(
        leaf,
        pair.map(lambda p: f"({p[0]} + {p[1]})"),
        pair.map(lambda p: f"({p[0]} - {p[1]})"),
        pair.map(lambda p: f"({p[0]} * {p[1]})"),
        pair.map(lambda p: f"({p[0]} // max(1, {p[1]}))"),
        pair.map(lambda p: f"({p[0]} % {p[1]})"),
        pair.map(lambda p: f"ceil_div({p[0]}, {p[1]})"),
        pair.map(lambda p: f"min({p[0]}, {p[1]})"),
        pair.map(lambda p: f"max({p[0]}, {p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"clamp({p[0]}, {p[1]}, {p[2]})"),
        inner.map(lambda text: f"next_pow2({text})"),
        inner.map(lambda text: f"log2({text})"),
        inner.map(lambda text: f"({text}) ** 2"),
    )


def conditions(depth: int = 2) -> st.SearchStrategy[str]:
    """Texts of conditions."""
    sign = st.sampled_from(("<", "<=", "==", "!=", ">=", ">"))
    side = integers(2)
    comparison = st.tuples(side, sign, side).map(" ".join)
    leaf = st.one_of(
        comparison,
        st.sampled_from(("W == none", "W != none", "W != none and W > A", "W == 2", "V == 4")),
        integers(1).map(lambda text: f"is_pow2({text})"),
    )
    if depth == 0:
        return leaf
    inner = conditions(depth - 1)
    pair = st.tuples(inner, inner)
    return st.one_of(
        leaf,
        pair.map(lambda p: f"({p[0]}) and ({p[1]})"),
        pair.map(lambda p: f"({p[0]}) or ({p[1]})"),
        inner.map(lambda text: f"not ({text})"),
        pair.map(lambda p: f"({p[0]}) == ({p[1]})"),
    )


def value_at(expr: Expr, point: Values) -> int | bool | None:
    """The value by `kgen.expr`; None where there is none."""
    try:
        return evaluate(expr, point)
    except EvalError:
        return None


def valuation(space: Space, point: Values) -> Valuation:
    """The same point for the engine."""
    values = {}
    for name, value in point.items():
        (index,) = space.named(name).variables
        values[index] = space[index].definition.absent if value is None else value
    return Valuation(space, values, {})


@settings(max_examples=120)
@drawn(integers(3))
def test_a_lowered_integer_has_the_value_of_the_expression(text):
    space, names, points = small_space()
    expr = parse(text)
    poly, where = lower(expr, space, names), defined(expr, space, names)
    bounds = space.interval(poly)
    for point in points:
        at, value = valuation(space, point), value_at(expr, point)
        assert at.formula(where) is (value is not None)
        if value is not None:
            assert at.poly(poly) == value
            assert value in bounds


@settings(max_examples=120)
@drawn(conditions())
def test_a_lowered_condition_has_the_value_of_the_expression(text):
    space, names, points = small_space()
    expr = parse(text)
    formula, where = lower_condition(expr, space, names), defined(expr, space, names)
    for point in points:
        at, value = valuation(space, point), value_at(expr, point)
        assert at.formula(where) is (value is not None)
        if value is not None:
            assert at.formula(formula) is value


@settings(max_examples=220)
@drawn(conditions(), conditions(1))
def test_nothing_false_is_proved_and_nothing_true_refuted(goal_text, given_text):
    space, names, points = small_space()
    goal, condition = parse(goal_text), parse(given_text)
    both = [lower_condition(expr, space, names) for expr in (goal, condition)]
    where = [defined(expr, space, names) for expr in (goal, condition)]
    verdict = decide(space, both[0], conjunction(both[1], *where), steps=600, tries=40)
    outcomes = [value_at(goal, point) for point in points if value_at(condition, point)]
    if verdict.status is Status.PROVED:
        assert False not in outcomes
        assert check(verdict.certificate) and recheck(verdict.certificate)
    elif verdict.status is Status.REFUTED:
        # axes that the statement does not mention may have any value
        shown = dict(verdict.point.values)
        matching = [p for p in points if shown.items() <= p.items()]
        assert matching
        assert all(value_at(condition, point) is True for point in matching)
        assert all(value_at(goal, point) is False for point in matching)


@settings(max_examples=120)
@drawn(conditions())
def test_a_condition_has_a_witness_or_a_contradiction_only_if_it_should(text):
    space, names, points = small_space()
    expr = parse(text)
    formula = conjunction(lower_condition(expr, space, names), defined(expr, space, names))
    true_at = [point for point in points if value_at(expr, point)]
    certificate = contradictory(space, formula, steps=600)
    witness = find_point(space, formula, tries=40)
    if certificate is not None:
        assert not true_at and witness is None
        assert recheck(certificate)
    if witness is not None:
        assert any(dict(witness.values).items() <= point.items() for point in true_at)


def polys(space: Space, depth: int) -> st.SearchStrategy[Poly]:
    """Polynomials with every kind of definition that needs no memory."""
    leaf = st.one_of(
        st.sampled_from([space.named("x"), space.named("y")]), st.integers(-3, 5).map(Poly.of)
    )
    if depth == 0:
        return leaf
    inner = polys(space, depth - 1)
    pair = st.tuples(inner, inner)
    roundings = st.sampled_from(Rounding)
    return st.one_of(
        leaf,
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0] * p[1]),
        st.tuples(inner, inner, roundings).map(lambda p: space.quotient(*p)),
        st.tuples(inner, inner, roundings).map(lambda p: space.remainder(*p)),
        pair.map(lambda p: space.minimum(*p)),
        pair.map(lambda p: space.maximum(*p)),
        st.tuples(inner, inner, inner, inner).map(
            lambda p: space.where(lt(p[0], p[1]), p[2], p[3])
        ),
        inner.map(space.power_of_two),
        inner.map(space.logarithm),
    )


def plane() -> tuple[Space, list[dict[int, int]]]:
    """Two axes that may be negative, and all of their points."""
    space = Space()
    space.axis("x", -3, 5), space.axis("y", -2, 4)
    return space, [{0: x, 1: y} for x in range(-3, 6) for y in range(-2, 5)]


@settings(max_examples=150)
@drawn(st.data())
def test_definitions_say_only_what_is_true(data):
    space, points = plane()
    poly = data.draw(polys(space, 2))
    for point in points:
        at = Valuation(space, point, {})
        for index in space.closure((poly,)):
            variable, value = space[index], at[index]
            if value is None:
                continue
            assert value in variable.interval
            assert not variable.cases or any(at.formula(case) for case in variable.cases)
            for fact in variable.facts:
                if at.formula(fact.condition):
                    assert at.poly(fact.poly) >= 0


@settings(max_examples=150)
@drawn(st.data())
def test_substitution_is_evaluation_at_the_substituted_values(data):
    space, points = plane()
    poly, value = data.draw(polys(space, 2)), data.draw(polys(space, 1))
    replaced = substitute(space, poly, {0: value})
    for point in points:
        inner = Valuation(space, point, {}).poly(value)
        if inner is None:
            continue
        expected = Valuation(space, {**point, 0: inner}, {}).poly(poly)
        # simplifications hold inside the ranges of the axes, and drop what has no value
        inside = -3 <= inner <= 5
        found = Valuation(space, point, {}).poly(replaced)
        if inside and None not in (expected, found):
            assert found == expected


@settings(max_examples=150)
@drawn(st.data())
def test_statements_about_all_kinds_of_definitions_are_decided_rightly(data):
    space, points = plane()
    left, right = data.draw(polys(space, 2)), data.draw(polys(space, 1))
    limit, bound = data.draw(polys(space, 1)), data.draw(st.integers(-2, 4))
    goal, given = le(left, right), ge(limit, bound)
    verdict = decide(space, goal, given, steps=600, tries=40)
    at_points = [Valuation(space, point, {}) for point in points]
    outcomes = [at.formula(goal) for at in at_points if at.formula(given)]
    if verdict.status is Status.PROVED:
        assert False not in outcomes
        assert recheck(verdict.certificate)
    if verdict.status is Status.REFUTED:
        assert False in outcomes


@settings(max_examples=80)
@drawn(st.integers(-1, 3), st.integers(0, 4), st.integers(-1, 4), st.booleans())
def test_masked_table_entries_are_decided_rightly(low, extent, limit, masked):
    space = Space()
    n = space.axis("n", 0, 3)
    table = space.table("t", low, low + extent, Interval(-8, 7))
    entry = space.entry(table, n, lt(n, 2) if masked else TRUE, Poly.of(1) if masked else None)
    possible = set(range(low, low + extent + 1)) | ({1} if masked else set())
    verdict = decide(space, le(entry, limit))
    if verdict.status is Status.PROVED:
        assert all(value <= limit for value in possible)
    else:
        assert verdict.status is Status.REFUTED
        assert any(value > limit for value in possible)
