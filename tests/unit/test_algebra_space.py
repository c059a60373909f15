"""Spaces: declarations, simplification by ranges, closure and substitution."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kgen.algebra import (
    FALSE,
    TRUE,
    Interval,
    Maybe,
    Opaque,
    Poly,
    Rounding,
    Space,
    SpaceError,
    Status,
    conjunction,
    decide,
    ge,
    holds_at,
    le,
    lt,
    space_of,
    substitute,
    substitute_formula,
)
from kgen.algebra.point import Point
from kgen.expr import parse

TRUNCATE = Rounding.TRUNCATE


def index(variable: Poly) -> int:
    (number,) = variable.variables
    return number


def test_a_name_is_declared_once():
    space = Space()
    space.axis("N")
    with pytest.raises(SpaceError, match="the name N is taken already"):
        space.fixed("N", 3)


def test_an_empty_range_is_refused_where_it_is_certain():
    space = Space()
    n = space.axis("N", 0, 4)
    with pytest.raises(SpaceError, match="M has an empty range"):
        space.axis("M", 6, n)
    space.axis("K", 3, n)
    with pytest.raises(SpaceError, match="Q has no values"):
        space.choice("Q", ())


def test_ranges_that_may_be_empty_are_statements_to_be_proved():
    space = Space()
    n = space.axis("N", 0, 4)
    space.axis("K", 3, n), space.axis("S", 0, n)
    verdicts = {name: decide(space, claim).status for name, claim in space.ranges()}
    assert verdicts == {"N": Status.PROVED, "K": Status.REFUTED, "S": Status.PROVED}


def test_a_choice_with_none_keeps_a_value_below_the_others_for_it():
    space = Space()
    window = space.choice("W", (None, 128, 4096))
    assert isinstance(window, Maybe) and window.absent == 127
    assert space.choice("X", (None,)) is None
    assert isinstance(space.choice("Q", (1, 8)), Poly)


def test_equal_definitions_are_one_variable():
    space = Space()
    a, b = space.axis("a", 0), space.axis("b", 1)
    assert space.quotient(a, b) == space.quotient(a, b)
    assert space.minimum(a, b) == space.minimum(b, a)
    assert space.lane(0, 16) == space.lane(0, 16) != space.lane(1, 16)
    assert space.unknown("load", (a,), 1) != space.unknown("load", (a,), 2)


def test_quotients_simplify_where_ranges_decide():
    space = Space()
    n, lane, block = space.axis("n", 0), space.axis("lane", 0, 7), space.axis("B", 1)
    assert space.quotient(8 * n + lane, Poly.of(8)) == n
    assert space.remainder(8 * n + lane, Poly.of(8)) == lane
    assert space.quotient(n * block, block) == n
    assert space.quotient(lane - 8, Poly.of(8)) == Poly.of(-1)
    assert space.ceiling_quotient(n * block, block) == n
    assert space.quotient(n + 19, Poly.of(8)) == space.quotient(n + 3, Poly.of(8)) + 2
    assert space.quotient(n, Poly.of(1)) == n and space.remainder(n, Poly.of(1)) == Poly.of(0)
    assert space.quotient(Poly.of(-7), Poly.of(2)) == Poly.of(-4)


def test_multiples_stay_inside_where_the_divisor_may_not_be_positive():
    space = Space()
    n, divisor = space.axis("n", 0), space.axis("d", 0, 5)
    quotient = space.quotient(n * divisor, divisor)
    assert space[index(quotient)].definition.dividend == n * divisor


def test_division_toward_zero_simplifies_only_without_negative_dividends():
    space = Space()
    n, signed, lane = space.axis("n", 0), space.axis("s"), space.axis("lane", 0, 7)
    assert space.quotient(8 * n + lane, Poly.of(8), TRUNCATE) == n
    # (8 * -1 + 1) / 8 is 0 toward zero, and not -1
    assert space.quotient(8 * signed + lane, Poly.of(8), TRUNCATE) != signed
    assert space.quotient(Poly.of(-7), Poly.of(2), TRUNCATE) == Poly.of(-3)
    assert space.remainder(Poly.of(-7), Poly.of(2), TRUNCATE) == Poly.of(-1)


def test_minimum_maximum_and_where_simplify_where_ranges_decide():
    space = Space()
    n = space.axis("n", 0, 9)
    assert space.minimum(n, Poly.of(9)) == n and space.maximum(n, Poly.of(9)) == Poly.of(9)
    assert space.minimum(n, n + 1) == n and space.maximum(n, Poly.of(0)) == n
    assert space.where(TRUE, n, n + 1) == n and space.where(FALSE, n, n + 1) == n + 1
    assert space.where(ge(n, 3), n, n) == n


def test_powers_of_two_of_powers_of_two_are_themselves():
    space = Space()
    n = space.axis("n", 1)
    power = space.power_of_two(n)
    assert space.power_of_two(power) == power
    assert space.power_of_two(4 * power * power) == 4 * power * power
    assert space.power_of_two(3 * power) != 3 * power
    rows = space.maximum(Poly.of(16), power)
    assert space.power_of_two(rows) == rows
    assert space.power_of_two(Poly.of(0)) == Poly.of(1)
    assert space.logarithm(Poly.of(1024)) == Poly.of(10)


def test_intervals_of_definitions():
    space = Space()
    n, s = space.axis("n", 3, 20), space.axis("s", -7, 7)
    assert space.interval(space.quotient(n, Poly.of(4))) == (0, 5)
    assert space.interval(space.quotient(s, Poly.of(4))) == (-2, 1)
    assert space.interval(space.quotient(s, Poly.of(4), TRUNCATE)) == (-1, 1)
    assert space.interval(space.remainder(s, Poly.of(4))) == (0, 3)
    assert space.interval(space.remainder(s, Poly.of(4), TRUNCATE)) == (-3, 3)
    assert space.interval(space.quotient(s, space.axis("d", 1))) == (-7, 7)
    below, any_size = space.axis("below", -7, -1), space.axis("any", 1)
    assert space.interval(space.quotient(below, any_size)) == (-7, -1)
    assert space.interval(space.quotient(below, any_size, TRUNCATE)) == (-7, 0)
    assert space.interval(space.quotient(n, s)) == (None, None)
    assert space.interval(space.power_of_two(n)) == (4, 32)
    assert space.interval(space.logarithm(n)) == (1, 4)
    assert space.interval(space.logarithm(s)) == (None, None)
    assert space.interval(n * s - n) == (-160, 137)


def test_constants_keep_their_names_outside_and_their_values_inside():
    space = Space()
    width, n = space.fixed("D", 128), space.axis("n", 0)
    assert width.constant is None and space.concrete(width * n) == 128 * n
    assert space.quotient(n, width) == space.quotient(n, Poly.of(128))
    assert space.concrete_formula(ge(width, 128)) == TRUE


def test_the_closure_reaches_through_definitions():
    space = Space()
    n, block, unused = space.axis("n", 0), space.axis("B", 1), space.axis("unused")
    tile = space.axis("tile", 0, space.quotient(n, block))
    flag = space.where(Opaque("flag", (tile,)), Poly.of(1), Poly.of(2))
    assert space.closure((flag,)) == sorted(
        map(index, (n, block, tile, flag, space.quotient(n, block)))
    )
    assert index(unused) not in space.closure((flag,))


def test_substitution_makes_definitions_anew():
    space = Space()
    turn, block = space.axis("t", 0), space.axis("B", 1)
    tile = space.minimum(space.quotient(turn, block), Poly.of(7))
    moved = substitute(space, tile + turn, {index(turn): turn * block})
    assert moved == space.minimum(turn, Poly.of(7)) + turn * block
    condition = conjunction(lt(turn, 5), Opaque("flag", (tile,)))
    constant = substitute_formula(space, condition, {index(turn): Poly.of(0)})
    assert constant == Opaque("flag", (Poly.of(0),))


def test_substitution_reaches_into_masked_entries_and_opaque_values():
    space = Space()
    n, pages = space.axis("n", 0), space.axis("P", 1)
    table = space.table("pages", 0, pages - 1, Interval(0, 2**31 - 1))
    entry = space.entry(table, n, lt(n, 4), n)
    assert substitute(space, entry, {index(n): Poly.of(9)}) == Poly.of(9)
    assert substitute(space, entry, {index(n): n + 1}) == space.entry(table, n + 1, lt(n, 3), n + 1)
    value = space.unknown("sum", (n,), 3)
    assert substitute(space, value, {index(n): pages}) == space.unknown("sum", (pages,), 3)


def test_deep_definitions_are_no_trouble():
    space = Space()
    n = space.axis("n", 0)
    value = n
    for number in range(300):
        value = space.minimum(value + 1, space.axis(f"m{number}", 0))
    assert substitute(space, value, {index(n): n + 1}) != value
    assert decide(space, ge(value, 0)).status is Status.PROVED
    assert decide(space, ge(value, 1)).status is Status.REFUTED


def axis(name: str, const=None, low=None, high=None, values=None) -> SimpleNamespace:
    """An axis as a spec has it."""
    ends = (None if end is None else parse(end) for end in (low, high))
    return SimpleNamespace(
        name=name, const=const, low=(pair := tuple(ends))[0], high=pair[1], values=values
    )


def test_axes_of_a_spec_become_variables_in_any_order():
    space, names = space_of(
        [
            axis("S", low="0", high="CAP"),
            axis("CAP", low="1", high="64 * D"),
            axis("D", const=128),
            axis("Q", values=(1, 8)),
            axis("W", values=(None, 4096)),
        ]
    )
    assert set(names) == {"S", "CAP", "D", "Q", "W"}
    assert space.interval(names["S"]) == (0, 8192)
    assert decide(space, le(names["S"], names["CAP"])).status is Status.PROVED
    assert isinstance(names["W"], Maybe)
    point = Point({"W": None, "Q": 8})
    assert holds_at(space, le(names["W"].value, names["W"].absent), point) is True


def test_axes_that_bound_each_other_in_a_circle_are_refused():
    axes = [axis("A", low="0", high="B"), axis("B", low="A", high="9"), axis("C", const=1)]
    with pytest.raises(SpaceError, match="depend on each other in a circle: A, B"):
        space_of(axes)
