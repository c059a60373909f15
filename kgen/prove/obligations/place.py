"""Accesses with the launches that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from kgen.algebra import Formula, Poly, conjunction, ge, lt
from kgen.prove.facts import Launch
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.tickets import Ticket
from kgen.prove.reader import Access, Reading


@dataclass(frozen=True)
class Place:
    """An access with the launch that makes it, the number of that launch, its program ids by name, and its tickets.

    `statements` has the variable that tells statements apart where one access stands for several, and its range. `steps`
    are worth a proof of their own on the way to what is harder.
    """

    access: Access
    launch: Launch
    number: int
    programs: Mapping[str, Poly]
    tickets: Sequence[Ticket] = ()
    statements: Mapping[int, Formula] = field(default_factory=dict)
    steps: Sequence[Formula] = ()


def places(
    launches: Sequence[Launch],
    readings: Sequence[Reading],
    tickets: Sequence[Sequence[Ticket]],
    tensor: str,
    kinds: Sequence[str],
) -> list[Place]:
    """All accesses of a tensor of those kinds."""
    return [
        Place(access, launch, number, reading.programs, tickets[number])
        for number, (launch, reading) in enumerate(zip(launches, readings, strict=True))
        for access in reading.accesses
        if access.tensor == tensor and access.kind in kinds
    ]


def demands_of(engine: Engine, place: Place, free: Set[str]) -> dict[int, Formula]:
    """What the variables of an access have to obey, by number; programs along dimensions in `free` may be any."""
    space, access = engine.space, place.access
    found: dict[int, Formula] = dict(place.statements)
    for name, program in place.programs.items():
        if name not in free and program.variables:
            (index,) = program.variables
            found[index] = conjunction(
                ge(program, 0), lt(program, space.concrete(place.launch.grid[name]))
            )
    for axis, size in enumerate(access.shape):
        if size > 1:
            lane = space.lane(axis, size)
            (index,) = lane.variables
            found[index] = conjunction(ge(lane, 0), lt(lane, size))
    for loop in access.loops:
        (index,) = loop.turn.variables
        found[index] = ge(loop.turn, 0)
    return found
