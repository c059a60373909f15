"""Expressions that the host analysis builds: closed, over names such as `q.shape[0]` and `q.dtype`.

They are kgen's own expression trees, so that the one proof engine decides what follows from what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kgen.expr import (
    Binary,
    Compare,
    Expr,
    Logic,
    Name,
    Number,
    Nothing,
    Span,
    Truth,
    Unary,
    Value,
    fold,
    is_literal,
    literal,
)
from kgen.expr.substitute import negated
from kgen.expr.substitute import tidy as without_units

NOWHERE = Span(0, 0)
"""The span of what stands in no expression's text."""

TRUE = Truth(True, NOWHERE)
FALSE = Truth(False, NOWHERE)
NONE = Nothing(NOWHERE)

_REFLEXIVE = {"==": TRUE, "<=": TRUE, ">=": TRUE, "!=": FALSE, "<": FALSE, ">": FALSE}


def value_of(expr: Expr) -> Value:
    """The value of a literal."""
    return None if isinstance(expr, Nothing) else expr.value


def number(value: Value) -> Expr:
    """A literal."""
    return literal(value, NOWHERE)


def name(text: str) -> Name:
    """A name that stands for itself."""
    return Name(text, NOWHERE)


def shape_name(tensor: str, dim: int) -> Name:
    """The extent of a dimension."""
    return name(f"{tensor}.shape[{dim}]")


def stride_name(tensor: str, dim: int) -> Name:
    """The stride of a dimension, in elements."""
    return name(f"{tensor}.stride({dim})")


def rank_name(tensor: str) -> Name:
    """The number of dimensions."""
    return name(f"{tensor}.dim()")


def binary(op: str, left: Expr, right: Expr) -> Expr:
    """An arithmetic operation, computed where both operands are literals."""
    return without_units(fold(Binary(op, left, right, NOWHERE), {}))


def exact(op: str, left: Expr, right: Expr) -> bool:
    """Whether an operation on values that are not known gives what it gives on numbers: floats are rounded."""
    if is_literal(left) and is_literal(right):
        return True  # computed as Python does
    power = op == "**" and not (isinstance(right, Number) and right.value >= 0)
    return op != "/" and not power and not is_float(left) and not is_float(right)


def is_float(expr: Expr) -> bool:
    """Whether it is a literal with a point."""
    return isinstance(expr, Number) and isinstance(expr.value, float)


def compare(op: str, left: Expr, right: Expr) -> Expr:
    """A comparison, decided where both sides are the same or literals."""
    if left == right:
        return _REFLEXIVE[op]
    return fold(Compare(op, left, right, NOWHERE), {})


def equal(left: Expr, right: Expr) -> Expr:
    """`left == right`."""
    return compare("==", left, right)


def all_of(conditions: Iterable[Expr]) -> Expr:
    """Their conjunction; literals are taken out."""
    return _joined("and", conditions)


def any_of(conditions: Iterable[Expr]) -> Expr:
    """Their disjunction; literals are taken out."""
    return _joined("or", conditions)


def _joined(op: str, conditions: Iterable[Expr]) -> Expr:
    deciding = op == "or"
    parts: list[Expr] = []
    for condition in conditions:
        if condition == Truth(deciding, NOWHERE):
            return condition
        if isinstance(condition, Logic) and condition.op == op:
            parts += condition.operands
        elif not isinstance(condition, Truth):
            parts.append(condition)
    if len(parts) < 2:
        return parts[0] if parts else Truth(not deciding, NOWHERE)
    return Logic(op, tuple(parts), NOWHERE)


def negation(condition: Expr) -> Expr:
    """The opposite, with `not` moved down to the comparisons."""
    match condition:
        case Truth(value):
            return Truth(not value, NOWHERE)
        case Logic("and", operands):
            return any_of(map(negation, operands))
        case Logic("or", operands):
            return all_of(map(negation, operands))
    return negated(condition)


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The conditions whose conjunction `condition` is, none where it is true."""
    if isinstance(condition, Logic) and condition.op == "and":
        for operand in condition.operands:
            yield from conjuncts(operand)
    elif condition != TRUE:
        yield condition


def is_condition(expr: Expr) -> bool:
    """Whether `expr` is true or false rather than a number, a dtype or none."""
    match expr:
        case Truth() | Compare() | Logic() | Unary("not"):
            return True
    return getattr(expr, "function", "") == "is_pow2"


def truth(expr: Expr) -> Expr:
    """What `if expr` asks: a number counts as true unless it is 0, and none is false."""
    if is_condition(expr):
        return expr
    if is_literal(expr):
        return Truth(bool(value_of(expr)), NOWHERE)
    is_argument = isinstance(expr, Name) and expr.id.isidentifier()
    present = compare("!=", expr, NONE) if is_argument else TRUE
    return all_of((present, compare("!=", expr, number(0))))


def tidied(expr: Expr, known: dict[str, Value] | None = None) -> Expr:
    """`expr` with the names in `known` replaced, literals computed, and conditions simplified."""
    return _tidy(without_units(fold(expr, known or {})))


def _tidy(expr: Expr) -> Expr:
    match expr:
        case Logic(op, operands):
            return _joined(op, map(_tidy, operands))
        case Unary("not", operand):
            return negation(_tidy(operand))
        case Compare(op, left, right):
            return compare(op, left, right)
    return replace(expr, span=NOWHERE)


def settled(condition: Expr, absent: Iterable[str]) -> Expr:
    """`condition` where the names in `absent` are none, and no other name is."""
    return _present(tidied(condition, dict.fromkeys(absent)))


def _present(expr: Expr) -> Expr:
    match expr:
        case Compare("==", Name(), Nothing()):
            return FALSE
        case Compare("!=", Name(), Nothing()):
            return TRUE
        case Logic(op, operands):
            return _joined(op, map(_present, operands))
        case Unary("not", operand):
            return negation(_present(operand))
    return expr


def product(factors: Iterable[Expr]) -> Expr:
    """Their product, 1 where there are none."""
    result: Expr = number(1)
    for factor in factors:
        result = factor if result == number(1) else binary("*", result, factor)
    return result
