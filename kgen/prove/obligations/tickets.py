"""Last-block branches: `if atomic_add(counter, 1) == N - 1` is entered by exactly one of N programs.

That is so if every program of a group adds 1 once to the group's own counter, which began at 0, and the group are the
N programs along one dimension of the grid. A branch inside such a branch may have a ticket of its own: it is drawn by
the last program of each group, along one more dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgen.algebra import TRUE, AtLeast, Formula, Poly, conjuncts, eq
from kgen.prove.facts import Launch
from kgen.prove.obligations.bounds import located, reached
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.reader import Access, Reading
from kgen.prove.reader.values import Integer


@dataclass(frozen=True)
class Ticket:
    """A counter that each program adds 1 to, and the branch of the program that finds `last` there.

    `dim` is the dimension of the grid along which the programs are counted; `dropped` has it and those of the tickets
    outside. `granted` are the conditions of the path that exactly one program of a group meets.
    """

    access: Access
    last: Poly
    dim: str
    dropped: frozenset[str]
    granted: frozenset[Formula]


@dataclass(frozen=True)
class Doubt:
    """A branch that looks like a ticket's and is not shown to be one."""

    access: Access
    reason: str


def tickets(engine: Engine, launch: Launch, reading: Reading) -> tuple[list[Ticket], list[Doubt]]:
    """The tickets of a kernel, outer ones first, and what is not shown to be one."""
    found: list[Ticket] = []
    doubts: list[Doubt] = []
    for access in reading.accesses:
        last = _last(access, reading)
        if last is None:
            continue
        try:
            found.append(_ticket(engine, launch, reading, access, last, found))
        except NotDigits as reason:
            doubts.append(Doubt(access, str(reason)))
    return found, doubts


def entered(
    path: Formula, known: Sequence[Ticket]
) -> tuple[frozenset[str], frozenset[Formula], list[Ticket]]:
    """The dimensions along which one program alone takes a path, the conditions that say so, and their tickets."""
    parts = frozenset(conjuncts(path))
    own = [ticket for ticket in known if ticket.granted <= parts]
    dropped = frozenset().union(*(ticket.dropped for ticket in own))
    return dropped, frozenset().union(*(ticket.granted for ticket in own)), own


def _last(access: Access, reading: Reading) -> Poly | None:
    """What the result of an atomic operation is compared with, where a branch asks for equality."""
    if access.kind != "atomic" or not isinstance(access.result, Integer):
        return None
    result = access.result.poly
    for other in reading.accesses:
        facts = {part.poly for part in conjuncts(other.path) if isinstance(part, AtLeast)}
        for fact in facts:
            slope, rest = (
                fact.split(*result.variables)
                if result.variables <= fact.variables
                else (None, None)
            )
            if slope is not None and slope.constant == 1 and -fact in facts:
                return -rest
    return None


def _ticket(
    engine: Engine,
    launch: Launch,
    reading: Reading,
    access: Access,
    last: Poly,
    outer: Sequence[Ticket],
) -> Ticket:
    """Raises NotDigits with the reason why the branch may have another number of programs than one."""
    operation = access.operation
    if operation.name != "tt.atomic_rmw" or operation.keywords[0] != "add":
        raise NotDigits("the counter is not counted by an atomic add")
    if not isinstance(access.value, Integer) or access.value.poly.constant != 1 or access.shape:
        raise NotDigits("the counter is not counted up by 1")
    if engine.world.tensors[access.tensor].role != "state":
        raise NotDigits(f"{access.tensor} is not known to begin at 0")
    dropped, granted, _ = entered(access.path, outer)
    rest = [part for part in conjuncts(access.path) if part not in granted]
    if rest or access.loops or access.mask != TRUE:
        raise NotDigits("a program may count never, or more than once")
    dim = _counted(engine, launch, reading, access, dropped)
    extent = engine.space.concrete(launch.grid[dim])
    if not engine.proves(eq(last, extent - 1)):
        raise NotDigits(
            f"the last of {engine.text(extent)} programs does not find {engine.text(last)}"
        )
    _undisturbed(engine, reading, access, last)
    condition = eq(access.result.poly, last)
    return Ticket(access, last, dim, dropped | {dim}, granted | frozenset(conjuncts(condition)))


def _counted(
    engine: Engine, launch: Launch, reading: Reading, access: Access, dropped: frozenset[str]
) -> str:
    """The one dimension whose programs share a counter; all other programs have counters of their own."""
    place = located(engine, access)
    if place is None:
        raise NotDigits("the counter's coordinates are not known")
    unknown = {
        dim: next(iter(program.variables))
        for dim, program in reading.programs.items()
        if dim not in dropped and program.variables
    }
    digits = Digits(engine, unknown.values(), reached(access))
    tensor = engine.world.tensors[access.tensor]
    for name, coordinate, extent in zip(tensor.dims, place, tensor.extents):
        if coordinate.variables:
            digits.any(name, coordinate, Poly.of(0), extent)
    shared = [dim for dim, variable in unknown.items() if variable in digits.missing]
    if len(shared) != 1:
        raise NotDigits(
            f"a counter is shared along {', '.join(shared) or 'no dimension'} of the grid, not along one"
        )
    return shared[0]


def _undisturbed(engine: Engine, reading: Reading, access: Access, last: Poly) -> None:
    """Nothing else writes the counters, but the program that drew the last ticket sets its own back."""
    drawn = frozenset(conjuncts(eq(access.result.poly, last)))
    for other in reading.accesses:
        if other.tensor != access.tensor or other is access or other.kind == "load":
            continue
        resets = (
            other.kind == "store"
            and drawn <= frozenset(conjuncts(other.path))
            and engine.space.concrete(other.offset) == engine.space.concrete(access.offset)
        )
        if not resets:
            raise NotDigits(f"line {other.line} changes counters too")
