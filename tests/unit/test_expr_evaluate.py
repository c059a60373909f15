"""Computing expressions, wholly or in part."""

from __future__ import annotations

import pytest

from kgen.expr import EvalError, evaluate, fold, parse, to_python


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7 // 2", -4),
        ("-7 % 4", 1),
        ("7 / 2", 3.5),
        ("2 ** 10", 1024),
        ("2.0 ** -1", 0.5),
        ("(-1) ** 1000000", 1),
        ("ceil_div(7, 2)", 4),
        ("ceil_div(-7, 2)", -3),
        ("min(3, 1, 2)", 1),
        ("clamp(9, 1, 4)", 4),
        ("next_pow2(0)", 1),
        ("next_pow2(64)", 64),
        ("next_pow2(65)", 128),
        ("is_pow2(64) and not is_pow2(0)", True),
        ("log2(64)", 6),
        ("log2(8.0)", 3.0),
        ("sqrt(16)", 4.0),
        ("N == none", True),
        ("N != none", False),
        ("none == none", True),
        ("3 == none", False),
        ("1 < 2 < 3", True),
        ("1 < 2 > 3", False),
        ("N != none and N > 3", False),
        ("true or 1 // 0 == 1", True),
        ("1 == 1.0", True),
    ],
)
def test_values(text, value):
    found = evaluate(parse(text), {"N": None})
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("1 + A // 0", "A // 0", "division by zero"),
        ("A % (B - B)", "A % (B - B)", "division by zero"),
        ("ceil_div(A, 0)", "ceil_div(A, 0)", "`ceil_div` divides by zero"),
        ("0.0 ** -1", "0.0 ** -1", "0.0 ** -1 divides by zero"),
        ("N + 1", "N", "expected a number, found `none`"),
        ("N < 3", "N", "expected a number, found `none`"),
        ("(A < B) + 1", "A < B", "expected a number, found a truth value"),
        ("A and true", "A", "expected a condition, found a number or `none`"),
        ("not N", "N", "expected a condition, found a number or `none`"),
        ("A == true", "A == true", "a truth value and a number are compared"),
        ("A * X", "X", "`X` has no value here"),
        ("A * T", "T", "`T` is 'text', which is no number"),
        (
            "9223372036854775807 + 1",
            "9223372036854775807 + 1",
            "the value does not fit in 64 bits",
        ),
        ("10 ** 19", "10 ** 19", "the value does not fit in 64 bits"),
        ("10 ** 10 ** 10 ** 10", "10 ** 10", "the value does not fit in 64 bits"),
        ("1e308 * 10", "1e308 * 10", "the value does not fit in 64 bits"),
        ("1.5 ** 1e9", "1.5 ** 1e9", "the value does not fit in 64 bits"),
        ("(-2.0) ** 0.5", "(-2.0) ** 0.5", "-2.0 ** 0.5 is no real number"),
        ("2 ** -1", "2 ** -1", "2 ** -1 is no integer"),
        ("1.5 // 1", "1.5 // 1", "`//` takes integers; one of 1.5 and 1 is a real"),
        ("next_pow2(1.5)", "next_pow2(1.5)", "`next_pow2` takes integers"),
        ("sqrt(-1)", "sqrt(-1)", "sqrt(-1) has no value"),
        ("log2(6)", "log2(6)", "log2(6) has no value"),
    ],
)
def test_what_has_no_value_says_where_and_why(text, marked, message):
    with pytest.raises(EvalError) as caught:
        evaluate(parse(text), {"A": 3, "B": 2, "N": None, "T": "text"})
    assert caught.value.message == message
    assert text[slice(*caught.value.span)] in (marked, marked.replace("10 ** 10", "10 ** 10 ** 10"))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Q == 1 and B < 4", "B < 4"),
        ("Q == 8 and B < 4", "False"),
        ("B < 4 or Q == 1", "True"),
        ("B < 4 or Q == 8", "B < 4"),
        ("W == none or W > B", "4096 > B"),
        ("ceil_div(B, 2 * Q + 6)", "ceil_div(B, 8)"),
        ("1 <= Q <= B", "1 <= B"),
        ("B // (Q - 1)", "B // 0"),
        ("Q // (Q - 1) == B", "1 // 0 == B"),
        ("not Q == 1", "False"),
    ],
)
def test_fold_computes_what_is_known(text, folded):
    assert to_python(fold(parse(text), {"Q": 1, "W": 4096})) == folded
