"""The syntax tree of kgen expressions: frozen nodes that know where in the text they stand.

One tree serves three readers: `kgen.expr.evaluate` folds it to a value, `kgen.expr.printer` writes it into the
generated dispatcher in the author's order, `kgen.algebra.lower` states it to the proof engine. It needs only the
standard library, because the worker on a GPU machine evaluates expressions too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Union


class Span(NamedTuple):
    """Characters `start` (included) to `end` (excluded) of the expression's text."""

    start: int
    end: int


@dataclass(frozen=True)
class Number:
    """An integer or real literal."""

    value: int | float
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Nothing:
    """The literal `none`: an axis that is absent, such as no sliding window."""

    span: Span = field(compare=False)


@dataclass(frozen=True)
class Truth:
    """The literals `true` and `false`."""

    value: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Name:
    """An axis, a parameter or a derived value."""

    id: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Unary:
    """`-x` or `not x`."""

    op: str
    operand: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Binary:
    """`+ - * / // % **` of two operands."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Compare:
    """`< <= > >= == !=` of two operands. A chain `a < b < c` is parsed into a `Logic` of two comparisons."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Logic:
    """`and` or `or` of two or more operands."""

    op: str
    operands: tuple[Expr, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Call:
    """A call of one of the functions in `kgen.expr.functions`, by position only."""

    function: str
    arguments: tuple[Expr, ...]
    span: Span = field(compare=False)


Expr = Union[Number, Nothing, Truth, Name, Unary, Binary, Compare, Logic, Call]


def children(node: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions of `node`, in the author's order."""
    match node:
        case Unary():
            return (node.operand,)
        case Binary() | Compare():
            return (node.left, node.right)
        case Logic():
            return node.operands
        case Call():
            return node.arguments
    return ()


_NAMES = "_names"


def names(node: Expr) -> frozenset[str]:
    """Every name that `node` mentions, kept at the node once it is known."""
    kept = node.__dict__
    if _NAMES not in kept:
        if isinstance(node, Name):
            found = frozenset((node.id,))
        else:
            found = frozenset().union(*map(names, children(node)))
        kept[_NAMES] = found
    return kept[_NAMES]
