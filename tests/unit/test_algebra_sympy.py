"""The second statement of what definitions mean agrees with the first, in every part."""

from __future__ import annotations

import pytest
import sympy

from kgen.algebra import Interval, Opaque, Poly, Rounding, Space, lt, negate
from kgen.algebra.definitions import Fixed
from kgen.algebra.sympy_claims import All, NonNegative, Some, every, nonnegative, some
from kgen.algebra.sympy_meaning import Meaning
from kgen.algebra.valuation import computed_value


def every_definition() -> Space:
    """A space with definitions of every kind, over ranges of every sign."""
    space = Space()
    x, y, cap = space.axis("x", -9, 7), space.axis("y", 2, 5), space.axis("CAP", 1)
    free, positive = space.axis("free"), space.axis("s", 0, cap)
    choice, fixed = space.choice("w", (None, 4, 6)), space.fixed("D", 128)
    operands = (x, y, x - 9, free, positive, cap, x * y, fixed * y)
    for a in operands:
        for rounding in Rounding:
            for b in (y, x, cap, Poly.of(4)):
                space.quotient(a, b, rounding), space.remainder(a, b, rounding)
        space.minimum(a, positive), space.maximum(a, x + 1)
        space.where(lt(a, y), a, x), space.power_of_two(a), space.logarithm(a)
    table = space.table("t", 0, cap - 1, Interval(-(2**31), 2**31 - 1))
    for mask in (lt(positive, cap), Opaque("flag"), negate(Opaque("flag"))):
        for other in (None, x, Poly.of(-1)):
            space.entry(table, positive, mask, other)
            space.entry(table, positive, mask, other, lt(x, 3))
    space.entry(table, positive), space.entry(table, positive, promised=lt(x, 3))
    space.unknown("sum", (x,), 1, Interval(0, 255)), space.unknown("max", (), 2)
    assert choice
    return space


SPACE = every_definition()
MEANING = Meaning(SPACE)
# named constants are replaced by their values before anything is said about them
INDICES = [i for i in range(len(SPACE)) if not isinstance(SPACE[i].definition, Fixed)]


def ends(interval: Interval) -> tuple[sympy.Expr, sympy.Expr]:
    low, high = interval
    return (
        -sympy.oo if low is None else sympy.Integer(low),
        sympy.oo if high is None else sympy.Integer(high),
    )


def test_facts_and_their_conditions_agree():
    for index in INDICES:
        stated = MEANING.facts(index)
        facts = SPACE[index].facts
        assert len(stated) == len(facts)
        for (value, condition), fact in zip(stated, facts):
            assert sympy.expand(value - MEANING.expr(fact.poly)) == 0
            assert condition == MEANING.claim(fact.condition)


def test_cases_agree():
    for index in INDICES:
        assert MEANING.cases(index) == [MEANING.claim(case) for case in SPACE[index].cases]


def test_bounds_agree():
    for index in INDICES:
        assert MEANING.range(MEANING.symbol(index)) == ends(SPACE[index].interval)


@pytest.mark.parametrize("x", (-9, -4, 0, 1, 6))
@pytest.mark.parametrize("y", (2, 5))
def test_values_agree(x, y):
    values = {0: x, 1: y, 2: 8, 3: -3, 4: 5}
    known = {MEANING.symbol(i): sympy.Integer(value) for i, value in values.items()}
    compared = 0
    for index in INDICES:
        definition = SPACE[index].definition
        expected = computed_value(definition, values)
        if all(v in values for poly in definition.arguments() for v in poly.variables):
            assert MEANING.value(index, known) == expected
            compared += 1
    assert compared > 60


def test_claims_fold_as_formulas_do():
    x = sympy.Symbol("x0")
    assert nonnegative(2 * x - 5) == NonNegative(x - 3)
    assert nonnegative(x - x - 1) is False and nonnegative(sympy.Integer(0)) is True
    one, other = nonnegative(x), nonnegative(x - 1)
    assert some((one, True)) is True and some((False, one)) == one and some(()) is False
    assert every((one, False)) is False and every((True, one)) == one and every(()) is True
    assert some((one, some((other, one)))) == Some((one, other)) != All((one, other))
