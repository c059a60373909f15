"""Kinds of expressions."""

from __future__ import annotations

import pytest

from kgen.expr import ROW_FUNCTIONS, ExprError, kind, parse

KINDS = {"A": "int", "B": "int", "C": "int", "W": "int?", "N": "none", "R": "real"}
ROWS = {"x": "row", "weight": "row", "EPS": "real", "H": "int"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A + 1", "int"),
        ("A / 2", "real"),
        ("A * R", "real"),
        ("A ** 2", "int"),
        ("max(A, B)", "int"),
        ("max(A, R)", "real"),
        ("sqrt(A)", "real"),
        ("log2(A)", "int"),
        ("is_pow2(A)", "bool"),
        ("A == none", "bool"),
        ("(A < B) == (B < C)", "bool"),
        ("W", "int?"),
        ("none", "none"),
        ("W != none and W > A", "bool"),
        ("W == none or W > A", "bool"),
        ("not (W == none) and W > A", "bool"),
        ("not (W == none or A > 1) and W > 2", "bool"),
        ("A > 1 and none != W and (B > 1 or W > 1)", "bool"),
        ("N != none and N > 1", "bool"),
        ("X + 1", "unknown"),
        ("X", "unknown"),
    ],
)
def test_kinds(text, found):
    assert kind(parse(text), KINDS) == found


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("W > 5", "W", "expected a number, found an integer or `none`"),
        ("W > 5 and W != none", "W", "expected a number, found an integer or `none`"),
        ("W != none or W > 5", "W", "expected a number, found an integer or `none`"),
        ("W == none and W > 5", "W", "expected a number, found an integer or `none`"),
        ("none + 1", "none", "expected a number, found `none`"),
        ("A and B == 1", "A", "expected a condition, found an integer"),
        ("not R", "R", "expected a condition, found a real"),
        ("A == true", "A == true", "a condition is compared with a value"),
        ("(A < B) < C", "A < B", "expected a number, found a condition"),
        ("A / 2 // 2", "A / 2", "`//` takes integers, and this is a real"),
        ("ceil_div(R, 2)", "R", "`ceil_div` takes integers, and this is a real"),
        ("min(A, A == 1)", "A == 1", "expected a number, found a condition"),
    ],
)
def test_kinds_that_do_not_go_together(text, marked, message):
    with pytest.raises(ExprError) as caught:
        kind(parse(text), KINDS)
    assert caught.value.message == message
    assert text[slice(*caught.value.span)] == marked


def test_the_formula_of_a_norm_is_a_row():
    def row_kind(text: str) -> str:
        return kind(parse(text, functions=ROW_FUNCTIONS), ROWS, ROW_FUNCTIONS)

    assert row_kind("x * rsqrt(mean(x * x) + EPS) * weight") == "row"
    assert row_kind("x / sqrt(sum(x * x) / H)") == "row"
    assert row_kind("mean(abs(x))") == "real"
    with pytest.raises(ExprError, match="`mean` reduces a row, and this is a real"):
        row_kind("x - mean(EPS)")
