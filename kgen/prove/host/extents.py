"""Shapes and strides of tensors whose rank a check may have fixed."""

from __future__ import annotations

from kgen.prove.host.terms import shape_name, stride_name
from kgen.prove.host.trace import Frame
from kgen.prove.host.values import NOTHING_KNOWN, Extents, Sequence, Static, Unknown, Value


def extent(extents: Extents, dim: int, frame: Frame) -> Value:
    """One extent or stride; a dimension counted from the end needs a rank that is known."""
    rank = frame.rank(extents.tensor)
    if rank is not None and not -rank <= dim < rank:
        return Unknown(f"{extents.tensor} has {rank} dimensions, no dimension {dim}")
    if dim < 0 and rank is None:
        return NOTHING_KNOWN
    named = shape_name if extents.of == "shape" else stride_name
    return Static(named(extents.tensor, dim if dim >= 0 else dim + rank))


def items_of(value: Value, frame: Frame) -> tuple[Value, ...] | None:
    """The elements of a sequence whose length is known."""
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Extents) and (rank := frame.rank(value.tensor)) is not None:
        return tuple(extent(value, dim, frame) for dim in range(rank))
    return None
