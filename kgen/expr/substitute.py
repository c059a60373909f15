"""Trees with names replaced by trees, and with what adds nothing left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kgen.expr.tree import Binary, Call, Compare, Expr, Logic, Name, Number, Unary, names


def substitute(expr: Expr, replacements: Mapping[str, Expr]) -> Expr:
    """`expr` with each name in `replacements` replaced, all at once."""
    if names(expr).isdisjoint(replacements):
        return expr
    if isinstance(expr, Name):
        return replacements[expr.id]
    return _rebuilt(expr, lambda part: substitute(part, replacements))


def tidy(expr: Expr) -> Expr:
    """`expr` without `1 * x`, `x * 1`, `x // 1`, `x + 0`, `0 + x` and `x - 0`, which folding leaves behind."""
    expr = _rebuilt(expr, tidy)
    match expr:
        case Binary(op="*", left=Number(value=1), right=rest) | Binary(
            op="+", left=Number(value=0), right=rest
        ):
            return rest
        case Binary(op="*" | "//", left=rest, right=Number(value=1)):
            return rest
        case Binary(op="+" | "-", left=rest, right=Number(value=0)):
            return rest
    return expr


_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negated(expr: Expr) -> Expr:
    """`not expr`, a comparison as its opposite."""
    match expr:
        case Compare():
            return replace(expr, op=_OPPOSITES[expr.op])
        case Unary(op="not"):
            return expr.operand
    return Unary("not", expr, expr.span)


def _rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    match expr:
        case Unary():
            return Unary(expr.op, change(expr.operand), expr.span)
        case Binary() | Compare():
            return type(expr)(expr.op, change(expr.left), change(expr.right), expr.span)
        case Logic():
            return Logic(expr.op, tuple(map(change, expr.operands)), expr.span)
        case Call():
            return Call(expr.function, tuple(map(change, expr.arguments)), expr.span)
    return expr
