"""Text for people: plain without sympy, simplified with it."""

from __future__ import annotations

import pytest

from kgen.algebra import (
    TRUE,
    Interval,
    Opaque,
    Poly,
    Space,
    conjunction,
    disjunction,
    eq,
    formula_text,
    ge,
    gt,
    le,
    lt,
    ne,
    negate,
    poly_text,
)
from kgen.algebra.show import show

SPACE = Space()
N, B, S = (SPACE.axis(name, 1) for name in ("N", "B", "S"))
PAGES, PAGE = SPACE.axis("PAGES", 1), SPACE.axis("page")
Q, W = SPACE.choice("Q", (1, 8)), SPACE.choice("W", (None, 4096))
TABLE = SPACE.table("table", 0, PAGES - 1, Interval(0, 2**31 - 1))


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (2 * N * B + N - 1, "2*N*B + N - 1"),
        (-N, "-N"),
        (Poly.of(0), "0"),
        (N**3 - 4, "N**3 - 4"),
        (SPACE.quotient(N, B), "N // B"),
        (2 * SPACE.quotient(N, B) + 1, "2*(N // B) + 1"),
        (SPACE.remainder(N + S, B * S), "(N + S) % (B*S)"),
        (SPACE.quotient(SPACE.quotient(N, B), S), "(N // B) // S"),
        (SPACE.quotient(N, Poly.of(128)), "N // 128"),
        (SPACE.maximum(SPACE.minimum(N, B + 7), S), "max(S, min(N, B + 7))"),
        (SPACE.where(lt(N, B), N, S), "where(N < B, N, S)"),
        (SPACE.power_of_two(N) + SPACE.logarithm(S), "next_pow2(N) + log2(S)"),
        (SPACE.entry(TABLE, N + 1), "table[N + 1]"),
        (SPACE.unknown("argmax", (), 4), "<argmax 4>"),
    ],
)
def test_polynomials_are_plain_arithmetic(poly, text):
    assert poly_text(SPACE, poly) == text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (lt(PAGE, PAGES), "page < PAGES"),
        (le(PAGE + 3, PAGES), "page + 3 <= PAGES"),
        (lt(PAGE, 2 * PAGES - 4), "page + 5 <= 2*PAGES"),
        (ge(N, 5), "N >= 5"),
        (le(N, 5), "N <= 5"),
        (gt(N, B), "B < N"),
        (eq(N, B + 2), "N == B + 2"),
        (eq(Q, 1), "Q == 1"),
        (ne(Q, 1), "Q != 1"),
        (conjunction(eq(Q, 1), ge(N, 2)), "Q == 1 and N >= 2"),
        (disjunction(ne(Q, 1), conjunction(ge(N, 2), le(N, 4))), "Q != 1 or (N >= 2 and N <= 4)"),
        (conjunction(ne(Q, 1), ge(N, 2)), "Q != 1 and N >= 2"),
        (gt(W.value, W.absent), "W != none"),
        (le(W.value, W.absent), "W == none"),
        (negate(Opaque("flag")), "not <flag>"),
        (TRUE, "true"),
        (gt(N, N), "false"),
    ],
)
def test_formulas_put_terms_where_they_are_positive(formula, text):
    assert formula_text(SPACE, formula) == text


def test_deep_definitions_are_cut_short():
    space = Space()
    value = space.axis("n", 0)
    for number in range(12):
        value = space.minimum(value + 1, space.axis(f"m{number}"))
    text = poly_text(space, value)
    assert text.count("min(") == 8 and "x" in text and "m11" in text


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (SPACE.ceiling_quotient(N, B) * B, "B*ceil_div(N, B)"),
        (SPACE.quotient(N, B), "N // B"),
        ((N + B) * (N + S), "(B + N)*(N + S)"),
        (ge(SPACE.ceiling_quotient(N, B) * B, N), "N <= B*ceil_div(N, B)"),
        (conjunction(ge(PAGE, 0), lt(PAGE, PAGES)), "0 <= page < PAGES"),
        (conjunction(ge(PAGE, 0), le(PAGE, 7), eq(Q, 8)), "0 <= page <= 7 and Q == 8"),
        (conjunction(ge(N, 2), gt(W.value, W.absent)), "N >= 2 and W != none"),
        (
            ge(S * SPACE.ceiling_quotient(SPACE.ceiling_quotient(N, B), S) * B, N),
            "N <= B*S*ceil_div(ceil_div(N, B), S)",
        ),
    ],
)
def test_sympy_says_it_more_briefly(thing, text):
    assert show(SPACE, thing) == text
