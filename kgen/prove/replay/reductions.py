"""Functions that combine lanes: `tl.sum`, `tl.argmax`, `tl.cumsum`, `tl.sort`, `tl.dot` ..."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.prove.replay import integers
from kgen.prove.replay.arithmetic import Operand, cast
from kgen.prove.replay.dtypes import (
    BFLOAT16,
    FLOAT32,
    INT32,
    UINT32,
    FloatType,
    IntType,
    ScalarType,
)
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.shaping import stacked
from kgen.prove.replay.values import Taint, Value, join_taint, rearrange, storage, unknown, widen


def sum_of(
    machine: Machine,
    input: Value,
    axis: int | None = None,
    keep_dims: bool = False,
    dtype: ScalarType | None = None,
) -> Value:
    """The sum; integers narrower than 32 bits are widened first."""
    value = cast(machine.recorder, input, dtype or _sum_type(input.type))
    if isinstance(value.type, IntType):
        return _kept(
            integers.fold(machine.recorder, value, _axis(value, axis), "+"), value, axis, keep_dims
        )
    return _kept(_folded(value, axis, np.sum), value, axis, keep_dims)


def bits_of(symbol: str) -> Callable[..., Value]:
    """The reduction by an operation on bits."""

    def reduction(
        machine: Machine, input: Value, axis: int | None = None, keep_dims: bool = False
    ) -> Value:
        if not isinstance(input.type, IntType):
            raise Unsupported(f"a reduction by {symbol} of {input.type.name}")
        folded = integers.fold(machine.recorder, input, _axis(input, axis), symbol)
        return _kept(folded, input, axis, keep_dims)

    return reduction


def extreme(largest: bool) -> Callable[..., Value | tuple[Value, Value]]:
    """The largest or smallest lane, and with `return_indices` its index too."""

    def reduction(
        machine: Machine,
        input: Value,
        axis: int | None = None,
        return_indices: bool = False,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Value | tuple[Value, Value]:
        # bfloat16 and narrow integers are compared as 32 bits
        wide: ScalarType = input.type
        if isinstance(wide, IntType) and wide.bits < 32:
            wide = INT32 if wide.signed else UINT32
        elif wide == BFLOAT16:
            wide = FLOAT32
        value = cast(machine.recorder, input, wide)
        combine = np.max if largest else np.min
        found = _kept(_folded(value, axis, combine), value, axis, keep_dims)
        if not return_indices:
            return found
        return found, index_of(largest)(
            machine, input, axis, return_indices_tie_break_left, keep_dims
        )

    return reduction


def index_of(largest: bool) -> Callable[..., Value]:
    """The index of the largest or smallest lane, the first of equals.

    Which of equals is chosen is defined with `tie_break_left` only; without it the index is opaque.
    """

    def reduction(
        machine: Machine,
        input: Value,
        axis: int,
        tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Value:
        found = _folded(input, axis, np.argmax if largest else np.argmin, INT32)
        if not tie_break_left:
            found = unknown(INT32, found.shape)
        return _kept(found, input, axis, keep_dims)

    return reduction


def cumulative(kernel: np.ufunc, name: str) -> Callable[..., Value]:
    """A running combination along an axis; of integers only where the end result fits."""

    def scan(
        machine: Machine,
        input: Value,
        axis: int = 0,
        reverse: bool = False,
        dtype: ScalarType | None = None,
    ) -> Value:
        value = cast(machine.recorder, input, dtype or _sum_type(input.type))
        if value.opaque is not None or isinstance(value.type, FloatType):
            return unknown(value.type, value.shape)
        lanes = np.flip(value.data, axis) if reverse else value.data
        exact = kernel.accumulate(lanes.astype(object), axis=axis)
        exact = np.asarray(np.flip(exact, axis) if reverse else exact, dtype=object)
        if exact.size and not value.type.low <= exact.min() <= exact.max() <= value.type.high:
            raise Unsupported(f"a {name} that wraps {value.type.name}")
        taint = value.taint
        if taint is not None:
            taint = Taint(np.ones(value.shape, dtype=bool), taint.wraps)
        return Value(value.type, exact.astype(np.int64), None, taint)

    return scan


def sort(machine: Machine, x: Value, dim: int | None = None, descending: bool = False) -> Value:
    """The lanes of the last dimension in order."""
    if dim is not None and dim not in (-1, len(x.shape) - 1):
        raise Unsupported("tl.sort along another dimension than the last")
    if x.opaque is not None:
        return unknown(x.type, x.shape)
    lanes = np.sort(x.data, axis=-1)
    taint = x.taint and Taint(np.ones(x.shape, dtype=bool), x.taint.wraps)
    return Value(x.type, np.flip(lanes, -1) if descending else lanes, None, taint)


def topk(machine: Machine, x: Value, k: int, dim: int | None = None) -> Value:
    """The `k` largest of the last dimension, in descending order; `k` is a power of two."""
    if k & (k - 1):
        raise Unsupported(f"tl.topk of {k}: not a power of two")
    ordered = sort(machine, x, dim, descending=True)
    if ordered.is_unknown:
        return unknown(x.type, (*x.shape[:-1], k))
    taint = ordered.taint and Taint(ordered.taint.lanes[..., :k], ordered.taint.wraps)
    return Value(x.type, ordered.data[..., :k], None, taint)


def dot(
    machine: Machine,
    input: Value,
    other: Value,
    acc: Operand | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: ScalarType = FLOAT32,
) -> Value:
    """The matrix product. Its numbers are opaque: no address comes out of one."""
    (rows, inner), (outer, columns) = input.shape[-2:], other.shape[-2:]
    if inner != outer or input.shape[:-2] != other.shape[:-2]:
        raise Unsupported(f"tl.dot of blocks of shapes {list(input.shape)} and {list(other.shape)}")
    shape = (*input.shape[:-2], rows, columns)
    if isinstance(acc, Value) and acc.shape != shape:
        raise Unsupported(f"tl.dot of shape {list(shape)} onto an accumulator of {list(acc.shape)}")
    whole = isinstance(input.type, IntType)
    return unknown(INT32 if whole else out_dtype, shape)


def gather(machine: Machine, src: Value, index: Value, axis: int) -> Value:
    """`src` at `index` along an axis; lanes whose index is not within it are opaque."""
    known = np.broadcast_to(False if index.opaque is None else index.opaque, index.shape)
    wild = (index.data < 0) | (index.data >= src.shape[axis]) | known
    if src.is_unknown:
        return unknown(src.type, index.shape)
    place = np.where(wild, 0, index.data)
    data = np.take_along_axis(src.data, place, axis)
    if src.opaque is not None:
        wild = wild | np.take_along_axis(np.broadcast_to(src.opaque, src.shape), place, axis)
    taint = join_taint(src, index)
    if taint is not None:
        taint = Taint(np.ones(index.shape, dtype=bool), taint.wraps)
    return Value(src.type, data, wild if wild.any() else None, taint)


def reduce(
    machine: Machine,
    input: Value | tuple[Value, ...],
    axis: int | None,
    combine_fn: object,
    keep_dims: bool = False,
) -> Value | tuple[Value, ...]:
    """A reduction by a function of the source, lane after lane from the left."""
    inputs = input if isinstance(input, tuple) else (input,)
    found = _lanes(inputs, axis)
    folded = found[0]
    for lane in found[1:]:
        folded = _combined(machine, combine_fn, folded, lane)
    kept = tuple(_kept(each, inputs[0], axis, keep_dims) for each in folded)
    return kept if isinstance(input, tuple) else kept[0]


def associative_scan(
    machine: Machine,
    input: Value | tuple[Value, ...],
    axis: int,
    combine_fn: object,
    reverse: bool = False,
) -> Value | tuple[Value, ...]:
    """A running combination by a function of the source."""
    inputs = input if isinstance(input, tuple) else (input,)
    found = _lanes(inputs, axis)
    if reverse:
        found.reverse()
    steps = [found[0]]
    for lane in found[1:]:
        steps.append(_combined(machine, combine_fn, steps[-1], lane))
    if reverse:
        steps.reverse()
    place = _axis(inputs[0], axis)
    scanned = tuple(stacked(column, place) for column in zip(*steps, strict=True))
    return scanned if isinstance(input, tuple) else scanned[0]


def _lanes(inputs: tuple[Value, ...], axis: int | None) -> list[tuple[Value, ...]]:
    """The slices of all inputs along an axis."""
    if axis is None:
        inputs = tuple(rearrange(each, lambda lanes: lanes.reshape(-1)) for each in inputs)
    place = _axis(inputs[0], 0 if axis is None else axis)

    def at(value: Value, index: int) -> Value:
        return rearrange(value, lambda lanes: lanes.take(index, axis=place))

    return [tuple(at(each, index) for each in inputs) for index in range(inputs[0].shape[place])]


def _combined(
    machine: Machine, combine_fn: object, left: tuple[Value, ...], right: tuple[Value, ...]
) -> tuple[Value, ...]:
    result = machine.invoke(combine_fn, [*left, *right], {})
    return result if isinstance(result, tuple) else (result,)


def _sum_type(type: ScalarType) -> ScalarType:
    if isinstance(type, IntType) and type.bits < 32:
        return INT32 if type.signed else UINT32
    return type


def _axis(value: Value, axis: int | None) -> int | None:
    rank = len(value.shape)
    if axis is None:
        return None
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} of a block of shape {list(value.shape)}")
    return axis % rank


def _folded(
    value: Value, axis: int | None, combine: Callable, type: ScalarType | None = None
) -> Value:
    """A reduction that cannot wrap: its result is one of the lanes, an index, or a float.

    It has the value's type, or `type`.
    """
    axis = _axis(value, axis)
    result = type or value.type
    if not value.shape:
        raise Unsupported("a reduction of a scalar")
    if value.is_unknown or (isinstance(value.type, FloatType) and not value.type.computed):
        kept = [
            extent for dim, extent in enumerate(value.shape) if axis is not None and dim != axis
        ]
        return unknown(result, tuple(kept))
    data = np.asarray(combine(value.data, axis=axis)).astype(storage(result), copy=False)
    opaque, taint = value.opaque, value.taint
    if opaque is not None:
        opaque = widen(opaque, value.shape).any(axis=axis)
    if taint is not None:
        taint = Taint(widen(taint.lanes, value.shape).any(axis=axis), taint.wraps)
    return Value(result, data, opaque, taint)


def _kept(folded: Value, value: Value, axis: int | None, keep_dims: bool) -> Value:
    """With `keep_dims` the reduced dimensions stay, with one element each."""
    if not keep_dims:
        return folded
    shape = list(value.shape)
    for dim in range(len(shape)) if axis is None else [_axis(value, axis)]:
        shape[dim] = 1
    fit = tuple(shape)
    opaque = folded.opaque
    if opaque is not None and opaque is not ALL:
        opaque = opaque.reshape(fit)
    taint = folded.taint and Taint(folded.taint.lanes.reshape(fit), folded.taint.wraps)
    return Value(folded.type, folded.data.reshape(fit), opaque, taint)


FUNCTIONS: dict[str, Callable] = {
    "sum": sum_of,
    "max": extreme(True),
    "min": extreme(False),
    "argmax": index_of(True),
    "argmin": index_of(False),
    "xor_sum": bits_of("^"),
    "reduce_or": bits_of("|"),
    "cumsum": cumulative(np.add, "cumsum"),
    "cumprod": cumulative(np.multiply, "cumprod"),
    "sort": sort,
    "topk": topk,
    "dot": dot,
    "gather": gather,
    "reduce": reduce,
    "associative_scan": associative_scan,
}
