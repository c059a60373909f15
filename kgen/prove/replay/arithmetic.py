"""Operators of the kernel language on numbers, scalars and blocks: types are combined, then lanes
are computed.

Two Python numbers (`tl.constexpr`) combine as in Python. Float results are known where both
operands are and numpy computes in the result's type; otherwise they are opaque.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from kgen.prove.replay import integers
from kgen.prove.replay.dtypes import (
    BOOL,
    FLOAT32,
    INT64,
    ElementType,
    FloatType,
    IntType,
    PointerTo,
    PointerType,
    ScalarType,
    promote,
    promote_number,
    type_of_number,
)
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.trace import Recorder
from kgen.prove.replay.values import (
    ALL,
    Taint,
    Value,
    broadcast,
    constant,
    is_pointer,
    join_opaque,
    join_taint,
    storage,
    unknown,
)

Number = bool | int | float
Operand = Value | Number

PYTHON: dict[str, Callable] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_FLOAT: dict[str, Callable] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "min": np.fmin,
    "max": np.fmax,
}


def lift(operand: Operand) -> Value:
    """A Python number as a scalar of the type that it has alone; a value as it is."""
    if isinstance(operand, Value):
        return operand
    if isinstance(operand, (bool, int, float)):
        return constant(type_of_number(operand), operand)
    raise Unsupported(f"{operand!r} is no number and no block")


def binary(recorder: Recorder, symbol: str, a: Operand, b: Operand) -> Operand:
    """`a symbol b`, where `symbol` is Python's, or "min" or "max"."""
    if not isinstance(a, Value) and not isinstance(b, Value) and symbol in PYTHON:
        return _of_numbers(symbol, a, b)
    if is_pointer(a) or is_pointer(b):
        return _of_pointers(recorder, symbol, a, b)
    divides = symbol in ("/", "//", "%")
    type = common_type(a, b, divides=divides)
    if symbol == "/" and isinstance(type, IntType):
        type = FLOAT32
    x, y = cast(recorder, a, type), cast(recorder, b, type)
    if x.shape and y.shape and x.shape != y.shape:
        broadcast(x.shape, y.shape)
    if symbol in COMPARISONS:
        return _compare(symbol, x, y)
    if isinstance(type, FloatType):
        return _of_floats(symbol, x, y, type)
    if symbol in ("min", "max"):
        return integers.select(symbol, x, y, type)
    return integers.compute(recorder, symbol, x, y, type)


def common_type(a: Operand, b: Operand, *, divides: bool = False) -> ScalarType:
    """The type in which an operation on these is done."""
    if isinstance(a, Value) and isinstance(b, Value):
        return promote(a.type, b.type, divides=divides)
    if isinstance(a, Value):
        return promote_number(b, a.type, divides=divides)
    if isinstance(b, Value):
        return promote_number(a, b.type, divides=divides)
    return promote(type_of_number(a), type_of_number(b), divides=divides)


def cast(recorder: Recorder, operand: Operand, type: ElementType | PointerTo) -> Value:
    """The operand converted: a smaller integer may wrap, a float becomes whole towards zero."""
    if not isinstance(operand, Value) and not isinstance(type, PointerTo):
        return (
            constant(type, operand)
            if _holds(type, operand)
            else cast(recorder, lift(operand), type)
        )
    value = lift(operand)
    if value.type == type:
        return value
    if isinstance(value.type, PointerType) or isinstance(type, (PointerType, PointerTo)):
        return _cast_pointer(value, type)
    if isinstance(type, IntType):
        if isinstance(value.type, IntType):
            return integers.resize(recorder, value, type)
        return _truncate(value, type)
    if value.is_unknown or not type.computed:
        return unknown(type, value.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return Value(type, value.data.astype(storage(type)), value.opaque, value.taint)


def bitcast(value: Value, type: ElementType | PointerTo) -> Value:
    """The same bits read as another type of the same width."""
    if value.type == type:
        return value
    if isinstance(value.type, PointerType) or isinstance(type, (PointerType, PointerTo)):
        return _cast_pointer(value, type)
    if value.type.bits != type.bits:
        raise Unsupported(f"a bitcast from {value.type.name} to {type.name} changes the width")
    floats = [kind for kind in (value.type, type) if isinstance(kind, FloatType)]
    if value.is_unknown or any(not kind.computed for kind in floats):
        return unknown(type, value.shape)
    if not floats:
        return integers.reinterpret(value, type)
    if isinstance(type, FloatType):
        narrow = value.data.astype(np.int64).astype(f"<i{type.size}")
        data = narrow.view(storage(type))
    else:
        bits = np.ascontiguousarray(value.data).view(f"<{'i' if type.signed else 'u'}{type.size}")
        data = bits.reshape(value.shape).astype(np.int64)
    return Value(type, data, value.opaque, value.taint)


def where(recorder: Recorder, condition: Operand, a: Operand, b: Operand) -> Value:
    """`a` where the condition holds, else `b`. Where it is opaque, so is the result."""
    choice = cast(recorder, condition, BOOL)
    if is_pointer(a) or is_pointer(b):
        x, y = lift(a), lift(b)
        if x.type != y.type:
            raise Unsupported(f"tl.where between {x.type.name} and {y.type.name}")
    else:
        type = common_type(a, b)
        x, y = cast(recorder, a, type), cast(recorder, b, type)
    shape = broadcast(choice.shape, x.shape, y.shape)
    if choice.is_unknown or (x.is_unknown and y.is_unknown):
        return unknown(x.type, shape)
    data = np.where(choice.data, x.data, y.data).astype(storage(x.type), copy=False)
    return Value(x.type, data, _chosen_opaque(choice, x, y), _chosen_taint(choice, x, y))


def negate(recorder: Recorder, operand: Operand) -> Operand:
    """`-operand`."""
    if not isinstance(operand, Value):
        return -operand
    if isinstance(operand.type, FloatType):
        return Value(operand.type, -operand.data, operand.opaque, operand.taint)
    return binary(recorder, "-", constant(operand.type, 0), operand)


def _of_numbers(symbol: str, a: Number, b: Number) -> Number:
    try:
        return PYTHON[symbol](a, b)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise Unsupported(f"{a!r} {symbol} {b!r}: {error}") from None


def _of_floats(symbol: str, x: Value, y: Value, type: FloatType) -> Value:
    if symbol not in _FLOAT:
        raise Unsupported(f"{symbol} of floats: Triton has no such operation")
    if x.is_unknown or y.is_unknown or not type.computed:
        return unknown(type, broadcast(x.shape, y.shape))
    with np.errstate(all="ignore"):
        data = np.asarray(_FLOAT[symbol](x.data, y.data)).astype(storage(type), copy=False)
    return Value(type, data, join_opaque(x, y), join_taint(x, y))


def _compare(symbol: str, x: Value, y: Value) -> Value:
    opaque = join_opaque(x, y)
    if opaque is ALL:
        return unknown(BOOL, broadcast(x.shape, y.shape))
    with np.errstate(invalid="ignore"):
        data = np.asarray(PYTHON[symbol](x.data, y.data))
    return Value(BOOL, data, opaque, join_taint(x, y))


def _of_pointers(recorder: Recorder, symbol: str, a: Operand, b: Operand) -> Value:
    if symbol == "+" and not is_pointer(a):
        a, b = b, a
    if symbol not in ("+", "-") or is_pointer(b) or not is_pointer(a):
        raise Unsupported(
            f"{symbol} with a pointer: only a pointer plus or minus integers is known"
        )
    offset = lift(b)
    if not isinstance(offset.type, IntType):
        raise Unsupported(f"a pointer {symbol} {offset.type.name}: Triton refuses this")
    broadcast(a.shape, offset.shape)
    moved = integers.compute(
        recorder,
        symbol,
        Value(INT64, a.data, a.opaque, a.taint),
        Value(INT64, offset.data.astype(np.int64, copy=False), offset.opaque, offset.taint),
        INT64,
    )
    return Value(a.type, moved.data, moved.opaque, moved.taint)


def _cast_pointer(value: Value, type: ElementType | PointerTo) -> Value:
    """Only a pointer becomes a pointer; its offset is counted in the new element from then on."""
    if not isinstance(value.type, PointerType) or not isinstance(type, PointerTo):
        name = f"a pointer to {type.element.name}" if isinstance(type, PointerTo) else type.name
        raise Unsupported(f"a cast from {value.type.name} to {name}: addresses are symbolic here")
    old, new = value.type.element.size, type.element.size
    if (value.data * old % new).any():
        raise Unsupported(
            f"a pointer that is no multiple of {new} bytes is cast to {type.element.name}"
        )
    kind = PointerType(value.type.tensor, type.element)
    return Value(kind, value.data * old // new, value.opaque, value.taint)


def _truncate(value: Value, type: IntType) -> Value:
    if value.is_unknown:
        return unknown(type, value.shape)
    if type is BOOL:
        return Value(BOOL, value.data != 0, value.opaque, value.taint)
    whole = np.trunc(value.data.astype(np.float64))
    wild = ~((whole >= type.low) & (whole <= min(type.high, 2**62)))
    opaque = value.opaque
    if wild.any():
        opaque = wild if opaque is None else opaque | wild
        whole = np.where(wild, 0, whole)
    return Value(type, whole.astype(np.int64), opaque, value.taint)


def _holds(type: ElementType, number: Number) -> bool:
    """Whether the number is one of the type as it stands, so that no conversion takes place."""
    if isinstance(type, IntType):
        return not isinstance(number, float) and type.low <= number <= type.high
    return isinstance(type, FloatType)


def _chosen_opaque(choice: Value, x: Value, y: Value) -> np.ndarray | None:
    if choice.opaque is None and x.opaque is None and y.opaque is None:
        return None
    nothing = np.zeros((), dtype=bool)
    left = nothing if x.opaque is None else x.opaque
    right = nothing if y.opaque is None else y.opaque
    return np.where(choice.data, left, right) | (
        nothing if choice.opaque is None else choice.opaque
    )


def _chosen_taint(choice: Value, x: Value, y: Value) -> Taint | None:
    joined = join_taint(choice, x, y)
    if joined is None:
        return None
    nothing = np.zeros((), dtype=bool)
    left, right, own = (nothing if v.taint is None else v.taint.lanes for v in (x, y, choice))
    return Taint(np.where(choice.data, left, right) | own, joined.wraps)
