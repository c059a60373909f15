"""Verdicts: what is proved, refuted and left unknown, and why each of these may be said."""

from __future__ import annotations

import pytest

from kgen.algebra import (
    FALSE,
    TRUE,
    Certificate,
    Interval,
    Opaque,
    Poly,
    Rounding,
    Space,
    Status,
    check,
    conjunction,
    contradictory,
    decide,
    disjunction,
    eq,
    ge,
    gt,
    holds_at,
    le,
    lt,
    ne,
    negate,
    substitute,
)
from kgen.algebra.certificate import Trivial
from kgen.algebra.verdict import CertificateError, checked


def sizes(*names: str) -> tuple[Space, list[Poly]]:
    """A space with axes that are at least 1."""
    space = Space()
    return space, [space.axis(name, 1) for name in names]


def test_the_text_of_a_verdict_says_statement_and_evidence():
    space = Space()
    n = space.axis("N", 0, 9)
    assert decide(space, le(n, 9)).text == "proved in 1 steps: N <= 9"
    refuted = decide(space, le(n, 8), ge(n, 3))
    assert refuted.text == "refuted: N <= 8, given N >= 3 is false at N = 9"


def test_a_verdict_is_not_a_truth_value():
    verdict = decide(Space(), TRUE)
    with pytest.raises(TypeError, match="compare its status"):
        assert verdict


def test_what_is_neither_proved_nor_refuted_is_unknown():
    space = Space()
    n = space.axis("N")
    seen = Opaque("mask of floats")
    verdict = decide(space, ge(n, 0), seen)
    assert verdict.status is Status.UNKNOWN
    assert verdict.text == (
        "unknown: neither a proof nor a counterexample of N >= 0, given <mask of floats>"
        " in 4000 steps and 200 tries"
    )


def test_an_opaque_value_never_refutes():
    space = Space()
    n = space.axis("N", 0, 9)
    value = space.unknown("argmax", (), 1, Interval(0, 15))
    assert decide(space, le(value, 15)).status is Status.PROVED
    assert decide(space, le(value, 9)).status is Status.UNKNOWN
    assert decide(space, le(space.minimum(value, n), n)).status is Status.PROVED


def test_a_point_beside_an_opaque_part_that_does_not_matter_refutes():
    space = Space()
    n = space.axis("N", 0, 9)
    verdict = decide(space, le(n, 4), disjunction(Opaque("flag"), ge(n, 0)))
    assert verdict.status is Status.REFUTED


def test_two_reads_of_an_unknown_value_may_differ():
    space = Space()
    one, other = (space.unknown("load", (), serial, Interval(0, 15)) for serial in (1, 2))
    again = space.unknown("load", (), 1, Interval(0, 15))
    assert decide(space, eq(one, again)).status is Status.PROVED
    assert decide(space, eq(one, other)).status is Status.UNKNOWN


def test_named_constants_are_proved_about_by_their_values():
    space = Space()
    width, n = space.fixed("D", 128), space.axis("N", 0, 7)
    verdict = decide(space, lt(n * width, 1024))
    assert verdict.status is Status.PROVED
    assert verdict.text == "proved in 1 steps: D*N <= 1023"


def test_contradictory_conditions_have_a_certificate():
    space, (n, block) = sizes("N", "B")
    tiles = space.ceiling_quotient(n, block)
    certificate = contradictory(space, conjunction(eq(tiles, 3), gt(n, 3 * block)))
    assert isinstance(certificate, Certificate) and check(certificate)
    assert certificate.goal == FALSE
    assert contradictory(space, conjunction(eq(tiles, 3), eq(n, 3 * block))) is None


def test_a_condition_and_its_opposite_contradict_even_if_opaque():
    flag = Opaque("last block")
    assert contradictory(Space(), conjunction(flag, negate(flag))) is not None
    assert contradictory(Space(), conjunction(flag, negate(Opaque("other")))) is None
    assert contradictory(Space(), FALSE) is not None


def test_disjoint_regimes_are_proved_disjoint_and_overlaps_found():
    space = Space()
    q, b = space.choice("Q", (1, 2, 4, 8)), space.axis("B", 1, 256)
    small, large = conjunction(eq(q, 1), le(b, 4)), conjunction(eq(q, 1), ge(b, 5))
    assert contradictory(space, conjunction(small, large)) is not None
    wider = conjunction(eq(q, 1), ge(b, 4))
    assert contradictory(space, conjunction(small, wider)) is None


def test_sixteen_regimes_are_proved_to_cover():
    space = Space()
    q, b = space.choice("Q", (1, 2, 4, 8)), space.axis("B", 1, 256)
    spans = ((1, 4), (5, 8), (9, 64), (65, 256))
    regimes = [
        conjunction(eq(q, value), ge(b, low), le(b, high))
        for value in (1, 2, 4, 8)
        for low, high in spans
    ]
    assert decide(space, disjunction(*regimes)).status is Status.PROVED
    for missing in (0, 7, 15):
        rest = disjunction(*(regime for at, regime in enumerate(regimes) if at != missing))
        verdict = decide(space, rest)
        assert verdict.status is Status.REFUTED
        assert holds_at(space, regimes[missing], verdict.point)


def test_listed_values_are_the_only_ones():
    space = Space()
    q = space.choice("Q", (1, 8))
    assert decide(space, ne(q, 4)).status is Status.PROVED
    assert decide(space, le(q, 4), lt(q, 8)).status is Status.PROVED
    assert decide(space, eq(q, 8)).status is Status.REFUTED


def test_definitions_of_known_values_are_computed():
    space = Space()
    q = space.choice("Q", (1, 2, 8))
    assert decide(space, ge(q, space.power_of_two(q))).status is Status.PROVED
    rows = space.power_of_two(3 * q)
    assert decide(space, ne(rows, 6)).status is Status.PROVED
    assert decide(space, eq(space.logarithm(q) * 2, 6), eq(q, 8)).status is Status.PROVED


def test_equations_are_put_in():
    space = Space()
    n, k = space.axis("n"), space.axis("k")
    verdict = decide(space, eq(n * n + k, 147), conjunction(eq(n, 4 * k), eq(k, 3)))
    assert verdict.status is Status.PROVED


def test_a_variable_without_values_says_nothing_of_others():
    """Program ids of an empty grid imply nothing of the grid where they are not mentioned."""
    space = Space()
    rows = space.axis("N", 0, 8)
    program = space.program(0, rows)
    assert decide(space, ge(rows, 1)).status is Status.REFUTED
    assert decide(space, ge(rows, 1), ge(program, 0)).status is Status.PROVED


def test_a_quotient_says_nothing_outside_its_domain():
    """A turn earlier, `t // 4` divides -1 where t = 0: that must not make t = 0 impossible."""
    space = Space()
    turn = space.iteration("t")
    (index,) = turn.variables
    page = space.quotient(turn, Poly.of(4), Rounding.TRUNCATE)
    before = substitute(space, page, {index: turn - 1})
    first = conjunction(eq(turn, 0), ge(before, -5))
    assert contradictory(space, first) is None
    assert decide(space, ge(before, 0), ge(turn, 1)).status is Status.PROVED
    assert decide(space, ge(before, 0)).status is Status.REFUTED


def test_rounding_toward_zero_is_rounding_down_where_nothing_is_negative():
    """One value has one name, which stays the same when a turn is taken off and its step put on."""
    space = Space()
    turn = space.iteration("t")
    (index,) = turn.variables
    down, to_zero = Rounding.FLOOR, Rounding.TRUNCATE
    for make in (space.quotient, space.remainder):
        assert make(turn, Poly.of(3), to_zero) == make(turn, Poly.of(3), down)
        following = make(16 * turn + 16, Poly.of(3), to_zero)
        assert substitute(space, following, {index: turn - 1}) == make(16 * turn, Poly.of(3), down)
        assert make(turn - 9, Poly.of(3), to_zero) != make(turn - 9, Poly.of(3), down)


def test_an_unknown_divisor_gives_no_facts():
    space = Space()
    n, divisor = space.axis("N", 0, 9), space.axis("d", -1, 3)
    quotient = space.quotient(n, divisor)
    assert decide(space, ge(quotient, 0)).status is Status.REFUTED
    assert decide(space, ge(quotient, 0), ge(divisor, 1)).status is Status.PROVED
    zero = decide(space, ge(quotient, 0), eq(divisor, 0))
    assert zero.status is Status.UNKNOWN


def test_a_wrong_certificate_is_an_error_and_no_proof():
    space = Space()
    n = space.axis("N")
    with pytest.raises(CertificateError, match="refuses a proof of N >= 0"):
        checked(Certificate(space, TRUE, ge(n, 0), Trivial()))


def test_effort_is_bounded_by_counts():
    space, (n, block, splits) = sizes("N", "B", "S")
    goal = ge(splits * space.ceiling_quotient(space.ceiling_quotient(n, block), splits) * block, n)
    verdict = decide(space, goal, steps=1, tries=1)
    assert verdict.status is Status.UNKNOWN
    assert verdict.text.endswith("in 1 steps and 1 tries")
    assert decide(space, goal).text == decide(space, goal).text
