"""Lowering of expressions: what they mean, and what is refused and why."""

from __future__ import annotations

import pytest

from kgen.algebra import (
    FALSE,
    TRUE,
    LowerError,
    Opaque,
    Poly,
    Space,
    conjunction,
    defined,
    disjunction,
    eq,
    formula_text,
    ge,
    le,
    lower,
    lower_condition,
    lt,
    ne,
    negate,
)
from kgen.expr import parse

SPACE = Space()
B, Q = SPACE.axis("B", 1, 256), SPACE.axis("Q", 0, 8)
W = SPACE.choice("W", (None, 4096))
NAMES = {
    "B": B,
    "Q": Q,
    "W": W,
    "X": SPACE.choice("X", (None, 1)),
    "OFF": None,
    "EIGHT": 8,
    "SINKS": Opaque("sinks"),
    "YES": True,
}
PRESENT = negate(le(W.value, W.absent))


def integer(text: str) -> Poly:
    return lower(parse(text), SPACE, NAMES)


def condition(text: str):
    return lower_condition(parse(text), SPACE, NAMES)


def test_integers_are_polynomials():
    assert integer("2 * B - Q + EIGHT") == 2 * B - Q + 8
    assert integer("(B + 1) ** 2") == B * B + 2 * B + 1
    assert integer("-B") == -B


def test_functions_and_divisions_are_definitions():
    assert integer("ceil_div(Q, B)") == SPACE.ceiling_quotient(Q, B)
    assert integer("Q // B + Q % B") == SPACE.quotient(Q, B) + SPACE.remainder(Q, B)
    assert integer("min(B, Q, 3)") == SPACE.minimum(SPACE.minimum(B, Q), Poly.of(3))
    assert integer("clamp(Q, 1, 4)") == SPACE.minimum(SPACE.maximum(Q, Poly.of(1)), Poly.of(4))
    assert integer("next_pow2(B)") == SPACE.power_of_two(B)
    assert integer("log2(B)") == SPACE.logarithm(B)


def test_functions_of_constants_fold():
    assert integer("next_pow2(100) + log2(8) + ceil_div(7, 2) + -7 // 2") == Poly.of(131)
    assert condition("is_pow2(64)") == TRUE and condition("is_pow2(65)") == FALSE
    rows = condition("is_pow2(max(16, next_pow2(Q * 8)))")
    assert formula_text(SPACE, rows) == "max(16, next_pow2(8*Q)) >= 1"


def test_conditions_are_formulas():
    assert condition("B < Q") == lt(B, Q)
    assert condition("1 <= B <= 4 and not Q == 2") == conjunction(ge(B, 1), le(B, 4), ne(Q, 2))
    assert condition("B == 1 or Q != 2") == disjunction(eq(B, 1), ne(Q, 2))
    assert condition("is_pow2(B)") == conjunction(ge(B, 1), ge(B, SPACE.power_of_two(B)))
    assert condition("SINKS and YES") == Opaque("sinks")
    assert condition("(B > 1) == true") == condition("B > 1")
    assert condition("SINKS != (B > 1)") == negate(condition("SINKS == (B > 1)"))


def test_none_equals_none_only():
    assert condition("W == none") == le(W.value, W.absent)
    assert condition("none != W") == PRESENT
    assert condition("OFF == none") == TRUE and condition("B == none") == FALSE
    assert condition("none == none") == TRUE
    assert condition("W == 4096") == conjunction(PRESENT, eq(W.value, 4096))
    assert condition("W == OFF") == condition("W == none")
    assert condition("W == none or W != none") == TRUE


def test_two_axes_that_may_be_none_are_equal_if_both_are_or_their_values_are():
    x = NAMES["X"]
    both_absent = conjunction(le(W.value, W.absent), le(x.value, x.absent))
    both_there = conjunction(PRESENT, negate(le(x.value, x.absent)), eq(W.value, x.value))
    assert condition("W == X") == disjunction(both_absent, both_there)


@pytest.mark.parametrize(
    "text",
    [
        "W != none and W > B",
        "not (W == none) and W > B",
        "W == none or W > B",
        "B > 3 and (W != none and (Q == 1 or W > B))",
        "W == 4096 and W > B",
    ],
)
def test_a_test_for_none_lets_an_axis_be_used_after_it(text):
    assert condition(text)


def test_what_is_never_reached_is_not_lowered():
    assert condition("OFF != none and OFF > 3") == FALSE
    assert condition("OFF == none or OFF > 3") == TRUE


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "W > 3",
            "`W` may be `none` here, and a number is needed",
            "test for it before: `W != none and ...`",
        ),
        ("W > 3 and W != none", "`W` may be `none` here", "test for it before"),
        ("W == none and W > 3", "`W` may be `none` here", ""),
        ("OFF > 3", "`none` stands where a number is needed", ""),
        (
            "B / 2 > 1",
            "`/` gives a real number, and sizes and conditions are proved",
            "write `//` or `ceil_div`",
        ),
        ("sqrt(B) > 2", "`sqrt` gives a real number", "real numbers are for scales only"),
        ("B > 1.5", "1.5 is a real number", "write `//`"),
        ("M > 1", "`M` has no meaning here", "known are: B, EIGHT, OFF, Q, SINKS, W, X, YES"),
        (
            "B ** Q > 1",
            "this power is no polynomial",
            "write an exponent that is a number from 0 to 64",
        ),
        ("B ** -1 > 1", "this power is no polynomial", ""),
        ("(B + Q + 1) ** 64 > 1", "the product has too many terms", ""),
        ("B", "a condition has to stand here", "compare it, such as `Q == 1`"),
        ("B and Q > 1", "a condition has to stand here", ""),
        ("(B > 1) + 1 > 2", "a condition stands where an integer is needed", ""),
        ("SINKS > 1", "`SINKS` is a condition, and a number is needed", ""),
        ("(B > 1) == B", "a condition is compared with a value", ""),
    ],
)
def test_what_says_nothing_about_integers_is_refused(text, message, hint):
    with pytest.raises(LowerError) as raised:
        condition(text)
    assert raised.value.message.startswith(message)
    assert hint in raised.value.hint
    assert raised.value.code == "KG490"


def test_the_span_of_an_error_is_the_part_at_fault():
    text = "B > 1 and Q / 2 > 1"
    with pytest.raises(LowerError) as raised:
        condition(text)
    assert text[slice(*raised.value.span)] == "Q / 2"


def test_an_expression_is_defined_where_its_parts_are_reached_and_have_values():
    def domain(text: str):
        return defined(parse(text), SPACE, NAMES)

    assert domain("B // 2 + Q % 3") == TRUE
    assert domain("B // Q") == ne(Q, 0)
    assert domain("Q != 0 and B // Q > 2") == disjunction(eq(Q, 0), ne(Q, 0))
    assert domain("B // Q > 2 and Q != 0") == ne(Q, 0)
    assert domain("log2(Q)") == conjunction(ge(Q, 1), ge(Q, SPACE.power_of_two(Q)))
    assert domain("ceil_div(B, Q - 1)") == ne(Q, 1)
