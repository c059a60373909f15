"""Handlers of blocks: ranges, broadcasting, moving and reducing axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgen.algebra import Interval, Poly, substitute, substitute_formula
from kgen.prove.reader.machine import Handler, Reader, signed
from kgen.prove.reader.sums import note_sum
from kgen.prove.reader.values import Condition, Integer, Pointer, Shape, Value
from kgen.prove.ttir import Operation


def program_id(reader: Reader, operation: Operation) -> Value:
    """`tt.get_program_id`: along a dimension that the grid does not have, 0."""
    axis = "xyz".index(operation.keywords[0])
    programs = list(reader.programs.values())
    poly = programs[axis] if axis < len(programs) else Poly.of(0)
    return Integer(poly, (), 32, reader.fits(operation, poly, 32))


def number_of_programs(reader: Reader, operation: Operation) -> Value:
    """`tt.get_num_programs`."""
    axis = "xyz".index(operation.keywords[0])
    poly = reader.extents[axis] if axis < len(reader.extents) else Poly.of(1)
    return Integer(poly, (), 32, reader.fits(operation, poly, 32))


def make_range(reader: Reader, operation: Operation) -> Value:
    """`tt.make_range`: consecutive integers along one axis."""
    (kind,) = operation.result_types
    start, end = int(operation.attributes["start"]), int(operation.attributes["end"])
    lane = reader.space.lane(0, end - start) if end - start > 1 else Poly.of(0)
    return Integer(lane + start, kind.shape, 32)


def _shaped(value: Value, shape: Shape) -> Value:
    return replace(value, shape=shape)


def broadcast(reader: Reader, operation: Operation, value: Value) -> Value:
    """`tt.splat`, `tt.broadcast`: the same along the new axes, which get no lane."""
    return _shaped(value, operation.result_types[0].shape)


def expand_dims(reader: Reader, operation: Operation, value: Value) -> Value:
    """`tt.expand_dims`: the axes from `axis` on move up by one."""
    axis = int(operation.attributes["axis"])
    moved = {old: old + (old >= axis) for old in range(len(value.shape))}
    return _moved(reader, value, moved, operation.result_types[0].shape)


def transpose(reader: Reader, operation: Operation, value: Value) -> Value:
    """`tt.trans`: axis `order[n]` becomes axis n."""
    text = operation.attributes["order"]
    order = [int(part) for part in text.split(":")[1].rstrip(">").split(",")]
    moved = {old: new for new, old in enumerate(order)}
    return _moved(reader, value, moved, operation.result_types[0].shape)


def reshape(reader: Reader, operation: Operation, value: Value) -> Value:
    """`tt.reshape`: known where it only adds or drops axes of one element."""
    (kind,) = operation.result_types
    old = [axis for axis, size in enumerate(value.shape) if size > 1]
    new = [axis for axis, size in enumerate(kind.shape) if size > 1]
    plain = [value.shape[axis] for axis in old] == [kind.shape[axis] for axis in new]
    if plain and "allow_reorder" not in operation.text:
        return _moved(reader, value, dict(zip(old, new)), kind.shape)
    return _rearranged(reader, operation, value)


def _moved(reader: Reader, value: Value, moved: Mapping[int, int], shape: Shape) -> Value:
    """The value with each old axis as the new one that `moved` names."""
    space = reader.space
    lanes: dict[int, Poly] = {}
    for old, new in moved.items():
        size = value.shape[old]
        if size > 1 and old != new:
            (index,) = space.lane(old, size).variables
            lanes[index] = space.lane(new, size)
    match value:
        case Integer():
            return replace(value, poly=substitute(space, value.poly, lanes), shape=shape)
        case Pointer():
            return replace(value, offset=substitute(space, value.offset, lanes), shape=shape)
        case Condition():
            formula = substitute_formula(space, value.formula, lanes)
            return replace(value, formula=formula, shape=shape)
    return _shaped(value, shape)


def _rearranged(reader: Reader, operation: Operation, *values: Value) -> Value:
    """A block whose elements are those of `values`, each somewhere."""
    kind, *_ = operation.result_types
    if all(isinstance(value, Integer) for value in values):
        bounds = _hull(reader, values)
        needs = frozenset().union(*(value.needs for value in values))
        return reader.unknown(operation, kind, bounds=bounds, needs=needs)
    return reader.unknown(operation, kind)


def _hull(reader: Reader, values: Sequence[Integer]) -> Interval:
    bounds = reader.space.interval(values[0].poly)
    for value in values[1:]:
        bounds = bounds.union(reader.space.interval(value.poly))
    return bounds


def rearranged(reader: Reader, operation: Operation, *values: Value) -> Sequence[Value]:
    """`tt.join`, `tt.split`, `tt.cat`, `tt.gather`: elements of the operands, in an order that is not followed."""
    sources = values[:1] if operation.name == "tt.gather" else values
    made = _rearranged(reader, operation, *sources)
    if len(operation.results) == 1:
        return [made]
    return [
        reader.unknown(operation, kind, n + 1)
        for n, kind in enumerate(operation.result_types[:1] * len(operation.results))
    ]


def reduce(reader: Reader, operation: Operation, *values: Value) -> Sequence[Value]:
    """`tt.reduce`, `tt.scan`: integers stay between bounds; what is picked of several stays one of them.

    A reduction that returns an index with a value (an argmax) gives one of the indices. Of a running sum and of a count
    more is known (`kgen.prove.reader.sums`).
    """
    (body,) = operation.regions
    (block,) = body
    inner = {inner.name for inner in block.operations[:-1]}
    axis = int(operation.attributes["axis"])
    found = []
    for n, (value, kind) in enumerate(zip(values, _result_types(operation, len(values)))):
        bounds, needs = None, frozenset()
        if isinstance(value, Integer):
            size = value.shape[axis]
            bounds = _reduced(reader.space.interval(value.poly), inner, size, signed(value.bits))
            needs = value.needs
        made = reader.unknown(operation, kind, n, bounds, needs)
        if inner == {"arith.addi"} and isinstance(value, Integer) and isinstance(made, Integer):
            note_sum(reader, operation, value, made)
        found.append(made)
    return found


def _result_types(operation: Operation, count: int) -> Sequence:
    return (operation.result_types * count)[:count]


PICKING = {
    "arith.select",
    "arith.cmpi",
    "arith.cmpf",
    "arith.andi",
    "arith.ori",
    "arith.minsi",
    "arith.maxsi",
}


def _reduced(bounds: Interval, inner: set[str], size: int, whole: Interval) -> Interval:
    """Bounds of a reduction over `size` members of `bounds`; the type's where it may wrap around."""
    if inner <= PICKING and inner & {"arith.select", "arith.minsi", "arith.maxsi"}:
        return bounds
    if inner == {"arith.addi"} and None not in (bounds.low, bounds.high):
        total = bounds.union(bounds.scaled(size))
        return total if total.low >= whole.low and total.high <= whole.high else whole
    return whole


SHAPES: Mapping[str, Handler] = {
    "tt.get_program_id": program_id,
    "tt.get_num_programs": number_of_programs,
    "tt.make_range": make_range,
    "tt.splat": broadcast,
    "tt.broadcast": broadcast,
    "tt.expand_dims": expand_dims,
    "tt.trans": transpose,
    "tt.reshape": reshape,
    "tt.join": rearranged,
    "tt.split": rearranged,
    "tt.cat": rearranged,
    "tt.gather": rearranged,
    "tt.reduce": reduce,
    "tt.scan": reduce,
}
