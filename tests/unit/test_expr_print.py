"""Expressions as Python source."""

from __future__ import annotations

import pytest

from kgen.expr import helpers, parse, to_python


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Q == 1", "Q == 1"),
        ("WINDOW != none and 4096 == WINDOW", "WINDOW is not None and 4096 == WINDOW"),
        ("not (WINDOW == none)", "not WINDOW is None"),
        ("true or false", "True or False"),
        ("1/sqrt(D)", "1 / sqrt(D)"),
        ("((a)) + ((b * c))", "a + b * c"),
        ("(a + b) * c", "(a + b) * c"),
        ("a - (b - c)", "a - (b - c)"),
        ("a - (b + c) - d", "a - (b + c) - d"),
        ("a // (b * c)", "a // (b * c)"),
        ("(-2) ** 2", "(-2) ** 2"),
        ("-2 ** 2", "-2 ** 2"),
        ("2 ** -1 ** n", "2 ** -1 ** n"),
        ("(2 ** 3) ** n", "(2 ** 3) ** n"),
        ("(a or b) and not (c and d)", "(a or b) and not (c and d)"),
        ("1 <= Q <= 8 and B < 3", "1 <= Q <= 8 and B < 3"),
        ("1 <= Q and Q <= 8", "1 <= Q and Q <= 8"),
        ("(a < b) == (c < d)", "(a < b) == (c < d)"),
        ("clamp(a, 1 + 2, max(b, c))", "clamp(a, 1 + 2, max(b, c))"),
        ("1e-6 * x", "1e-06 * x"),
    ],
)
def test_the_authors_order_stays_and_parentheses_are_as_few_as_can_be(text, source):
    assert to_python(parse(text)) == source


def test_names_are_replaced_by_what_the_file_calls_them():
    text = to_python(parse("Q == 1 and B < Q"), {"Q": "q.shape[1]", "B": "batch"})
    assert text == "q.shape[1] == 1 and batch < q.shape[1]"


def test_helpers_are_the_functions_that_python_lacks():
    assert helpers(parse("ceil_div(A, min(B, next_pow2(C))) > max(1, 2)")) == {
        "ceil_div",
        "next_pow2",
    }
    assert helpers(parse("min(A, B)")) == frozenset()
