"""Reading expressions: what is in the language, and what is said about everything else."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest

from kgen.expr import (
    ROW_FUNCTIONS,
    Binary,
    Call,
    Compare,
    ExprError,
    Logic,
    Name,
    Nothing,
    Number,
    Truth,
    Unary,
    children,
    names,
    parse,
)

ANYWHERE = (0, 0)
KNOWN = "known functions: `ceil_div`, `clamp`, `is_pow2`, `log2`, `max`, `min`, `next_pow2`, `sqrt`"
SPLIT = "split it: name parts of it as axes, or use several regimes"


def name(text: str) -> Name:
    return Name(text, ANYWHERE)


def number(value: int | float) -> Number:
    return Number(value, ANYWHERE)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("7", number(7)),
        ("1.5", number(1.5)),
        (".5e3", number(500.0)),
        ("none", Nothing(ANYWHERE)),
        ("true", Truth(True, ANYWHERE)),
        ("  _a1 ", name("_a1")),
        ("a\n  + b", Binary("+", name("a"), name("b"), ANYWHERE)),
        (
            "a - b - c",
            Binary("-", Binary("-", name("a"), name("b"), ANYWHERE), name("c"), ANYWHERE),
        ),
        (
            "a - (b - c)",
            Binary("-", name("a"), Binary("-", name("b"), name("c"), ANYWHERE), ANYWHERE),
        ),
        (
            "a + b * c",
            Binary("+", name("a"), Binary("*", name("b"), name("c"), ANYWHERE), ANYWHERE),
        ),
        (
            "a ** b ** c",
            Binary("**", name("a"), Binary("**", name("b"), name("c"), ANYWHERE), ANYWHERE),
        ),
        ("-a ** b", Unary("-", Binary("**", name("a"), name("b"), ANYWHERE), ANYWHERE)),
        ("a ** -b", Binary("**", name("a"), Unary("-", name("b"), ANYWHERE), ANYWHERE)),
        ("not a == b", Unary("not", Compare("==", name("a"), name("b"), ANYWHERE), ANYWHERE)),
        (
            "a or b and c",
            Logic("or", (name("a"), Logic("and", (name("b"), name("c")), ANYWHERE)), ANYWHERE),
        ),
        ("a and (b and c)", Logic("and", (name("a"), name("b"), name("c")), ANYWHERE)),
        (
            "1 <= a < b",
            Logic(
                "and",
                (
                    Compare("<=", number(1), name("a"), ANYWHERE),
                    Compare("<", name("a"), name("b"), ANYWHERE),
                ),
                ANYWHERE,
            ),
        ),
        ("min(a, 2, b)", Call("min", (name("a"), number(2), name("b")), ANYWHERE)),
    ],
)
def test_operators_bind_as_in_python(text, tree):
    assert parse(text) == tree


def test_every_node_knows_its_characters():
    text = "Q > 1 and (ceil_div(B + 1, 2) == none)"
    spans = {text[slice(*node.span)] for node in walk(parse(text))}
    assert spans == {
        text,
        "Q > 1",
        "Q",
        "1",
        "ceil_div(B + 1, 2) == none",
        "ceil_div(B + 1, 2)",
        "B + 1",
        "B",
        "2",
        "none",
    }


def walk(node):
    yield node
    for child in children(node):
        yield from walk(child)


def test_names_are_those_of_axes_and_not_of_functions():
    assert names(parse("max(A, B) > C and not D")) == {"A", "B", "C", "D"}


def test_another_table_of_functions_can_be_given():
    tree = parse("x * rsqrt(mean(x * x) + EPS)", functions=ROW_FUNCTIONS)
    assert names(tree) == {"x", "EPS"}
    with pytest.raises(ExprError, match="unknown function `mean`"):
        parse("mean(x)")


@pytest.mark.parametrize(
    ("text", "marked", "message", "hint"),
    [
        ("", "", "the expression is empty", "write a value, such as `Q == 1`"),
        ("Q ==", "==", "the expression ends behind `==`, where a value has to follow", ""),
        ("min(a,", ",", "the expression ends behind `,`, where a value has to follow", ""),
        ("min(,)", ",", "expected a value, found `,`", ""),
        ("* 2", "*", "`*` needs a value on its left", ""),
        ("a and or b", "or", "`or` needs a value on its left", ""),
        ("+1", "+", "there is no `+` before a value", "leave it out"),
        ("(Q", "(", "this `(` is never closed", "add `)`"),
        ("Q)", ")", "this `)` closes nothing", "remove it"),
        ("a, b", ",", "a comma separates arguments of a function only", ""),
        (
            "a b",
            "b",
            "`b` follows `a` without an operator between them",
            "write an operator, such as `*`, `==` or `and`",
        ),
        ("2x", "2x", "`2x` is neither a number nor a name", "to multiply, write `2 * x`"),
        ("0x10", "0x10", "`0x10`: numbers are decimal", "write `16`"),
        ("1_000", "1_000", "`1_000`: no `_` in numbers", "write `1000`"),
        ("007", "007", "`007` has a leading zero", "write `7`"),
        ("9223372036854775808", "", "`9223372036854775808` does not fit in 64 bits", ""),
        ("1e999", "1e999", "`1e999` is too large for a real", ""),
        (
            "1 + not a",
            "not",
            "`not` binds too loosely to stand here",
            "put it in parentheses: `(not ...)`",
        ),
        ("Q = 1", "=", "`=` assigns; it compares nothing", "write `==`"),
        (
            "Q := 1",
            ":=",
            "assignment is not part of an expression",
            "write the value where it is used",
        ),
        ("a && b", "&&", "there is no `&&`", "write `and`"),
        ("!a", "!", "there is no `!`", "write `not`"),
        ("a ^ 2", "^", "there are no bit operations", "write `**` for a power"),
        ("a << 2", "<<", "there are no shifts", "write `* 2 ** n`"),
        (
            "q.shape",
            ".",
            "there are no attributes: an expression knows axes, not tensors or modules",
            "declare an axis for that size and write its name",
        ),
        (
            "q[0]",
            "[",
            "there are no subscripts and no lists",
            "declare an axis for that size and write its name",
        ),
        (
            "a == 'b'",
            "'b'",
            "there are no strings in an expression",
            "write the name of an axis, a number, `none`, `true` or `false`, without quotes",
        ),
        ("(1, 2)", ",", "there are no tuples", "write a single value in the parentheses"),
        ("(a)(b)", "(", "only a function's name can be called", ""),
        ("none(b)", "none", "`none` cannot be called", ""),
        ("lambda: 1", "lambda", "there are no functions to define, so no `lambda`", ""),
        (
            "a if b else c",
            "if",
            "there is no `if ... else`",
            "write one regime for each case, or use `min`, `max`, `clamp`",
        ),
        ("a in b", "in", "there is no `in`", "write `Q == 1 or Q == 8`, or `1 <= Q <= 8`"),
        ("a not in b", "not", "there is no `in`", "write `Q == 1 or Q == 8`, or `1 <= Q <= 8`"),
        ("a is none", "is", "there is no `is`", "write `== none` or `!= none`"),
        ("a == None", "None", "Python's `None` is `none` here", "write `none`"),
        ("class", "class", "`class` is a Python keyword and no name", ""),
        ("a \u2264 b", "\u2264", "only ASCII operators are known", "write `<=`"),
        ("gr\u00f6\u00dfe", "\u00f6", "the character '\\xf6' has no meaning here", ""),
        ("a; b", ";", "an expression is one value; there are no statements", ""),
        ("foo(1)", "foo", "unknown function `foo`", KNOWN),
        ("mim(1, 2)", "mim", "unknown function `mim`", f"did you mean `min`? {KNOWN}"),
        ("min(1)", "min(1)", "`min` takes 2 or more arguments, not 1", ""),
        ("sqrt(1, 2)", "sqrt(1, 2)", "`sqrt` takes 1 argument, not 2", ""),
        (
            "min + 1",
            "min",
            "`min` is a function and has no value of its own",
            "call it: `min(...)`, with 2 or more arguments",
        ),
    ],
)
def test_what_is_not_in_the_language_is_named_with_a_remedy(text, marked, message, hint):
    with pytest.raises(ExprError) as caught:
        parse(text)
    error = caught.value
    assert (error.message, error.hint) == (message, hint)
    assert text[slice(*error.span)] == (marked or text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "1" + ")" * 500,
        "-" * 500 + "1",
        "not " * 400 + "a",
        "2 ** " * 300 + "1",
        "+".join("a" * 500),
        "a and (" * 100,
        "min(1, " * 200,
    ],
)
def test_nesting_is_refused_before_it_can_exhaust_the_stack(text):
    with pytest.raises(ExprError) as caught:
        parse(text)
    assert caught.value.message == "the expression is nested more than 64 deep"
    assert caught.value.hint == SPLIT


def test_a_long_expression_is_refused_by_its_length():
    with pytest.raises(ExprError) as caught:
        parse("a and " * 2000 + "a")
    assert caught.value.message == "the expression has 12001 characters; 2000 are allowed"
    assert caught.value.span == (2000, 12001)


def test_many_operands_of_one_and_are_not_deep():
    assert len(parse(" and ".join("a" * 300)).operands) == 300


@hypothesis.given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                "a Q 1 2.5 none true not and or ( ) , + - * / // % ** < <= == != min( clamp( . [ ' = is"
                " in if 1e9 :".split()
            ),
            max_size=25,
        ).map(" ".join),
    )
)
def test_any_text_gives_a_tree_or_an_expression_error(text):
    try:
        tree = parse(text)
    except ExprError as error:
        assert 0 <= error.span.start < error.span.end <= len(text) + 1
        assert error.message
    else:
        assert tree.span.end <= len(text)
