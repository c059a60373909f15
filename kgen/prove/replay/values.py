"""Blocks and scalars of a running kernel.

A value is an array with one number a lane and its type. Two marks go with it lane by lane: which
lanes are *opaque* (their number is not known, the array holds anything there), and which depend on
an integer that *wrapped*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kgen.prove.replay.dtypes import BOOL, ElementType, FloatType, IntType, PointerType, ScalarType
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.trace import Wrap

ALL = np.ones((), dtype=bool)
"""The mark of a value that is opaque in every lane."""
_ZEROS = {kind: np.zeros((), dtype=kind) for kind in (np.bool_, np.int64, np.float64)}


@dataclass(frozen=True, eq=False, slots=True)
class Taint:
    """Lanes whose number came out of these wrapped operations; they broadcast to the value."""

    lanes: np.ndarray
    wraps: frozenset[Wrap]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A scalar (shape ()) or a block.

    `data` holds int64 for integers and for the offsets of pointers, bool for `int1`, the float
    itself for floats. `opaque` broadcasts to `data`; None says that every lane is known.
    """

    type: ElementType
    data: np.ndarray
    opaque: np.ndarray | None = None
    taint: Taint | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def is_unknown(self) -> bool:
        """Whether no lane is known."""
        return self.opaque is ALL


def storage(type: ElementType) -> np.dtype:
    """The numpy type that holds values of this type."""
    if isinstance(type, FloatType):
        return np.dtype({"float16": np.float16, "float64": np.float64}.get(type.name, np.float32))
    return np.dtype(bool if type is BOOL else np.int64)


def unknown(type: ElementType, shape: tuple[int, ...]) -> Value:
    """A value of which nothing but type and shape is known."""
    kind = np.bool_ if type is BOOL else np.float64 if isinstance(type, FloatType) else np.int64
    return Value(type, np.broadcast_to(_ZEROS[kind], shape), ALL)


def constant(type: ScalarType, number: bool | int | float, shape: tuple[int, ...] = ()) -> Value:
    """The same number in every lane."""
    return Value(type, np.full(shape, number, storage(type)))


def integer(type: IntType, array: np.ndarray) -> Value:
    """Known integers that fit the type."""
    return Value(type, array.astype(storage(type), copy=False))


def join_opaque(*values: Value) -> np.ndarray | None:
    """The opaque lanes of an operation that needs all of these values."""
    found: np.ndarray | None = None
    for value in values:
        mark = value.opaque
        if mark is ALL:
            return ALL
        if mark is not None:
            found = mark if found is None else found | mark
    return found


def join_taint(*values: Value) -> Taint | None:
    """The taint of an operation on these values."""
    taints = [value.taint for value in values if value.taint is not None]
    if len(taints) < 2:
        return taints[0] if taints else None
    lanes = taints[0].lanes
    for taint in taints[1:]:
        lanes = lanes | taint.lanes
    return Taint(lanes, frozenset().union(*(taint.wraps for taint in taints)))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape. Raises Unsupported where there is none, as Triton does."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " and ".join(str(list(shape)) for shape in shapes)
        raise Unsupported(f"blocks of shapes {shown} do not broadcast") from None


def widen(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array broadcast to `shape`, without a copy."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def spread(value: Value, shape: tuple[int, ...]) -> Value:
    """The value broadcast to `shape`, without a copy."""
    if value.shape == shape:
        return value
    if broadcast(value.shape, shape) != shape:
        raise Unsupported(
            f"a block of shape {list(value.shape)} does not broadcast to {list(shape)}"
        )
    return replace(value, data=np.broadcast_to(value.data, shape))


def rearrange(value: Value, change: Callable[[np.ndarray], np.ndarray]) -> Value:
    """The value with its lanes moved by `change`, and its marks with them."""
    shape = value.shape
    opaque, taint = value.opaque, value.taint
    if opaque is not None and opaque is not ALL:
        opaque = change(widen(opaque, shape))
    if taint is not None:
        taint = Taint(change(widen(taint.lanes, shape)), taint.wraps)
    return Value(value.type, change(value.data), opaque, taint)


def number_of(value: Value) -> int | float | bool:
    """The number of a known scalar."""
    return value.data.reshape(()).item()


def is_integer(value: object) -> bool:
    """Whether this is a block or scalar of integers, bools included."""
    return isinstance(value, Value) and isinstance(value.type, IntType)


def is_float(value: object) -> bool:
    """Whether this is a block or scalar of floats."""
    return isinstance(value, Value) and isinstance(value.type, FloatType)


def is_pointer(value: object) -> bool:
    """Whether this is a block or scalar of pointers."""
    return isinstance(value, Value) and isinstance(value.type, PointerType)
