"""Integer arithmetic at its true width, lane by lane.

Exact results are computed first and then reduced; a lane where that changed the number has wrapped,
is recorded, and carries the wrap on. Division truncates towards zero and its remainder has the
dividend's sign, as in C. Lanes that are opaque never count as wrapped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from kgen.prove.replay.dtypes import BOOL, INT64, IntType, ScalarType
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.trace import CAST, Recorder
from kgen.prove.replay.values import (
    ALL,
    Taint,
    Value,
    broadcast,
    integer,
    join_opaque,
    join_taint,
    unknown,
)

_RING: dict[str, Callable] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_BITS: dict[str, Callable] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}


def compute(recorder: Recorder, symbol: str, a: Value, b: Value, type: IntType) -> Value:
    """`a symbol b` for two values of the same integer type, which is the result's too."""
    if symbol in _BITS:
        return _bitwise(symbol, a, b, type)
    if type is BOOL:
        raise Unsupported(f"{symbol} of two bools: use & and |, or cast them to an integer first")
    if join_opaque(a, b) is ALL:
        return unknown(type, broadcast(a.shape, b.shape))
    if symbol in _RING:
        return _ring(recorder, symbol, a, b, type)
    if symbol in ("//", "%"):
        return _divide(recorder, symbol, a, b, type)
    if symbol in ("<<", ">>"):
        return _shift(recorder, symbol, a, b, type)
    raise Unsupported(f"{symbol} of integers is not known here")


def select(symbol: str, a: Value, b: Value, type: IntType) -> Value:
    """The smaller ("min") or larger ("max") of each lane."""
    chosen = (np.minimum if symbol == "min" else np.maximum)(a.data, b.data)
    return Value(type, chosen, join_opaque(a, b), join_taint(a, b))


def resize(recorder: Recorder, value: Value, type: IntType) -> Value:
    """The value cast to another integer type: any number is kept that fits, others wrap."""
    if type is BOOL:
        return Value(BOOL, value.data != 0, value.opaque, value.taint)
    if value.is_unknown:
        return unknown(type, value.shape)
    exact = value.data.astype(np.int64, copy=False)
    source = value.type
    if isinstance(source, IntType) and type.low <= source.low and source.high <= type.high:
        return Value(type, exact, value.opaque, value.taint)
    return _reduced(recorder, f"{CAST}{type.name}", exact, (value,), type)


def reinterpret(value: Value, type: IntType) -> Value:
    """The same bits as another integer type of the same width."""
    exact = value.data.astype(object)
    span = 1 << type.bits
    data = np.asarray((exact - type.low) % span + type.low, dtype=object)
    _check_held(data, type)
    return Value(type, data.astype(np.int64), value.opaque, value.taint)


def fold(recorder: Recorder, value: Value, axis: int | None, symbol: str) -> Value:
    """The sum ("+") of the lanes along `axis`, or of all, or their bits combined ("|", "^")."""
    type = value.type
    if value.is_unknown:
        return unknown(type, np.sum(value.data, axis=axis).shape)
    spread = np.broadcast_to(value.opaque, value.shape) if value.opaque is not None else None
    opaque = None if spread is None else spread.any(axis=axis)
    taint = value.taint
    if taint is not None:
        taint = Taint(np.broadcast_to(taint.lanes, value.shape).any(axis=axis), taint.wraps)
    if symbol != "+":
        kernel = {"|": np.bitwise_or, "^": np.bitwise_xor}[symbol]
        return Value(type, np.asarray(kernel.reduce(value.data, axis=axis)), opaque, taint)
    known = value.data if spread is None else np.where(spread, 0, value.data)
    exact = np.asarray(known.astype(object).sum(axis=axis), dtype=object)
    shell = Value(type, np.zeros(exact.shape, np.int64), opaque, taint)
    return _reduced(recorder, "sum", exact, (shell,), type)


def negate_bits(value: Value) -> Value:
    """`~value`."""
    type = value.type
    if type is BOOL:
        return Value(BOOL, ~value.data, value.opaque, value.taint)
    data = ~value.data if type.signed else type.high - value.data
    return Value(type, data, value.opaque, value.taint)


def absolute(recorder: Recorder, value: Value) -> Value:
    """The magnitude; that of the lowest number wraps."""
    type = value.type
    if not type.signed:
        return value
    zero = integer(type, np.zeros((), np.int64))
    return select("max", value, compute(recorder, "-", zero, value, type), type)


def _ring(recorder: Recorder, symbol: str, a: Value, b: Value, type: IntType) -> Value:
    x, y = a.data, b.data
    narrow = type.bits <= 32 and (type.signed or symbol != "*")
    if not narrow and not _stays_in_64_bits(symbol, x, y):
        x, y = x.astype(object), y.astype(object)
    return _reduced(recorder, symbol, _RING[symbol](x, y), (a, b), type)


def _reduced(
    recorder: Recorder, name: str, exact: np.ndarray, operands: tuple[Value, ...], type: IntType
) -> Value:
    """The exact result reduced to the type, with whatever wrapped recorded."""
    exact = np.asarray(exact)
    opaque, taint = join_opaque(*operands), join_taint(*operands)
    if not exact.size or (exact.min() >= type.low and exact.max() <= type.high):
        return Value(type, exact.astype(np.int64, copy=False), opaque, taint)
    lanes = np.asarray((exact < type.low) | (exact > type.high), dtype=bool)
    data = (exact.astype(object) - type.low) % (1 << type.bits) + type.low
    if opaque is not None:
        lanes = lanes & ~opaque
        data = np.where(opaque, 0, data)
    _check_held(data, type)
    data = np.asarray(data).astype(np.int64)
    return Value(type, data, opaque, _tainted(recorder, name, exact, operands, type, lanes, taint))


def _tainted(
    recorder: Recorder,
    name: str,
    exact: np.ndarray | None,
    operands: tuple[Value, ...],
    type: IntType,
    lanes: np.ndarray,
    taint: Taint | None,
) -> Taint | None:
    """The taint joined with the wraps of these lanes; the first of them is recorded."""
    if not lanes.any():
        return taint
    where = np.unravel_index(int(np.argmax(lanes)), lanes.shape)
    shown = [int(np.broadcast_to(value.data, lanes.shape)[where]) for value in operands]
    result = None if exact is None else int(np.broadcast_to(exact, lanes.shape)[where])
    right = shown[1] if len(shown) > 1 else None
    wrap = recorder.wrap(name, shown[0], right, type.name, result)
    wraps = frozenset([wrap])
    if taint is None:
        return Taint(lanes, wraps)
    return Taint(taint.lanes | lanes, taint.wraps | wraps)


def _divide(recorder: Recorder, symbol: str, a: Value, b: Value, type: IntType) -> Value:
    x, y = np.broadcast_arrays(a.data, b.data)
    opaque, taint = join_opaque(a, b), join_taint(a, b)
    zero = y == 0
    if zero.any():
        lanes = zero if opaque is None else zero & ~opaque
        taint = _tainted(recorder, symbol, None, (a, b), type, lanes, taint)
        # any number may come out: the lane carries a 0 on, and what is wrong with it
        x, y = np.where(zero, 0, x), np.where(zero, 1, y)
    if x.size and x.min() >= 0 and y.min() > 0:
        return Value(type, x // y if symbol == "//" else x % y, opaque, taint)
    exact_x, exact_y = x.astype(object), y.astype(object)
    quotient = abs(exact_x) // abs(exact_y) * np.where((x < 0) != (y < 0), -1, 1)
    shell = (Value(type, x, opaque, taint), Value(type, y))
    if symbol == "//":
        return _reduced(recorder, "//", quotient, shell, type)
    remainder = np.asarray(exact_x - quotient * exact_y, dtype=object)
    return Value(type, remainder.astype(np.int64), opaque, taint)


def _shift(recorder: Recorder, symbol: str, a: Value, b: Value, type: IntType) -> Value:
    x, y = np.broadcast_arrays(a.data, b.data)
    wild = (y < 0) | (y >= type.bits)
    opaque = join_opaque(a, b)
    if wild.any():
        opaque = wild if opaque is None else opaque | wild
        y = np.where(wild, 0, y)
    if symbol == ">>":
        return Value(type, x >> y, opaque, join_taint(a, b))
    exact = x.astype(object) << y.astype(object)
    shell = (Value(type, x, opaque, a.taint), Value(type, y, None, b.taint))
    return _reduced(recorder, "<<", np.asarray(exact, dtype=object), shell, type)


def _bitwise(symbol: str, a: Value, b: Value, type: IntType) -> Value:
    data = _BITS[symbol](a.data, b.data)
    opaque, taint = join_opaque(a, b), join_taint(a, b)
    if type is BOOL and symbol != "^" and (opaque is not None or taint is not None):
        settled = _settles(symbol, a) | _settles(symbol, b)
        if opaque is not None:
            opaque = np.broadcast_to(opaque, data.shape) & ~settled
            data = np.where(settled, symbol == "|", data)
        if taint is not None:
            taint = Taint(taint.lanes & ~settled, taint.wraps)
    elif opaque is ALL:
        return unknown(type, data.shape)
    return Value(type, data, opaque, taint)


def _settles(symbol: str, value: Value) -> np.ndarray:
    """Lanes where this operand alone decides: a known False for &, a known True for |."""
    lanes = value.data if symbol == "|" else ~value.data
    if value.opaque is not None:
        lanes = lanes & ~value.opaque
    if value.taint is not None:
        lanes = lanes & ~value.taint.lanes
    return lanes


def _stays_in_64_bits(symbol: str, x: np.ndarray, y: np.ndarray) -> bool:
    """Whether numpy's int64 holds the exact result, by the extremes of both operands."""
    if not x.size or not y.size:
        return True
    a, b = (int(x.min()), int(x.max())), (int(y.min()), int(y.max()))
    corners = [_RING[symbol](i, j) for i in a for j in b]
    return INT64.low <= min(corners) and max(corners) <= INT64.high


def _check_held(data: np.ndarray, type: ScalarType) -> None:
    """Unsigned numbers from 2**63 on have no place in the int64 that holds them here."""
    if (
        isinstance(type, IntType)
        and type.high > INT64.high
        and data.size
        and data.max() > INT64.high
    ):
        raise Unsupported(f"a {type.name} of {data.max()}: numbers from 2**63 on are not modelled")
