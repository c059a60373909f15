"""Trees to values, wholly (`evaluate`) or as far as the names are known (`fold`).

Arithmetic is that of 64-bit integers and doubles, checked: whatever leaves that range, divides by
zero or puts `none` or a truth value into arithmetic is an EvalError and never a wrong number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from kgen.expr.errors import EvalError
from kgen.expr.functions import SIZE_FUNCTIONS
from kgen.expr.lexer import LARGEST
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
)

Value = int | float | bool | None

_ARITHMETIC: Mapping[str, Callable] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}

_ORDER: Mapping[str, Callable] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expr: Expr, env: Mapping[str, Value]) -> Value:
    """The value of `expr` where each name has its value in `env` (None is `none`).

    `//` and `%` floor, as in Python, and take integers only; `/` gives a real; `and` and `or` stop
    at the operand that decides. Raises EvalError, with the span at fault, where there is no value.
    """
    return _EVALUATORS[type(expr)](expr, env)


def fold(expr: Expr, env: Mapping[str, Value]) -> Expr:
    """`expr` with the names in `env` replaced and whatever that makes constant computed.

    Wherever `expr` has a value, the result has the same. A part without a value, such as a division
    by zero, stays as it is. An operand that decides an `and` or `or` stands for the whole.
    """
    match expr:
        case Number() | Nothing() | Truth():
            return expr
        case Name():
            return literal(env[expr.id], expr.span) if expr.id in env else expr
        case Logic():
            return _fold_logic(expr, env)
        case Unary():
            folded: Expr = Unary(expr.op, fold(expr.operand, env), expr.span)
            known = is_literal(folded.operand)
        case Binary() | Compare():
            folded = type(expr)(expr.op, fold(expr.left, env), fold(expr.right, env), expr.span)
            known = is_literal(folded.left) and is_literal(folded.right)
        case Call():
            arguments = tuple(fold(part, env) for part in expr.arguments)
            folded = Call(expr.function, arguments, expr.span)
            known = all(map(is_literal, folded.arguments))
    if not known:
        return folded
    try:
        return literal(evaluate(folded, {}), expr.span)
    except EvalError:
        return folded


def literal(value: Value, span: Span) -> Expr:
    """The node that stands for `value`."""
    if value is None:
        return Nothing(span)
    return Truth(value, span) if isinstance(value, bool) else Number(value, span)


def is_literal(expr: Expr) -> bool:
    """Whether `expr` is a value as it stands."""
    return isinstance(expr, (Number, Nothing, Truth))


def _fold_logic(expr: Logic, env: Mapping[str, Value]) -> Expr:
    deciding = expr.op == "or"
    operands = []
    for operand in (fold(part, env) for part in expr.operands):
        if isinstance(operand, Truth):
            if operand.value is deciding:
                return Truth(deciding, expr.span)
            continue
        operands.append(operand)
    if not operands:
        return Truth(not deciding, expr.span)
    return operands[0] if len(operands) == 1 else Logic(expr.op, tuple(operands), expr.span)


def _constant(expr: Number | Truth, env: Mapping[str, Value]) -> Value:
    return expr.value


def _nothing(expr: Nothing, env: Mapping[str, Value]) -> None:
    return None


def _name(expr: Name, env: Mapping[str, Value]) -> Value:
    if expr.id not in env:
        raise EvalError(f"`{expr.id}` has no value here", expr.span)
    value = env[expr.id]
    if value is not None and not isinstance(value, (int, float)):
        raise EvalError(f"`{expr.id}` is {value!r}, which is no number", expr.span)
    return value


def _unary(expr: Unary, env: Mapping[str, Value]) -> Value:
    if expr.op == "not":
        return not _truth(expr.operand, env)
    return _checked(-_number(expr.operand, env), expr.span)


def _binary(expr: Binary, env: Mapping[str, Value]) -> int | float:
    left, right = _number(expr.left, env), _number(expr.right, env)
    if expr.op == "**":
        return _power(left, right, expr.span)
    if expr.op in ("/", "//", "%") and right == 0:
        raise EvalError("division by zero", expr.span)
    if expr.op in ("//", "%") and not (isinstance(left, int) and isinstance(right, int)):
        raise EvalError(
            f"`{expr.op}` takes integers; one of {left} and {right} is a real", expr.span
        )
    return _checked(_ARITHMETIC[expr.op](left, right), expr.span)


def _power(base: int | float, exponent: int | float, span: Span) -> int | float:
    """base ** exponent, refused before it is computed where an integer power cannot fit."""
    integers = isinstance(base, int) and isinstance(exponent, int)
    if integers and exponent < 0:
        raise EvalError(
            f"{base} ** {exponent} is no integer",
            span,
            f"for a real, write {float(base)} ** {exponent}",
        )
    if integers and abs(base) > 1 and exponent > 64:
        raise _too_large(span)
    try:
        power = base**exponent
    except ZeroDivisionError:
        raise EvalError(f"{base} ** {exponent} divides by zero", span) from None
    except OverflowError:
        raise _too_large(span) from None
    if isinstance(power, complex):
        raise EvalError(f"{base} ** {exponent} is no real number", span)
    return _checked(power, span)


def _compare(expr: Compare, env: Mapping[str, Value]) -> bool:
    if expr.op in _ORDER:
        return _ORDER[expr.op](_number(expr.left, env), _number(expr.right, env))
    left, right = evaluate(expr.left, env), evaluate(expr.right, env)
    if None not in (left, right) and isinstance(left, bool) is not isinstance(right, bool):
        raise EvalError("a truth value and a number are compared", expr.span)
    return (left == right) is (expr.op == "==")


def _logic(expr: Logic, env: Mapping[str, Value]) -> bool:
    deciding = expr.op == "or"
    for operand in expr.operands:
        if _truth(operand, env) is deciding:
            return deciding
    return not deciding


def _call(expr: Call, env: Mapping[str, Value]) -> int | float | bool:
    function = SIZE_FUNCTIONS.get(expr.function)
    if function is None:
        raise EvalError(f"`{expr.function}` has a value for a row of a tensor only", expr.span)
    arguments = [_number(argument, env) for argument in expr.arguments]
    if function.takes == "int" and any(isinstance(argument, float) for argument in arguments):
        raise EvalError(f"`{expr.function}` takes integers", expr.span)
    try:
        return _checked(function.implementation(*arguments), expr.span)
    except ZeroDivisionError:
        raise EvalError(f"`{expr.function}` divides by zero", expr.span) from None
    except ValueError:
        shown = ", ".join(map(str, arguments))
        raise EvalError(f"{expr.function}({shown}) has no value", expr.span) from None


def _number(expr: Expr, env: Mapping[str, Value]) -> int | float:
    value = evaluate(expr, env)
    if value is None:
        raise EvalError(
            "expected a number, found `none`", expr.span, "test for it before: `X != none and ...`"
        )
    if isinstance(value, bool):
        raise EvalError("expected a number, found a truth value", expr.span)
    return value


def _truth(expr: Expr, env: Mapping[str, Value]) -> bool:
    value = evaluate(expr, env)
    if not isinstance(value, bool):
        raise EvalError("expected a condition, found a number or `none`", expr.span)
    return value


def _checked(value: int | float | bool, span: Span) -> int | float | bool:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _too_large(span)
    elif not -LARGEST <= value <= LARGEST:
        raise _too_large(span)
    return value


def _too_large(span: Span) -> EvalError:
    return EvalError("the value does not fit in 64 bits", span)


_EVALUATORS: Mapping[type, Callable] = {
    Number: _constant,
    Truth: _constant,
    Nothing: _nothing,
    Name: _name,
    Unary: _unary,
    Binary: _binary,
    Compare: _compare,
    Logic: _logic,
    Call: _call,
}
