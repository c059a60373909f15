"""Every access lies within its tensor: each coordinate within its dimension, where the access is not masked off."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.algebra import TRUE, Formula, Poly, Status, conjunction, ge, lt
from kgen.algebra.definitions import TableEntry, Where
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import Launch, TensorFacts
from kgen.prove.obligations.engine import Engine, left_open
from kgen.prove.obligations.model import Obligation, Suspicion
from kgen.prove.obligations.rowwise import before_the_next
from kgen.prove.reader import Access, Reading

SUBJECT = "bounds"
LONG = 30
"""Characters of an extent that are read at a glance."""


def bounds(
    engine: Engine, launcher: str, number: int, launch: Launch, reading: Reading
) -> Iterator[Obligation]:
    """One obligation for each access of launch `number`."""
    for access in reading.accesses:
        tensor = engine.world.tensors[access.tensor]
        says = f"{element(access.kind, tensor)} stays inside"
        status, evidence, suspicion = _decided(engine, number, reading, access)
        yield Obligation(
            launcher,
            launch.function,
            SUBJECT,
            says,
            status,
            evidence,
            access.line,
            tensor.name,
            suspicion,
        )


def element(kind: str, tensor: TensorFacts) -> str:
    """An access as a person writes it."""
    dims = f"[{', '.join(tensor.dims)}]" if tensor.dims else ""
    return f"{kind} {tensor.name}{dims}"


def reached(access: Access) -> tuple[Formula, Formula]:
    """Where an access really touches memory: its mask, and the path to it."""
    return access.mask, access.path


def located(engine: Engine, access: Access) -> tuple[Poly, ...] | None:
    """The coordinates of an access, None where they are not known."""
    tensor = engine.world.tensors[access.tensor]
    if access.element != tensor.element:
        return None
    return coordinates(engine.space, access.offset, tensor)


def inside(engine: Engine, access: Access) -> Formula:
    """That every coordinate of an access is within its dimension; `TRUE` where the coordinates are not known."""
    place = located(engine, access)
    if place is None:
        return TRUE
    return conjunction(*map(_within, place, engine.world.tensors[access.tensor].extents))


def is_inside(engine: Engine, access: Access) -> bool:
    """Whether each coordinate of an access is proved to be within its dimension, from what its bounds are proved from."""
    place = located(engine, access)
    tensor, where = engine.world.tensors[access.tensor], reached(access)
    return place is not None and all(
        engine.proves(_within(one, extent), *where, *before_the_next(engine, one, where))
        for one, extent in zip(place, tensor.extents)
    )


def _within(coordinate: Poly, extent: Poly) -> Formula:
    return conjunction(ge(coordinate, 0), lt(coordinate, extent))


def _decided(
    engine: Engine, number: int, reading: Reading, access: Access
) -> tuple[Status, str, Suspicion | None]:
    tensor = engine.world.tensors[access.tensor]
    if access.element != tensor.element:
        reason = f"elements of {tensor.name} are {tensor.element}, and {access.element} is accessed"
        return Status.UNKNOWN, reason, None
    place = coordinates(engine.space, access.offset, tensor)
    if place is None:
        reason = f"the offset {engine.text(access.offset)} is no sum of multiples of the strides"
        return Status.UNKNOWN, reason, None
    steps, ranges = 0, []
    for dim, coordinate, extent in zip(tensor.dims, place, tensor.extents):
        on_the_way = before_the_next(engine, coordinate, reached(access))
        verdict = engine.decide(_within(coordinate, extent), *reached(access), *on_the_way)
        if verdict.status is not Status.PROVED:
            range_ = f"from 0 to {engine.text(extent)} - 1"
            evidence = f"{dim} = {engine.text(coordinate)} has to be {range_}: {left_open(verdict)}"
            if verdict.point is None:
                return Status.UNKNOWN, evidence, None
            programs = tuple(reading.programs.values())
            place = ("out of range", number, programs, tensor.name, access.line)
            suspicion = Suspicion(*place, verdict.point, verdict.against)
            return Status.UNKNOWN, evidence, suspicion
        steps += len(verdict.certificate.steps)
        ranges.append(_range(engine, dim, coordinate, extent))
    if not ranges:
        return Status.PROVED, "it has one element, the first", None
    return Status.PROVED, f"{', '.join(ranges)}; certificates of {steps} steps", None


def _range(engine: Engine, dim: str, coordinate: Poly, extent: Poly) -> str:
    """A proved range, and the tables that it rests on."""
    high = engine.text(extent)
    if len(high) > LONG:
        high = "its extent"
    found = f"0 <= {dim} < {high}"
    tables = sorted(_tables(engine, coordinate))
    return f"{found} because {' and '.join(tables)} is declared so" if tables else found


def _tables(engine: Engine, coordinate: Poly) -> set[str]:
    """The tables whose entries are terms of a coordinate, perhaps chosen among others, if these are declared to be anything."""
    space = engine.space
    found: set[str] = set()
    waiting = [coordinate]
    while waiting:
        for variable in waiting.pop().variables:
            match space[variable].definition:
                case TableEntry() as entry:
                    declared = entry.table.low.constant, entry.table.high.constant
                    if declared != tuple(entry.table.storage):
                        found.add(entry.table.name)
                case Where() as chosen:
                    waiting += [chosen.then, chosen.otherwise]
    return found
