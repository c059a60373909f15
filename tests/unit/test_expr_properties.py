"""What holds for every expression: its readers agree on one meaning."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st

from kgen.expr import (
    SIZE_FUNCTIONS,
    EvalError,
    ExprError,
    evaluate,
    fold,
    kind,
    names,
    parse,
    to_python,
)

AXES = ("A", "B", "C")
OPTIONAL = "W"


def integers(depth: int = 3) -> st.SearchStrategy[str]:
    """Texts whose value is an integer, mostly."""
    leaves = st.one_of(st.integers(0, 300).map(str), st.sampled_from(AXES))
    if depth == 0:
        return leaves
    inner = integers(depth - 1)
    return st.one_of(
        leaves,
        st.tuples(inner, st.sampled_from("+ - * // % / **".split()), inner).map(" ".join),
        inner.map("-{}".format),
        inner.map("({})".format),
        st.tuples(inner, inner).map("ceil_div({0[0]}, {0[1]})".format),
        st.tuples(inner, inner, inner).map("clamp({0[0]}, {0[1]}, {0[2]})".format),
        st.lists(inner, min_size=2, max_size=3).map(", ".join).map("max({})".format),
        inner.map("next_pow2({})".format),
        inner.map("log2({})".format),
    )


def conditions(depth: int = 2) -> st.SearchStrategy[str]:
    """Texts whose value is a truth value, mostly."""
    compare = st.sampled_from("< <= > >= == !=".split())
    leaves = st.one_of(
        st.sampled_from(["true", "false", f"{OPTIONAL} == none", f"{OPTIONAL} != none"]),
        st.tuples(integers(1), compare, integers(1)).map(" ".join),
        st.tuples(integers(1), compare, integers(1), compare, integers(1)).map(" ".join),
        integers(1).map("is_pow2({})".format),
    )
    if depth == 0:
        return leaves
    inner = conditions(depth - 1)
    return st.one_of(
        leaves,
        inner.map("not ({})".format),
        inner.map("({})".format),
        st.lists(inner, min_size=2, max_size=3).map(" and ".join),
        st.lists(inner, min_size=2, max_size=3).map(" or ".join),
    )


def texts() -> st.SearchStrategy[str]:
    """Texts of expressions."""
    return st.one_of(integers(), conditions())


def points() -> st.SearchStrategy[dict[str, int | None]]:
    """A value for every axis."""
    values = {name: st.integers(-3, 200) for name in AXES}
    return st.fixed_dictionaries({**values, OPTIONAL: st.one_of(st.none(), st.integers(1, 9))})


HELPERS = {name: function.implementation for name, function in SIZE_FUNCTIONS.items()}
KINDS = {**dict.fromkeys(AXES, "int"), OPTIONAL: "int?"}


@hypothesis.given(texts(), points())
def test_python_computes_the_same_value(text, point):
    tree = parse(text)
    try:
        value = evaluate(tree, point)
    except EvalError:
        hypothesis.reject()
    computed = eval(to_python(tree), {"__builtins__": {"min": min, "max": max}}, HELPERS | point)
    assert computed == value and type(computed) is type(value)


@hypothesis.given(texts())
def test_what_is_printed_reads_as_the_same_tree(text):
    tree = parse(text)
    printed = to_python(tree).replace("None", "none").replace("True", "true")
    printed = printed.replace("False", "false").replace("is not", "!=").replace(" is ", " == ")
    assert parse(printed) == tree
    assert names(tree) == names(parse(printed))


@hypothesis.given(texts(), points(), st.sets(st.sampled_from("ABCW")))
def test_folding_in_steps_never_changes_a_value(text, point, first):
    tree = parse(text)
    try:
        value = evaluate(tree, point)
    except EvalError:
        hypothesis.reject()
    partly = fold(tree, {name: point[name] for name in first})
    assert names(partly) <= names(tree) - first
    assert evaluate(partly, point) == value
    assert evaluate(fold(partly, point), {}) == value


@hypothesis.given(texts(), points())
def test_an_expression_whose_kinds_fit_has_a_value_of_that_kind(text, point):
    """Only arithmetic itself (a zero divisor, 64 bits, a logarithm) can fail then."""
    tree = parse(text)
    try:
        found = kind(tree, KINDS)
    except ExprError:
        hypothesis.reject()
    try:
        value = evaluate(tree, point)
    except EvalError as error:
        assert "expected" not in error.message and "takes integers" not in error.message
    else:
        assert type(value) is {"int": int, "real": float, "bool": bool}[found]
