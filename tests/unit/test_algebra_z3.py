"""z3's opinion of claims: it agrees with what is true, shows where a claim is false, and says where it gave up."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

from kgen.algebra import (
    FALSE,
    TRUE,
    Interval,
    Opaque,
    Poly,
    Rounding,
    Space,
    conjunction,
    disjunction,
    eq,
    ge,
    holds_at,
    le,
    lt,
    negate,
)
from kgen.algebra.valuation import Valuation
from kgen.algebra.z3_check import Answer, ask

INT32 = Interval(-(2**31), 2**31 - 1)


@pytest.fixture
def space() -> Space:
    return Space()


def tile(space: Space, last: int) -> tuple[Poly, Poly]:
    """An offset in tiles of 64, the last of which may be incomplete, and the size of the row."""
    size = space.axis("N", 1, 10**6)
    tiles = space.ceiling_quotient(size, Poly.of(64))
    return 64 * space.program(0, tiles) + space.lane(0, last), size


def test_true_claims_about_a_tile_are_agreed_with(space):
    offset, size = tile(space, 64)
    assert ask(space, lt(offset, size + 63)).answer is Answer.AGREES
    assert ask(space, ge(offset, 0)).answer is Answer.AGREES
    assert ask(space, lt(offset, size), lt(offset, size)).answer is Answer.AGREES


def test_a_claim_that_is_false_at_one_place_is_contradicted_there(space):
    offset, size = tile(space, 64)
    found = ask(space, lt(offset, size + 62))
    assert found.answer is Answer.CONTRADICTS
    assert holds_at(space, lt(offset, size + 62), found.point) is False
    assert found.point.values["N"] % 64 == 1


def test_a_claim_that_holds_only_where_something_is_given_is_contradicted_without_it(space):
    x, y = space.axis("x", -9, 9), space.axis("y", -9, 9)
    assert ask(space, le(x, 3), conjunction(le(x, y), le(y, 3))).answer is Answer.AGREES
    found = ask(space, le(x, 3), le(x, y))
    assert found.answer is Answer.CONTRADICTS
    assert 3 < found.point.values["x"] <= found.point.values["y"]


def test_whatever_is_given_contradictory_premises_are_agreed_with(space):
    x = space.axis("x", 0, 9)
    assert ask(space, FALSE, ge(x, 10)).answer is Answer.AGREES
    assert ask(space, FALSE, ge(x, 9)).answer is Answer.CONTRADICTS
    assert ask(space, TRUE).answer is Answer.AGREES


def test_an_axis_that_may_be_none_is_shown_so(space):
    w = space.choice("W", (None, 2, 7))
    found = ask(space, ge(w.value, 2))
    assert found.answer is Answer.CONTRADICTS and found.point.values == {"W": None}
    assert ask(space, disjunction(*(eq(w.value, n) for n in (1, 2, 7)))).answer is Answer.AGREES


def test_an_entry_is_in_its_range_where_it_is_loaded_and_promised(space):
    n, size = space.axis("n", 0), space.axis("N", 1, 100)
    table = space.table("t", 0, size - 1, INT32)
    masked = space.entry(table, n, lt(n, size), Poly.of(-1))
    assert ask(space, lt(masked, size)).answer is Answer.AGREES
    assert ask(space, ge(masked, 0)).answer is Answer.CONTRADICTS
    assert ask(space, ge(masked, 0), lt(n, size)).answer is Answer.AGREES
    partly = space.entry(table, n, promised=lt(n, 3))
    assert ask(space, ge(partly, 0), lt(n, 3)).answer is Answer.AGREES
    found = ask(space, ge(partly, 0), eq(n, 3))
    assert found.answer is Answer.CONTRADICTS
    assert found.point.tables["t", 3] < 0
    assert ask(space, ge(partly, INT32.low)).answer is Answer.AGREES


def test_what_kgen_knows_no_value_of_is_disputed_and_not_contradicted(space):
    x = space.axis("x", 1, 9)
    flag = Opaque("a comparison of real numbers")
    chosen = space.where(flag, x, Poly.of(0))
    assert ask(space, ge(chosen, 0)).answer is Answer.AGREES
    assert ask(space, ge(chosen, 1), flag).answer is Answer.AGREES
    assert ask(space, ge(chosen, 1), negate(flag)).answer is Answer.DISPUTED
    assert ask(space, ge(space.unknown("sum", (), 1, Interval(0, 5)), 1)).answer is Answer.DISPUTED
    assert ask(space, le(space.quotient(x, x - 5), 9)).answer is Answer.DISPUTED  # by zero


def test_a_question_that_is_too_hard_has_no_answer_each_time(space):
    x, y, z = (space.axis(name, 1) for name in "xyz")
    cubes = eq(x * x * x + y * y * y, z * z * z)
    assert [ask(space, FALSE, cubes, effort=20_000).answer for _ in range(3)] == [Answer.NONE] * 3


def defined(space: Space, x: Poly, y: Poly) -> list[Poly]:
    """A variable of each kind of definition that two others decide, for both ways of rounding."""
    divided = [
        divide(x, y, rounding)
        for divide in (space.quotient, space.remainder)
        for rounding in Rounding
    ]
    chosen = [space.minimum(x, y), space.maximum(x, y), space.where(lt(x, y), x - y, 2 * y)]
    return [*divided, *chosen, space.power_of_two(x), space.logarithm(x)]


@pytest.mark.parametrize("kind", range(9))
def test_z3_gives_a_definition_the_value_that_kgen_computes_and_no_other(kind):
    compared = 0
    for at in itertools.product((-7, -3, -1, 1, 5, 8), (-4, -1, 2, 3)):
        space = Space()
        x, y = space.axis("x", -9, 9), space.axis("y", -9, 9)
        here = conjunction(eq(x, at[0]), eq(y, at[1]))
        poly = defined(space, x, y)[kind]
        value = Valuation(space, {0: at[0], 1: at[1]}, {}).poly(poly)
        if value is not None:
            assert ask(space, eq(poly, value), here).answer is Answer.AGREES, (at, value)
            assert ask(space, eq(poly, value + 1), here).answer is Answer.CONTRADICTS, at
            compared += 1
    assert compared >= 12


def test_kgen_does_not_need_z3():
    program = (
        "import sys, kgen.algebra, kgen.plan.check, kgen.prove.check, kgen.cli; "
        "assert 'z3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
