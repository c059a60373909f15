"""Tokens to tree: operator precedence as in Python, and nothing that is not listed here.

Precedence climbing (Richards and Whitby-Strevens, 1979): `_expression(floor)` reads operators that
bind more tightly than `floor`. Nesting is bounded, so that no text can exhaust Python's stack.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from kgen.expr.errors import ExprError
from kgen.expr.functions import SIZE_FUNCTIONS, Function
from kgen.expr.lexer import Token, number, tokenize
from kgen.expr.nearest import suggestion
from kgen.expr.tree import (
    Binary,
    Call,
    Compare,
    Expr,
    Logic,
    Name,
    Nothing,
    Number,
    Span,
    Truth,
    Unary,
    children,
)

OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)
"""How tightly operators bind, loosest first."""

PRECEDENCE = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    "**": POWER,
}

_WORDS = {
    "None": ("Python's `None` is `none` here", "write `none`"),
    "True": ("Python's `True` is `true` here", "write `true`"),
    "False": ("Python's `False` is `false` here", "write `false`"),
    "is": ("there is no `is`", "write `== none` or `!= none`"),
    "in": ("there is no `in`", "write `Q == 1 or Q == 8`, or `1 <= Q <= 8`"),
    "if": (
        "there is no `if ... else`",
        "write one regime for each case, or use `min`, `max`, `clamp`",
    ),
    "else": ("there is no `if ... else`", "write one regime for each case"),
    "lambda": ("there are no functions to define, so no `lambda`", ""),
    "for": ("there are no loops", ""),
}


def parse(
    text: str,
    *,
    functions: Mapping[str, Function] = SIZE_FUNCTIONS,
    max_length: int = 2000,
    max_depth: int = 64,
) -> Expr:
    """The tree of `text`.

    `functions` are the functions it may call. Raises ExprError, with the span in `text` and a hint,
    for whatever is not in the language, longer than `max_length` characters or nested more than
    `max_depth` deep.
    """
    if len(text) > max_length:
        raise ExprError(
            f"the expression has {len(text)} characters; {max_length} are allowed",
            Span(max_length, len(text)),
            "split it: name parts of it as axes, or use several regimes",
            "KG306",
        )
    tree = _Parser(text, functions, max_depth).whole()
    _refuse_deep(tree, max_depth)
    return tree


class _Parser:
    """A cursor over the tokens of one expression."""

    def __init__(self, text: str, functions: Mapping[str, Function], max_depth: int):
        self.tokens, self.error = tokenize(text)
        self.functions = functions
        self.max_depth = max_depth
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def advance(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def since(self, start: int) -> Span:
        """The span from character `start` to the end of the token read last."""
        return Span(start, self.tokens[self.position - 1].span.end)

    def whole(self) -> Expr:
        if self.token.kind == "end":
            raise ExprError(
                "the expression is empty", Span(0, 1), "write a value, such as `Q == 1`"
            )
        tree = self.expression(0)
        if self.token.kind != "end":
            raise self._trailing()
        return tree

    def expression(self, floor: int) -> Expr:
        """What follows, as far as its operators bind more tightly than `floor`."""
        self.depth += 1
        if self.depth > self.max_depth:
            raise _too_deep(self.max_depth, self.token.span)
        start = self.token.span.start
        left = self._prefix(floor)
        while (precedence := PRECEDENCE.get(self.token.text, 0)) > floor:
            left = self._infix(left, precedence, start)
        self.depth -= 1
        return left

    def _infix(self, left: Expr, precedence: int, start: int) -> Expr:
        if precedence in (OR, AND):
            return self._logic(left, precedence, start)
        if precedence == COMPARISON:
            return self._comparison(left, start)
        op = self.advance().text
        # `**` groups to the right and may have a sign there: 2 ** -1 ** n is 2 ** (-(1 ** n)).
        right = self.expression(SIGN - 1 if precedence == POWER else precedence)
        return Binary(op, left, right, self.since(start))

    def _logic(self, left: Expr, precedence: int, start: int) -> Expr:
        op, operands = self.token.text, [left]
        while self.token.text == op:
            self.advance()
            operands.append(self.expression(precedence))
        return Logic(op, _flat(op, operands), self.since(start))

    def _comparison(self, left: Expr, start: int) -> Expr:
        """One comparison, or a chain: `a < b < c` is `a < b and b < c`, sharing the node of `b`."""
        first, links = start, []
        while PRECEDENCE.get(self.token.text) == COMPARISON:
            op, begin = self.advance().text, self.token.span.start
            right = self.expression(COMPARISON)
            links.append(Compare(op, left, right, self.since(start)))
            left, start = right, begin
        return links[0] if len(links) == 1 else Logic("and", tuple(links), self.since(first))

    def _prefix(self, floor: int) -> Expr:
        token = self.advance()
        start = token.span.start
        if token.kind == "number":
            return Number(number(token), token.span)
        if token.text == "not":
            if floor > NOT:
                raise ExprError(
                    "`not` binds too loosely to stand here",
                    token.span,
                    "put it in parentheses: `(not ...)`",
                )
            return Unary("not", self.expression(NOT), self.since(start))
        if token.text == "-":
            return Unary("-", self.expression(SIGN), self.since(start))
        if token.text == "(":
            return self._parenthesised(token)
        if token.kind == "name" and token.text not in PRECEDENCE:
            return self._name(token)
        raise self._no_value(token)

    def _parenthesised(self, opening: Token) -> Expr:
        inner = self.expression(0)
        if self.token.text == ",":
            raise ExprError(
                "there are no tuples",
                self.token.span,
                "write a single value in the parentheses",
                "KG305",
            )
        self._close(opening)
        if self.token.text == "(":
            raise ExprError("only a function's name can be called", self.token.span, "", "KG305")
        return inner

    def _name(self, token: Token) -> Expr:
        match token.text:
            case "none":
                node: Expr = Nothing(token.span)
            case "true" | "false":
                node = Truth(token.text == "true", token.span)
            case word if word in _WORDS:
                raise _word_error(token)
            case word if keyword.iskeyword(word):
                raise ExprError(
                    f"`{word}` is a Python keyword and no name", token.span, "", "KG305"
                )
            case word if self.token.text == "(":
                return self._call(token)
            case word if word in self.functions:
                function = self.functions[word]
                raise ExprError(
                    f"`{word}` is a function and has no value of its own",
                    token.span,
                    f"call it: `{word}(...)`, with {function.arity}",
                    "KG304",
                )
            case word:
                node = Name(word, token.span)
        if self.token.text == "(":
            raise ExprError(f"`{token.text}` cannot be called", token.span, "", "KG303")
        return node

    def _call(self, name: Token) -> Expr:
        function = self.functions.get(name.text)
        if function is None:
            hint = suggestion(name.text, self.functions, "known functions")
            raise ExprError(f"unknown function `{name.text}`", name.span, hint, "KG303")
        opening = self.advance()
        arguments: list[Expr] = []
        while self.token.text != ")":
            arguments.append(self.expression(0))
            if self.token.text != ",":
                break
            self.advance()
        self._close(opening)
        span = self.since(name.span.start)
        if len(arguments) < function.least or len(arguments) > (function.most or len(arguments)):
            raise ExprError(
                f"`{name.text}` takes {function.arity}, not {len(arguments)}", span, "", "KG304"
            )
        return Call(name.text, tuple(arguments), span)

    def _close(self, opening: Token) -> None:
        if self.token.text == ")":
            self.advance()
        elif self.token.kind == "end":
            raise ExprError("this `(` is never closed", opening.span, "add `)`")
        else:
            raise self._trailing()

    def _no_value(self, token: Token) -> ExprError:
        """The error for a token where a value has to stand."""
        if token.kind == "bad":
            return self.error
        if token.kind == "end":
            before = self.tokens[self.position - 2]
            return ExprError(
                f"the expression ends behind `{before.text}`, where a value has to follow",
                before.span,
            )
        if token.text == "+":
            return ExprError("there is no `+` before a value", token.span, "leave it out")
        if token.text in PRECEDENCE:
            return ExprError(f"`{token.text}` needs a value on its left", token.span)
        return ExprError(f"expected a value, found `{token.text}`", token.span)

    def _trailing(self) -> ExprError:
        """The error for a token where an operator, or the end, has to stand."""
        token, before = self.token, self.tokens[self.position - 1]
        if token.kind == "bad":
            return self.error
        if token.text in _WORDS or (token.text == "not" and self._next_is("in")):
            return _word_error(token)
        if token.text == ")":
            return ExprError("this `)` closes nothing", token.span, "remove it")
        if token.text == ",":
            return ExprError("a comma separates arguments of a function only", token.span)
        return ExprError(
            f"`{token.text}` follows `{before.text}` without an operator between them",
            token.span,
            "write an operator, such as `*`, `==` or `and`",
        )

    def _next_is(self, text: str) -> bool:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)].text == text


def _flat(op: str, operands: list[Expr]) -> tuple[Expr, ...]:
    """The operands, those of nested nodes of the same, associative operator in their place."""
    flat: list[Expr] = []
    for operand in operands:
        flat.extend(
            operand.operands if isinstance(operand, Logic) and operand.op == op else (operand,)
        )
    return tuple(flat)


def _word_error(token: Token) -> ExprError:
    message, hint = _WORDS.get(token.text, _WORDS["in"])
    return ExprError(message, token.span, hint, "KG305")


def _too_deep(max_depth: int, span: Span) -> ExprError:
    return ExprError(
        f"the expression is nested more than {max_depth} deep",
        span,
        "split it: name parts of it as axes, or use several regimes",
        "KG306",
    )


def _refuse_deep(tree: Expr, max_depth: int) -> None:
    """Raise ExprError for a tree higher than `max_depth`; a long sum is, without parentheses."""
    level = [tree]
    for _ in range(max_depth):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise _too_deep(max_depth, tree.span)
