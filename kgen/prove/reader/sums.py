"""Sums along the one axis of a block, of which `kgen.prove.obligations.rows` knows more than bounds."""

from __future__ import annotations

from kgen.algebra import FALSE, TRUE, Formula, Kind, Poly
from kgen.algebra.definitions import Unknown, Where
from kgen.prove.obligations.rows import Count, RunningSum
from kgen.prove.reader.machine import Reader, signed
from kgen.prove.reader.values import Integer
from kgen.prove.ttir import Operation


def note_sum(reader: Reader, operation: Operation, value: Integer, made: Integer) -> None:
    """Notes what `made`, the sum of the lanes of `value` or its running sum, is; nothing where it might wrap around."""
    if len(value.shape) != 1 or value.shape[0] < 2 or not reader.meant(value.needs):
        return
    (variable,) = made.poly.variables
    definition = reader.space[variable].definition
    bounds = reader.space.interval(value.poly)
    if not isinstance(definition, Unknown) or bounds.low is None or bounds.low < 0:
        return
    if bounds.high is None or bounds.high * value.shape[0] > signed(value.bits).high:
        return
    key, rows = (definition.reason, definition.serial), reader.engine.rows
    inputs = tuple(min(poly.variables) for poly in definition.inputs)
    if operation.name == "tt.scan":
        if operation.attributes.get("reverse") == "false":
            rows.sums[key] = RunningSum(value.poly, inputs)
        return
    counted = _counted(reader, value)
    if counted is not None and key not in rows.counts:
        (lane,) = reader.space.lane(0, value.shape[0]).variables
        count = Count(made.poly, counted, lane, value.shape[0], inputs)
        if _first_lanes(reader, operation, count):
            rows.counts[key] = count


def _counted(reader: Reader, value: Integer) -> Formula | None:
    """The condition that a block of ones and zeros stands for."""
    if len(value.poly.variables) != 1 or value.poly != Poly.variable(*value.poly.variables):
        return None
    definition = reader.space[min(value.poly.variables)].definition
    if not isinstance(definition, Where):
        return None
    ones = (definition.then, definition.otherwise) == (Poly.of(1), Poly.of(0))
    return definition.condition if ones and definition.condition not in (TRUE, FALSE) else None


def _first_lanes(reader: Reader, operation: Operation, count: Count) -> bool:
    """Whether the condition holds in a lane if it holds in the next, for whatever values the kernel counts it."""
    space, number = reader.space, operation.number
    values = [
        reader.once("counted for", number, n, make=space.axis) for n in range(len(count.inputs))
    ]
    last = count.size - 2
    lane = reader.once("counted", number, make=lambda name: space.axis(name, 0, last, Kind.LANE))
    here, behind = (count.at(space, lane + step, values) for step in (0, 1))
    return reader.engine.soon_proves(here, behind)
