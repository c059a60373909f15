"""Scratch is written before it is read: by an earlier launch, or by programs that counted themselves before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.algebra import Poly, Status, conjuncts, eq
from kgen.prove.obligations.bounds import element, located, reached
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.model import Obligation
from kgen.prove.obligations.once import check_demand
from kgen.prove.obligations.place import Place, demands_of
from kgen.prove.obligations.rowwise import before_the_next, compared
from kgen.prove.obligations.tickets import Ticket, entered
from kgen.prove.obligations.unrolled import unrolled

SUBJECT = "initialised"


def initialised(
    engine: Engine, launcher: str, loads: Sequence[Place], stores: Sequence[Place]
) -> Iterator[Obligation]:
    """One obligation for each load of what kernels write."""
    for load in loads:
        tensor = engine.world.tensors[load.access.tensor]
        says = f"{element('load', tensor)} finds what was written before"
        status, evidence = _found(engine, load, stores)
        yield Obligation(
            launcher,
            load.launch.function,
            SUBJECT,
            says,
            status,
            evidence,
            load.access.line,
            tensor.name,
        )


def _found(engine: Engine, load: Place, stores: Sequence[Place]) -> tuple[Status, str]:
    reasons = []
    for store in stores:
        try:
            _written(engine, load, store)
        except NotDigits as reason:
            reasons.append(str(reason))
        else:
            return (
                Status.PROVED,
                f"the store in line {store.access.line} writes each of these elements",
            )
    return Status.UNKNOWN, "; ".join(reasons) or "no kernel writes it"


def _written(engine: Engine, load: Place, store: Place) -> None:
    """Some program stores each element that `load` reads, before that. Raises NotDigits."""
    store = unrolled(engine, store)
    ticket = None if store.number < load.number else _ticket_between(load, store)
    read, written = located(engine, load.access), located(engine, store.access)
    if read is None or written is None:
        raise NotDigits("the coordinates are not known")
    dropped, granted, _ = entered(store.access.path, store.tickets)
    demands = demands_of(engine, store, dropped)
    digits = Digits(engine, demands, reached(store.access))
    digits.facts += reached(load.access)
    dims = engine.world.tensors[load.access.tensor].dims
    given = reached(store.access), reached(load.access)
    for name, own, wanted in zip(dims, written, read):
        digits.hints += before_the_next(engine, wanted, reached(load.access))
        for part in compared(engine, name, own, wanted, given):
            digits.equal(*part)
    if ticket is not None:
        _same_group(engine, digits, store, ticket)
    for variable in digits.missing:
        digits.choose_zero(variable)
    for variable, demand in demands.items():
        shown = engine.text(Poly.variable(variable))
        check_demand(engine, digits, demand, f"an element would need {shown} outside its range")
    for loop in store.access.loops:
        check_demand(engine, digits, loop.guard, "the loop may end before an element is written")
    for condition in (*conjuncts(store.access.path), *conjuncts(store.access.mask)):
        if condition not in granted:
            check_demand(engine, digits, condition, "an element may be left out")


def _ticket_between(load: Place, store: Place) -> Ticket:
    """The ticket that all stores come before and the load behind. Raises NotDigits."""
    if store.number > load.number:
        raise NotDigits(f"the store in line {store.access.line} is in a later launch")
    _, _, own = entered(load.access.path, load.tickets)
    for ticket in reversed(own):
        # whoever stores then draws a ticket
        drawn = frozenset(conjuncts(ticket.access.path))
        stored = frozenset(conjuncts(store.access.path))
        if store.access.order < ticket.access.order and drawn <= stored:
            return ticket
    raise NotDigits(f"nothing says that the store in line {store.access.line} comes first")


def _same_group(engine: Engine, digits: Digits, store: Place, ticket: Ticket) -> None:
    """The storing program counts itself on the very counter whose last ticket the reading program drew."""
    for dim, program in store.programs.items():
        if dim in ticket.dropped or not program.variables:
            continue
        (variable,) = program.variables
        value = digits.values.get(variable)
        if value is None or not digits.proves(eq(value, program)):
            raise NotDigits(f"what is read may be written by programs of another {dim}")
