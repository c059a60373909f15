"""Order of memory accesses between programs, and between launches that overlap.

A program that reads what others wrote in the same launch must be sure that they have: each stores, passes a barrier of
all its threads, and only then counts itself, with release and acquire at the scope of the GPU; who finds that all
others have counted may read. The counter goes back to 0 for the next call. (That machine code keeps to this is checked
by `kgen.prove.ptx`.) A launch that may start before the one before it has ended waits before it touches what that one
touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.algebra import TRUE, Formula, Status, conjuncts
from kgen.prove.facts import Launch
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.model import Obligation
from kgen.prove.obligations.tickets import Doubt, Ticket, entered
from kgen.prove.reader import Access, Barrier, Reading
from kgen.prove.reader.values import Integer

SUBJECT = "order"
WAIT = "griddepcontrol.wait"


def last_block(
    engine: Engine,
    launcher: str,
    launch: Launch,
    reading: Reading,
    known: Sequence[Ticket],
    doubts: Sequence[Doubt],
) -> Iterator[Obligation]:
    """What each ticket of a kernel has to obey."""
    for doubt in doubts:
        says = "exactly one program of a group takes the branch"
        yield Obligation(
            launcher,
            launch.function,
            SUBJECT,
            says,
            Status.UNKNOWN,
            doubt.reason,
            doubt.access.line,
        )
    for ticket in known:
        checks = (
            (f"exactly one program along {ticket.dim} takes the branch", ""),
            (
                "what a program stores for others is stored before it counts itself",
                _barrier(reading, ticket),
            ),
            ("the counter releases and acquires at the scope of the GPU", _semantics(ticket)),
            ("the counter goes back to 0", _reset(engine, reading, ticket, known)),
        )
        for says, fault in checks:
            status = Status.UNKNOWN if fault else Status.PROVED
            evidence = fault or ticket.access.operation.text
            yield Obligation(
                launcher, launch.function, SUBJECT, says, status, evidence, ticket.access.line
            )


def shared_stores(reading: Reading, ticket: Ticket) -> list[Access]:
    """Stores before a ticket to tensors that its branch loads."""
    loaded = {
        access.tensor
        for access in reading.accesses
        if access.kind != "store" and ticket.granted <= frozenset(conjuncts(access.path))
    }
    return [
        access
        for access in reading.accesses
        if access.kind == "store" and access.tensor in loaded and access.order < ticket.access.order
    ]


def _barrier(reading: Reading, ticket: Ticket) -> str:
    """Empty if a barrier of all threads stands between every such store and the ticket."""
    outer = _outside(ticket)
    for store in shared_stores(reading, ticket):
        passed = any(
            isinstance(event, Barrier)
            and _of_all_threads(event)
            and store.order < event.order < ticket.access.order
            and not event.loops
            and frozenset(conjuncts(event.path)) <= outer
            for event in reading.events
        )
        if not passed:
            return f"no barrier between the store in line {store.line} and the counter"
    return ""


def _of_all_threads(event: Barrier) -> bool:
    """Whether it orders global memory for all threads of the block; newer Triton says which memory."""
    operation = event.operation
    return operation.name == "gpu.barrier" or (
        operation.name == "ttg.barrier" and "all" in operation.keywords
    )


def _outside(ticket: Ticket) -> frozenset[Formula]:
    """The conditions under which the ticket is drawn."""
    return frozenset(conjuncts(ticket.access.path))


def _semantics(ticket: Ticket) -> str:
    words = set(ticket.access.operation.keywords)
    if "acq_rel" not in words:
        return f"the atomic operation is {ticket.access.operation.keywords[1]}, not acq_rel"
    return (
        "" if words & {"gpu", "sys"} else "the atomic operation orders nothing beyond its own block"
    )


def _reset(engine: Engine, reading: Reading, ticket: Ticket, known: Sequence[Ticket]) -> str:
    """Empty if the branch stores 0 to its counter, always."""
    counter = engine.space.concrete(ticket.access.offset)
    for access in reading.accesses:
        if access.kind != "store" or access.tensor != ticket.access.tensor:
            continue
        _, granted, own = entered(access.path, known)
        rest = [part for part in conjuncts(access.path) if part not in granted]
        zero = isinstance(access.value, Integer) and access.value.poly.constant == 0
        same = engine.space.concrete(access.offset) == counter and access.mask == TRUE
        if own and own[-1] is ticket and zero and same and not rest and not access.loops:
            return ""
    return "nothing stores 0 to it in the branch, or not always"


def dependent(
    launcher: str, launches: Sequence[Launch], readings: Sequence[Reading]
) -> Iterator[Obligation]:
    """One obligation for each launch that may start early."""
    for number, (launch, reading) in enumerate(zip(launches, readings)):
        if launch.dependent:
            fault = _early(reading, readings[:number])
            status = Status.UNKNOWN if fault else Status.PROVED
            says = "the launch waits for the one before it before it touches what that one touches"
            yield Obligation(
                launcher, launch.function, SUBJECT, says, status, fault or WAIT, launch.line
            )


def _early(reading: Reading, before: Sequence[Reading]) -> str:
    touched = {access.tensor for one in before for access in one.accesses}
    written = {access.tensor for one in before for access in one.accesses if access.kind != "load"}
    waits = [
        event.order
        for event in reading.events
        if isinstance(event, Barrier)
        and WAIT in event.operation.text
        and event.path == TRUE
        and not event.loops
    ]
    for access in reading.accesses:
        conflicts = access.tensor in written or (access.kind != "load" and access.tensor in touched)
        if conflicts and not any(wait < access.order for wait in waits):
            return f"the {access.kind} of {access.tensor} in line {access.line} does not wait"
    return ""
