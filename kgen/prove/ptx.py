"""Order of memory accesses in compiled kernels: last-block reductions and dependent launches.

A last-block reduction stores partial results, takes a ticket from a counter with an atomic, and in
the block that gets the last ticket reads what all blocks stored. For that to be right the machine
code has to hold, on every way:

1. a barrier of all threads between the stores and the atomic, because one thread takes the ticket
   for all;
2. release and acquire at the scope of the GPU, by the atomic itself, or by a fence between it and
   the barrier;
3. a barrier between the atomic and the loads, because the others must not run ahead of the thread
   that acquired;
4. a store that puts the counter back to its start.

The four are what makes the stores of one CTA visible to another in PTX's memory model (causality
order goes through barriers and through release and acquire patterns). A kernel of a dependent
launch has to wait for the grid before it touches what that grid writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kgen.algebra.verdict import Status
from kgen.plan.obligation import Obligation
from kgen.prove.assembly.amdgcn import read_amdgcn
from kgen.prove.assembly.flow import Flow, Kind, Step, Test
from kgen.prove.assembly.ptx import read_ptx

SUBJECT = "order"

_GPU = frozenset({"gpu", "sys"})
_ORDERING = frozenset({Kind.BARRIER, Kind.FENCE, Kind.RELEASE, Kind.ACQUIRE, Kind.DRAIN, Kind.WAIT})


@dataclass(frozen=True)
class Ticket:
    """An atomic after which what was stored before it is read.

    `parameter` is the position of the counter's pointer, `partials` those of the tensors that are
    stored before and loaded after; None stands for an address that could not be followed.
    `unbarriered_stores`, `unreleased_stores`, `unbarriered_loads`, `unacquired_loads` have the
    lines at fault, `in_flight` those of stores that a wave may carry through the barrier (AMD).
    `reset` is the line of the store that puts the counter back, 0 for none; `stray_stores` has
    those after the ticket that may or may not be to the counter.
    """

    line: int
    text: str
    parameter: int | None
    partials: tuple[int | None, ...]
    unbarriered_stores: tuple[int, ...]
    unreleased_stores: tuple[int, ...]
    unbarriered_loads: tuple[int, ...]
    unacquired_loads: tuple[int, ...]
    in_flight: tuple[int, ...]
    reset: int
    stray_stores: tuple[int, ...]


@dataclass(frozen=True)
class OrderFacts:
    """What the text of one compiled kernel says about order; `problem` is what could not be
    followed.

    `waits` has the lines that wait for the grid before; `early` the global accesses, by line, with
    the position of the pointer they start from, that some way reaches without such a wait.
    """

    kernel: str
    tickets: tuple[Ticket, ...]
    waits: tuple[int, ...]
    early: Mapping[int, int | None]
    problem: str = ""


def order_facts(text: str) -> OrderFacts:
    """The facts of a kernel's PTX, or of its AMD assembly.

    Raises ValueError for text that is neither, or that has several kernels.
    """
    flow = read_ptx(text) if ".address_size" in text else read_amdgcn(text)
    calls = [step for step in flow.steps if step.kind is Kind.CALL]
    problem = flow.problem
    if calls and not problem:
        problem = f"line {calls[0].line}: {calls[0].text} may touch memory"
    return OrderFacts(
        kernel=flow.kernel,
        tickets=tuple(_tickets(flow)),
        waits=tuple(step.line for step in flow.steps if step.kind is Kind.WAIT),
        early=_early(flow),
        problem=problem,
    )


# ---------------------------------------------------------------- tickets


def _tickets(flow: Flow) -> Iterator[Ticket]:
    if not any(step.kind is Kind.ATOMIC for step in flow.steps):
        return
    before = flow.reaching(_is(Kind.STORE))
    after = flow.reaching(_is(Kind.ATOMIC))
    for position, step in enumerate(flow.steps):
        if step.kind is not Kind.ATOMIC:
            continue
        stores = {flow.steps[one].parameter for one in before[position]}
        later = [one for one in range(len(flow.steps)) if position in after[one]]
        loads = {flow.steps[one].parameter for one in later if flow.steps[one].kind is Kind.LOAD}
        partials = _both(stores, loads)
        if partials:
            yield _ticket(flow, position, partials, later)


def _both(stores: set[int | None], loads: set[int | None]) -> tuple[int | None, ...]:
    """Tensors that are stored before and loaded after; an unknown one may be any."""
    known = (stores & loads) - {None}
    unknown = (None in stores and loads) or (None in loads and stores)
    return (*sorted(known), *((None,) if unknown else ()))


def _ticket(
    flow: Flow, position: int, partials: tuple[int | None, ...], later: list[int]
) -> Ticket:
    step = flow.steps[position]
    store, load = _of(Kind.STORE, partials), _of(Kind.LOAD, partials)
    loads = [one for one in later if load(flow.steps[one])]

    def stores_past(*stops: Test) -> tuple[int, ...]:
        return _lines(flow, flow.reaching(store, *stops)[position])

    def loads_past(*stops: Test) -> tuple[int, ...]:
        reached = flow.reaching(lambda one: one is step, *stops)
        return _lines(flow, [one for one in loads if position in reached[one]])

    barrier = _is(Kind.BARRIER)
    release, acquire = _is(Kind.FENCE, Kind.RELEASE), _is(Kind.FENCE, Kind.ACQUIRE)
    reset, stray = _reset(flow, position, later)
    return Ticket(
        line=step.line,
        text=step.text,
        parameter=step.parameter,
        partials=partials,
        unbarriered_stores=stores_past(barrier),
        unreleased_stores=() if _orders(step, "release") else stores_past(barrier, release),
        unbarriered_loads=loads_past(barrier),
        unacquired_loads=() if _orders(step, "acquire") else loads_past(acquire, barrier),
        in_flight=() if flow.completes else _in_flight(flow, store),
        reset=reset,
        stray_stores=stray,
    )


def _orders(step: Step, what: str) -> bool:
    return bool({what, "acq_rel"} & step.semantics) and bool(_GPU & step.semantics)


def _in_flight(flow: Flow, store: Test) -> tuple[int, ...]:
    """Stores with which a wave may arrive at a barrier before they are done.

    `s_barrier` waits for waves and not for their accesses, and the write-back of the wave that
    takes the ticket covers its own stores only.
    """
    arriving = flow.reaching(store, _is(Kind.DRAIN))
    barriers = [one for one, step in enumerate(flow.steps) if step.kind is Kind.BARRIER]
    return _lines(flow, frozenset().union(*(arriving[one] for one in barriers)))


def _reset(flow: Flow, position: int, later: list[int]) -> tuple[int, tuple[int, ...]]:
    """The line of a store of 0 to the counter after the ticket; those of stores that may be one."""
    ticket = flow.steps[position]
    stores = [flow.steps[one] for one in later if flow.steps[one].kind in (Kind.STORE, Kind.ATOMIC)]
    stray = []
    for store in stores:
        same = ticket.address and store.address == ticket.address
        if same and store.kind is Kind.STORE and store.value == "0":
            return store.line, ()
        elsewhere = (
            None not in (store.parameter, ticket.parameter) and store.parameter != ticket.parameter
        )
        if not elsewhere and store is not ticket:
            stray.append(store.line)
    return 0, tuple(stray)


# ---------------------------------------------------------------- dependent launches


def _early(flow: Flow) -> Mapping[int, int | None]:
    reached = flow.entered(_is(Kind.WAIT))
    touching = (Kind.LOAD, Kind.STORE, Kind.ATOMIC)
    steps = (flow.steps[one] for one in sorted(reached))
    return {step.line: step.parameter for step in steps if step.kind in touching}


# ---------------------------------------------------------------- helpers


def _is(*kinds: Kind) -> Test:
    """Steps of these kinds; what orders others counts only where every thread makes it."""
    return lambda step: step.kind in kinds and (step.certain or step.kind not in _ORDERING)


def _of(kind: Kind, tensors: tuple[int | None, ...]) -> Test:
    """Accesses of a kind that may be to one of these tensors."""
    anything = None in tensors
    return lambda step: step.kind is kind and (anything or step.parameter in (*tensors, None))


def _lines(flow: Flow, positions: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(flow.steps[one].line for one in positions))


# ---------------------------------------------------------------- obligations


def last_block_order(facts: OrderFacts, regime: str = "") -> tuple[Obligation, ...]:
    """The four demands on each ticket of a kernel; none where a kernel takes no ticket."""
    return tuple(one for ticket in facts.tickets for one in _demands(facts, ticket, regime))


def _demands(facts: OrderFacts, ticket: Ticket, regime: str) -> Iterator[Obligation]:
    where = f"{facts.kernel}, the ticket at line {ticket.line} of the machine code"
    checks = (
        ("all threads' partial results are stored before one takes the ticket", _barrier(ticket)),
        ("the ticket releases them to the whole GPU", _release(ticket)),
        ("the last block acquires them, in all threads, before it loads", _acquire(ticket)),
        ("the counter is put back to 0", _start(ticket)),
    )
    for says, (status, evidence) in checks:
        if facts.problem and status is Status.PROVED:
            status, evidence = Status.UNKNOWN, facts.problem
        yield Obligation(regime, SUBJECT, says, status, f"{where}: {evidence}")


def _barrier(ticket: Ticket) -> tuple[Status, str]:
    if ticket.unbarriered_stores:
        return (
            Status.REFUTED,
            f"no barrier between it and the store at {_at(ticket.unbarriered_stores)}",
        )
    if ticket.in_flight:
        lines = _at(ticket.in_flight)
        return Status.UNKNOWN, f"waves pass the barrier while the store at {lines} may be under way"
    return Status.PROVED, "a barrier of all threads on every way from the stores"


def _release(ticket: Ticket) -> tuple[Status, str]:
    if ticket.unreleased_stores:
        lines = _at(ticket.unreleased_stores)
        return (
            Status.REFUTED,
            f"`{ticket.text}` does not release the store at {lines}, nor does a fence",
        )
    itself = "release" in ticket.text or "acq_rel" in ticket.text
    return Status.PROVED, ticket.text if itself else "a fence on every way from the stores"


def _acquire(ticket: Ticket) -> tuple[Status, str]:
    if ticket.unacquired_loads:
        lines = _at(ticket.unacquired_loads)
        return (
            Status.REFUTED,
            f"`{ticket.text}` does not acquire for the load at {lines}, nor does a fence",
        )
    if ticket.unbarriered_loads:
        return (
            Status.REFUTED,
            f"no barrier between it and the load at {_at(ticket.unbarriered_loads)}",
        )
    return Status.PROVED, "acquired, then a barrier of all threads"


def _start(ticket: Ticket) -> tuple[Status, str]:
    if ticket.reset:
        return Status.PROVED, f"by the store at line {ticket.reset}"
    if ticket.stray_stores:
        lines = _at(ticket.stray_stores)
        return Status.UNKNOWN, f"the store at {lines} may be to the counter, and may be 0"
    return Status.REFUTED, "nothing is stored to the counter after it"


def dependent_order(
    facts: OrderFacts, written: frozenset[int] | None = None, regime: str = ""
) -> Obligation:
    """That a kernel launched before its predecessor has ended waits before it touches what that one
    writes.

    `written` has the positions of the pointer arguments in question; None stands for all.
    """
    early = {
        line: parameter
        for line, parameter in facts.early.items()
        if written is None or parameter is None or parameter in written
    }
    says = "the kernel waits for the grid before it, then touches what that one writes"
    if early:
        missing = "nothing waits" if not facts.waits else f"the wait is at {_at(facts.waits)}"
        known = [
            line for line, parameter in early.items() if parameter is not None or written is None
        ]
        status = Status.REFUTED if known else Status.UNKNOWN
        evidence = f"{facts.kernel}: {missing}, and {_at(tuple(known or early))} comes before"
    elif facts.problem:
        status, evidence = Status.UNKNOWN, f"{facts.kernel}: {facts.problem}"
    else:
        status, evidence = (
            Status.PROVED,
            f"{facts.kernel}: griddepcontrol.wait at {_at(facts.waits)}",
        )
    return Obligation(regime, SUBJECT, says, status, evidence)


def _at(lines: tuple[int, ...]) -> str:
    if not lines:
        return "no line"
    shown = ", ".join(map(str, lines[:4])) + (", ..." if len(lines) > 4 else "")
    return f"line {shown}" if len(lines) == 1 else f"lines {shown}"
