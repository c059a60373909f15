"""Formulas: comparisons become inequalities, and negation stays inside."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
from hypothesis import given as drawn

from kgen.algebra import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Formula,
    Not,
    Opaque,
    Or,
    Poly,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
    eq,
    ge,
    gt,
    iff,
    implies,
    le,
    lt,
    ne,
    negate,
)
from kgen.algebra.formula import polynomials, transform
from kgen.algebra.valuation import formula_value

X, Y = Poly.variable(0), Poly.variable(1)
POINTS = [dict(enumerate(point)) for point in itertools.product(range(-3, 4), repeat=2)]
SIDES = st.sampled_from((X, Y, X + Y, 2 * X, X * Y, Poly.of(1), 3 * Y - 2))
LEAVES = st.one_of(
    st.tuples(st.sampled_from((lt, le, gt, ge, eq, ne)), SIDES, SIDES).map(
        lambda parts: parts[0](*parts[1:])
    ),
    st.sampled_from((TRUE, FALSE)),
)
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: conjunction(*parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: disjunction(*parts)),
        inner.map(negate),
    ),
    max_leaves=8,
)


def truths(formula: Formula) -> list[bool | None]:
    return [formula_value(formula, point) for point in POINTS]


def test_comparisons_are_inequalities_of_integers():
    assert lt(X, Y) == AtLeast(Y - X - 1)
    assert ge(X, 3) == AtLeast(X - 3)
    assert eq(X, 2) == And((AtLeast(2 - X), AtLeast(X - 2)))
    assert ne(X, 2) == Or((AtLeast(X - 3), AtLeast(1 - X)))


def test_constants_fold():
    assert lt(X, X + 1) == TRUE and gt(X, X) == FALSE
    assert conjunction() == TRUE and disjunction() == FALSE
    assert conjunction(ge(X, 0), FALSE) == FALSE and disjunction(ge(X, 0), TRUE) == TRUE
    assert conjunction(ge(X, 0), TRUE, ge(X, 0)) == ge(X, 0)


def test_inequalities_are_as_tight_as_integers_allow():
    assert ge(2 * X, 5) == ge(X, 3)
    assert eq(2 * X, 5) == And((le(X, 2), ge(X, 3)))


def test_nested_parts_are_flat():
    parts = (ge(X, 0), ge(Y, 0), Opaque("flag"))
    assert conjuncts(conjunction(parts[0], conjunction(*parts[1:]))) == parts
    assert disjuncts(disjunction(disjunction(*parts[:2]), parts[2])) == parts
    assert conjuncts(TRUE) == () and disjuncts(FALSE) == ()


def test_only_opaque_conditions_keep_a_negation():
    flag = Opaque("flag", (X,))
    assert negate(flag) == Not(flag) and negate(Not(flag)) == flag
    assert negate(conjunction(flag, ge(X, 0))) == Or((Not(flag), lt(X, 0)))


@drawn(FORMULAS)
def test_negation_is_the_opposite_everywhere(formula):
    assert truths(negate(formula)) == [not value for value in truths(formula)]
    assert truths(negate(negate(formula))) == truths(formula)


@drawn(FORMULAS, FORMULAS)
def test_connectives_mean_what_they_say(left, right):
    pairs = list(zip(truths(left), truths(right)))
    assert truths(conjunction(left, right)) == [a and b for a, b in pairs]
    assert truths(disjunction(left, right)) == [a or b for a, b in pairs]
    assert truths(implies(left, right)) == [not a or b for a, b in pairs]
    assert truths(iff(left, right)) == [a is b for a, b in pairs]


def test_an_unknown_part_leaves_open_what_it_decides():
    flag = Opaque("flag")
    point = {0: 1}
    assert formula_value(conjunction(flag, lt(X, 0)), point) is False
    assert formula_value(disjunction(flag, gt(X, 0)), point) is True
    assert formula_value(conjunction(flag, gt(X, 0)), point) is None
    assert formula_value(negate(flag), point) is None
    assert formula_value(gt(Y, 0), point) is None


def test_polynomials_are_found_and_changed_everywhere():
    formula = conjunction(ge(X, 0), disjunction(Opaque("flag", (Y,)), negate(Opaque("f", (X,)))))
    assert list(polynomials(formula)) == [X, Y, X]
    moved = transform(formula, lambda poly: poly.substitute({0: Y - 1}))
    assert list(polynomials(moved)) == [Y - 1, Y, Y - 1]
    assert transform(ge(X, 0), lambda poly: poly.substitute({0: Poly.of(-1)})) == FALSE
