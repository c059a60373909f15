"""Rule by rule: what each step of a certificate proves, and forgeries that no checker takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kgen.algebra import (
    FALSE,
    TRUE,
    Certificate,
    Formula,
    Interval,
    Opaque,
    Or,
    Poly,
    Rounding,
    Space,
    check,
    conjunction,
    disjunction,
    eq,
    ge,
    le,
    lt,
    negate,
)
from kgen.algebra.certificate import (
    Assumed,
    Bounded,
    Cases,
    Clash,
    Combined,
    Computed,
    Every,
    FromDefinition,
    Powers,
    Refuted,
    Replaced,
    Step,
    Trivial,
)
from kgen.algebra.poly import ONE, ZERO
from kgen.algebra.sympy_check import recheck

SPACE = Space()
X, Y, S = SPACE.axis("x"), SPACE.axis("y"), SPACE.axis("s", 0, 9)
Q = SPACE.choice("q", (1, 8))
HALF = SPACE.quotient(X, Poly.of(2), Rounding.TRUNCATE)
SMALLER = SPACE.minimum(X, Y)
POWER = SPACE.power_of_two(Q)
FLAG = Opaque("flag")


def number(variable: Poly) -> int:
    (index,) = variable.variables
    return index


def combined(
    fact: Poly,
    scale: Poly = ONE,
    factor: Poly = ONE,
    *,
    origin: FromDefinition | None = None,
    scale_step: Step = Trivial(),
    factor_step: Step = Trivial(),
    rest: Step = Trivial(),
) -> Combined:
    return Combined(fact, origin, scale, factor, scale_step, factor_step, rest)


def judged(goal: Formula, given: Formula, step: Step) -> bool:
    """What both checkers say; they must agree."""
    certificate = Certificate(SPACE, given, goal, step)
    verdict = check(certificate)
    assert recheck(certificate) is verdict
    return verdict


def definition_of(variable: Poly, fact: int, condition: Step) -> FromDefinition:
    return FromDefinition(number(variable), fact, condition)


RIGHT: dict[str, tuple[Formula, Formula, Step]] = {
    "a true goal": (TRUE, TRUE, Trivial()),
    "a given goal": (ge(X, 3), conjunction(ge(X, 3), FLAG), Assumed()),
    "an opaque goal that is given": (FLAG, FLAG, Assumed()),
    "a goal within the ranges": (ge(2 * S + 3, 0), TRUE, Bounded()),
    "a given fact and a constant": (ge(X, 1), ge(X, 3), combined(X - 3)),
    "half a fact, rounded": (
        ge(X, 2),
        conjunction(ge(2 * X, Y), ge(Y, 3)),
        combined(2 * X - Y, Poly.of(2), rest=combined(Y - 3)),
    ),
    "a fact of a definition": (
        le(SMALLER, X),
        TRUE,
        combined(X - SMALLER, origin=definition_of(SMALLER, 0, Trivial())),
    ),
    "a fact of a definition on its condition": (
        ge(HALF, 0),
        ge(X, 0),
        combined(HALF, origin=definition_of(HALF, 0, Assumed())),
    ),
    "powers of what is not negative": (
        ge(X * X + 2 * X, 0),
        ge(X, 0),
        Powers(number(X), Assumed(), (Trivial(), Trivial())),
    ),
    "every part": (conjunction(ge(S, 0), ge(X, 3)), ge(X, 3), Every((Bounded(), Assumed()))),
    "a refuted opposite": (
        disjunction(ge(X, 3), ge(5, X)),
        TRUE,
        Refuted(Clash(le(X, 2), combined(X - 6))),
    ),
    "a clash": (FALSE, conjunction(FLAG, negate(FLAG)), Clash(FLAG, Assumed())),
    "cases that are given": (
        ge(X, 0),
        disjunction(ge(X, 3), ge(X, 5)),
        Cases(disjunction(ge(X, 3), ge(X, 5)), (combined(X - 3), combined(X - 5))),
    ),
    "cases of a definition": (
        disjunction(eq(Q, 1), eq(Q, 8)),
        TRUE,
        Refuted(
            Cases(
                number(Q),
                tuple(
                    Replaced(
                        number(Q),
                        Poly.of(value),
                        Clash(FALSE, Trivial()),
                    )
                    for value in (1, 8)
                ),
            )
        ),
    ),
    "an equal put in its place": (
        ge(X, 7),
        eq(X, 7),
        Replaced(number(X), Poly.of(7), Trivial()),
    ),
    "a computed value": (
        eq(POWER, 8),
        eq(Q, 8),
        Computed(number(POWER), Every((Assumed(), Assumed()))),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_rule_proves(name):
    assert judged(*RIGHT[name])


WRONG: dict[str, tuple[Formula, Formula, Step]] = {
    "a goal that is not true": (ge(X, 0), TRUE, Trivial()),
    "a false goal": (FALSE, TRUE, Trivial()),
    "a goal that is not given": (ge(X, 2), ge(X, 3), Assumed()),
    "an opaque goal by its opposite": (FLAG, negate(FLAG), Assumed()),
    "a disjunction for a conjunction": (
        conjunction(ge(X, 0), ge(Y, 0)),
        disjunction(ge(X, 0), ge(Y, 0)),
        Assumed(),
    ),
    "a goal outside the ranges": (ge(S, 1), TRUE, Bounded()),
    "a goal without bounds": (ge(X, 0), TRUE, Bounded()),
    "a fact that is not given": (ge(X, 1), ge(X, 2), combined(X - 3)),
    "a rest that is negative": (ge(X, 4), ge(X, 3), combined(X - 3)),
    "a factor that is negative": (ge(-X, 0), ge(X, 0), combined(X, factor=Poly.of(-1))),
    "a factor of unknown sign": (
        ge(X * Y, 0),
        ge(X, 0),
        combined(X, factor=Y, factor_step=Assumed()),
    ),
    "a scale of zero": (ge(X, 0), TRUE, combined(ZERO, ZERO, ZERO)),
    "a negative scale": (ge(-X, 0), ge(X, 0), combined(X, Poly.of(-1), rest=Trivial())),
    "more rounding than integers allow": (
        ge(X, 3),
        conjunction(ge(2 * X, Y), ge(Y, 4)),
        combined(2 * X - Y, Poly.of(2), rest=combined(Y - 4)),
    ),
    "a fact outside of its condition": (
        ge(HALF, 0),
        TRUE,
        combined(HALF, origin=definition_of(HALF, 0, Trivial())),
    ),
    "a condition that is only claimed": (
        ge(HALF, 0),
        ge(Y, 0),
        combined(HALF, origin=definition_of(HALF, 0, Assumed())),
    ),
    "another fact than the definition's": (
        le(SMALLER, X - 1),
        TRUE,
        combined(X - SMALLER - 1, origin=definition_of(SMALLER, 0, Trivial())),
    ),
    "a fact that the definition does not have": (
        le(SMALLER, X),
        TRUE,
        combined(X - SMALLER, origin=definition_of(SMALLER, 7, Trivial())),
    ),
    "a variable that is not there": (
        le(SMALLER, X),
        TRUE,
        combined(X - SMALLER, origin=FromDefinition(999, 0, Trivial())),
    ),
    "powers of what may be negative": (
        ge(X, 0),
        TRUE,
        Powers(number(X), Trivial(), (Trivial(),)),
    ),
    "powers with too few coefficients": (
        ge(X * X - X, 0),
        ge(X, 0),
        Powers(number(X), Assumed(), (Trivial(),)),
    ),
    "fewer parts than there are": (
        conjunction(ge(S, 0), ge(X, 0)),
        TRUE,
        Every((Bounded(),)),
    ),
    "parts of what has none": (ge(X, 0), TRUE, Every(())),
    "a clash with what is not given": (FALSE, TRUE, Clash(FLAG, Assumed())),
    "a clash that is none": (FALSE, ge(X, 0), Clash(ge(X, 0), Assumed())),
    "an opposite that is not refuted": (ge(X, 0), TRUE, Refuted(Trivial())),
    "cases that are not given": (
        ge(X, 0),
        TRUE,
        Cases(Or((ge(X, 3), ge(X, 5))), (combined(X - 3), combined(X - 5))),
    ),
    "a case left out": (
        ge(X, 0),
        disjunction(ge(X, 3), FLAG),
        Cases(disjunction(ge(X, 3), FLAG), (combined(X - 3),)),
    ),
    "no cases at all": (ge(X, 0), TRUE, Cases(number(X), ())),
    "cases of a variable that is not there": (ge(X, 0), TRUE, Cases(999, ())),
    "an equal that is only a bound": (
        le(X, 7),
        ge(X, 7),
        Replaced(number(X), Poly.of(7), Trivial()),
    ),
    "an equal that is only the other bound": (
        ge(X, 7),
        le(X, 7),
        Replaced(number(X), Poly.of(7), Trivial()),
    ),
    "a value computed from what is not known": (
        eq(POWER, 8),
        ge(Q, 8),
        Computed(number(POWER), Every((Assumed(), Assumed()))),
    ),
    "another value than the computed one": (
        eq(POWER, 16),
        eq(Q, 8),
        Computed(number(POWER), Every((Assumed(), Assumed()))),
    ),
    "a computed variable that is not there": (ge(X, 0), eq(Q, 8), Computed(999, Assumed())),
    "a free variable computed": (ge(X, 0), eq(Q, 8), Computed(number(X), Assumed())),
    "a source of facts for a proof": (ge(X, 0), ge(X, 0), FromDefinition(0, 0, Assumed())),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_forgery_is_refused(name):
    assert not judged(*WRONG[name])


def _masked_entry() -> tuple[Space, Poly]:
    space = Space()
    n = space.axis("n", 0)
    table = space.table("t", 0, 9, Interval(-128, 127))
    return space, space.entry(table, n, lt(n, 4))


def _quotient(rounding: Rounding) -> Callable[[], tuple[Space, Poly]]:
    def made() -> tuple[Space, Poly]:
        space = Space()
        return space, space.quotient(space.axis("a"), space.axis("b"), rounding)

    return made


CONDITIONAL = {
    "masked entry": (_masked_entry, 0),
    "quotient toward zero": (_quotient(Rounding.TRUNCATE), 0),
    "floor quotient": (_quotient(Rounding.FLOOR), 1),
    "floor quotient of what may be negative": (_quotient(Rounding.FLOOR), 0),
}


@pytest.mark.parametrize("made, fact", CONDITIONAL.values(), ids=CONDITIONAL)
def test_a_fact_counts_only_with_a_proof_of_its_condition(made, fact):
    space, variable = made()
    stated = space[number(variable)].facts[fact]
    assert stated.condition != TRUE

    def certificate(given: Formula, condition: Step) -> Certificate:
        origin = FromDefinition(number(variable), fact, condition)
        return Certificate(space, given, ge(stated.poly, 0), combined(stated.poly, origin=origin))

    several = Every((Assumed(), Assumed()))
    for step in (Trivial(), Assumed(), Bounded(), several):
        assert not check(certificate(TRUE, step)) and not recheck(certificate(TRUE, step))
    proofs = [certificate(stated.condition, step) for step in (Assumed(), several)]
    assert [check(one) for one in proofs] == [recheck(one) for one in proofs]
    assert any(map(check, proofs))
