"""Functions that make blocks or move their lanes: `tl.arange`, `tl.full`, `tl.trans` ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgen.prove.replay.arithmetic import Operand, cast, common_type, lift
from kgen.prove.replay.dtypes import INT32, ScalarType
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.values import ALL, Taint, Value, broadcast, integer, rearrange, spread, widen

MOST_LANES = 1 << 20


def arange(machine: Machine, start: int, end: int) -> Value:
    """`start .. end - 1` as int32; a power of two of them."""
    if not (_is_whole(start) and _is_whole(end)):
        raise Unsupported("tl.arange takes two constexpr integers")
    count = end - start
    if count < 1 or count & (count - 1):
        raise Unsupported(f"tl.arange({start}, {end}) has {count} elements: not a power of two")
    return integer(INT32, np.arange(start, end, dtype=np.int64))


def full(machine: Machine, shape: tuple, value: Operand, dtype: ScalarType) -> Value:
    """The same number in every lane."""
    return spread(cast(machine.recorder, value, dtype), as_shape(shape))


def zeros(machine: Machine, shape: tuple, dtype: ScalarType) -> Value:
    """Zero in every lane."""
    return full(machine, shape, 0, dtype)


def zeros_like(machine: Machine, input: Value) -> Value:
    """Zeros of the same shape and type."""
    return full(machine, input.shape, 0, input.type)


def expand_dims(machine: Machine, input: Operand, axis: int) -> Value:
    """A new dimension of one element; axes count in the result."""
    value = lift(input)
    axis = axis + len(value.shape) + 1 if axis < 0 else axis
    if not 0 <= axis <= len(value.shape):
        raise Unsupported(f"expand_dims at {axis} of a block of shape {list(value.shape)}")
    return rearrange(value, lambda lanes: np.expand_dims(lanes, axis))


def subscript(machine: Machine, input: Operand, items: tuple) -> Value:
    """`input[:, None]`: each None is a new dimension, each full slice a dimension that stays."""
    value = lift(input)
    for axis, item in enumerate(items):
        if item is None:
            value = expand_dims(machine, value, axis)
        elif item != slice(None):
            raise Unsupported(f"a block subscripted with {item!r}: only `:` and `None` are known")
    return value


def reshape(machine: Machine, input: Value, *shape: object, can_reorder: bool = False) -> Value:
    """The lanes in row-major order under another shape."""
    if can_reorder:
        raise Unsupported(
            "a reshape that may reorder lanes: which lane is where is then not defined"
        )
    wanted = as_shape(*shape)
    if int(np.prod(wanted)) != input.data.size:
        raise Unsupported(f"a block of shape {list(input.shape)} reshaped to {list(wanted)}")
    return rearrange(input, lambda lanes: lanes.reshape(wanted))


def ravel(machine: Machine, x: Value, can_reorder: bool = False) -> Value:
    """One dimension."""
    return reshape(machine, x, x.data.size, can_reorder=can_reorder)


def broadcast_to(machine: Machine, input: Operand, *shape: object) -> Value:
    """The value broadcast; its rank has to be that of `shape`, or 0."""
    value, wanted = lift(input), as_shape(*shape)
    if value.shape and len(value.shape) != len(wanted):
        raise Unsupported(
            f"broadcast_to from {list(value.shape)} to {list(wanted)} changes the rank"
        )
    return spread(value, wanted)


def broadcast_pair(machine: Machine, input: Operand, other: Operand) -> tuple[Value, Value]:
    """Two values with their common shape."""
    a, b = lift(input), lift(other)
    shape = broadcast(a.shape, b.shape)
    return spread(a, shape), spread(b, shape)


def permute(machine: Machine, input: Value, *dims: object) -> Value:
    """The dimensions in another order."""
    order = as_shape(*dims)
    if sorted(order) != list(range(len(input.shape))):
        raise Unsupported(f"dimensions {list(order)} of a block of shape {list(input.shape)}")
    return rearrange(input, lambda lanes: lanes.transpose(order))


def trans(machine: Machine, input: Value, *dims: object) -> Value:
    """The transpose; without `dims` of the last two dimensions."""
    if dims:
        return permute(machine, input, *dims)
    if len(input.shape) < 2:
        raise Unsupported(f"tl.trans of a block of shape {list(input.shape)}")
    return rearrange(input, lambda lanes: lanes.swapaxes(-1, -2))


def flip(machine: Machine, x: Value, dim: int | None = None) -> Value:
    """The lanes of one dimension, by default the last, in reverse."""
    axis = len(x.shape) - 1 if dim is None else dim
    return rearrange(x, lambda lanes: np.flip(lanes, axis))


def join(machine: Machine, a: Operand, b: Operand) -> Value:
    """Two blocks as a new last dimension."""
    type = common_type(a, b)
    recorder = machine.recorder
    return stacked(broadcast_pair(machine, cast(recorder, a, type), cast(recorder, b, type)), -1)


def interleave(machine: Machine, a: Operand, b: Operand) -> Value:
    """Lanes of two blocks in turn, along the last dimension."""
    joined = join(machine, a, b)
    return rearrange(joined, lambda lanes: lanes.reshape(*lanes.shape[:-2], -1))


def split(machine: Machine, a: Value) -> tuple[Value, Value]:
    """The two halves of a last dimension of two."""
    if not a.shape or a.shape[-1] != 2:
        raise Unsupported(f"tl.split of a block of shape {list(a.shape)}: the last must be 2")
    return rearrange(a, lambda x: x[..., 0]), rearrange(a, lambda x: x[..., 1])


def stacked(values: Sequence[Value], axis: int) -> Value:
    """Values of one type and shape along a new dimension, their marks with them."""
    opaque, taint = None, None
    if all(value.is_unknown for value in values):
        opaque = ALL
    elif any(value.opaque is not None for value in values):
        opaque = np.stack([_marks(value.opaque, value.shape) for value in values], axis)
    tainted = [value.taint for value in values]
    if any(tainted):
        lanes = [_marks(value.taint and value.taint.lanes, value.shape) for value in values]
        wraps = frozenset().union(*(each.wraps for each in tainted if each))
        taint = Taint(np.stack(lanes, axis), wraps)
    return Value(values[0].type, np.stack([value.data for value in values], axis), opaque, taint)


def as_shape(*parts: object) -> tuple[int, ...]:
    """A shape given as one tuple or as several integers."""
    given = parts[0] if len(parts) == 1 and isinstance(parts[0], (tuple, list)) else parts
    shape = tuple(given)
    if not all(_is_whole(extent) for extent in shape):
        raise Unsupported(f"a shape of {shape}: extents are constexpr integers")
    if int(np.prod(shape, dtype=object)) > MOST_LANES:
        raise Unsupported(f"a block of shape {list(shape)} is larger than Triton allows")
    return shape


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _marks(lanes: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape, dtype=bool) if lanes is None else widen(lanes, shape)


FUNCTIONS: dict[str, Callable] = {
    "arange": arange,
    "full": full,
    "zeros": zeros,
    "zeros_like": zeros_like,
    "expand_dims": expand_dims,
    "unsqueeze": expand_dims,
    "reshape": reshape,
    "view": reshape,
    "ravel": ravel,
    "broadcast_to": broadcast_to,
    "broadcast": broadcast_pair,
    "permute": permute,
    "trans": trans,
    "flip": flip,
    "join": join,
    "interleave": interleave,
    "split": split,
}
