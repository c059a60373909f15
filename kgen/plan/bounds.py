"""Constant bounds of expressions: sound, not always tight. They decide widths; proofs are `kgen.algebra`'s."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.expr import Binary, Call, Expr, Name, Number, Unary
from kgen.expr.functions import next_pow2
from kgen.families.model import Value
from kgen.plan.domain import Range

Interval = tuple[int, int]


def largest(expr: Expr, values: Mapping[str, Value], ranges: Mapping[str, Range]) -> int | None:
    """An integer that `expr` never exceeds, or None where this module knows no rule for it."""
    found = interval(expr, values, ranges)
    return None if found is None else found[1]


def interval(
    expr: Expr, values: Mapping[str, Value], ranges: Mapping[str, Range]
) -> Interval | None:
    """(least, greatest) value of an integer expression, or None where there is no rule for it."""
    match expr:
        case Number(value=int() as value):
            return value, value
        case Name(id=name):
            return _of_name(name, values, ranges)
        case Unary(op="-"):
            inner = interval(expr.operand, values, ranges)
            return inner and (-inner[1], -inner[0])
        case Binary():
            parts = [interval(part, values, ranges) for part in (expr.left, expr.right)]
            return None if None in parts else _binary(expr.op, *parts)
        case Call():
            parts = [interval(part, values, ranges) for part in expr.arguments]
            return _call(expr.function, parts)
    return None


def _of_name(
    name: str, values: Mapping[str, Value], ranges: Mapping[str, Range]
) -> Interval | None:
    if name in ranges:
        low = interval(ranges[name].low, values, ranges)
        high = interval(ranges[name].high, values, ranges)
        return None if low is None or high is None else (low[0], high[1])
    value = values.get(name)
    return (value, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _binary(op: str, left: Interval, right: Interval) -> Interval | None:
    if op == "+":
        return left[0] + right[0], left[1] + right[1]
    if op == "-":
        return left[0] - right[1], left[1] - right[0]
    if op == "*":
        corners = [a * b for a in left for b in right]
        return min(corners), max(corners)
    if op == "//" and right[0] >= 1:
        corners = [a // b for a in left for b in right]
        return min(corners), max(corners)
    if op == "%" and right[0] >= 1:
        return 0, right[1] - 1
    return None


def _call(function: str, parts: list[Interval | None]) -> Interval | None:
    if function == "min" and any(parts):
        # the least of them is at most each of those that are known
        known = [part for part in parts if part]
        low = min(part[0] for part in known) if None not in parts else None
        return None if low is None else (low, min(part[1] for part in known))
    if None in parts:
        return None
    if function == "max":
        return max(part[0] for part in parts), max(part[1] for part in parts)
    if function == "clamp":
        (_, _), low, high = parts
        return min(low[0], high[0]), high[1]
    if function == "ceil_div" and parts[1][0] >= 1:
        corners = [-(-a // b) for a in parts[0] for b in parts[1]]
        return min(corners), max(corners)
    if function == "next_pow2":
        return next_pow2(parts[0][0]), next_pow2(parts[0][1])
    return None
