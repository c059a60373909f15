"""Scratch is read as it was written: every element exactly once, so that no part of a sum is lost or counted twice.

Integers that are known where they are loaded, as those of a schedule, may be read by anyone: what they are is part of what
is proved of whatever depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.algebra import Poly, Status, conjuncts, eq
from kgen.prove.obligations.bounds import located, reached
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.model import Obligation
from kgen.prove.obligations.once import check_demand, tell, whole
from kgen.prove.obligations.place import Place, demands_of
from kgen.prove.obligations.rowwise import compared
from kgen.prove.obligations.statements import as_one
from kgen.prove.obligations.tickets import entered
from kgen.prove.obligations.unrolled import unrolled

SUBJECT = "exactly once"


def consumed(
    engine: Engine, launcher: str, loads: Sequence[Place], stores: Sequence[Place]
) -> Iterator[Obligation]:
    """One obligation for each store to scratch, apart from scratch that nothing reads."""
    for store in stores:
        tensor = engine.world.tensors[store.access.tensor]
        says = f"what is stored to {tensor.name} is read exactly once"
        readers = [load for load in loads if load.number >= store.number]
        if readers and all(load.access.followed for load in readers):
            says = f"what is stored to {tensor.name} is known wherever it is read"
            status, line = Status.PROVED, store.access.line
            evidence = f"its value is followed, by {len(readers)} loads"
        else:
            status, evidence, line = _read(engine, store, readers)
        yield Obligation(
            *(launcher, store.launch.function, SUBJECT, says, status, evidence, line, tensor.name),
            shown_by=("consumed wrongly",),
        )


def _read(engine: Engine, store: Place, loads: Sequence[Place]) -> tuple[Status, str, int]:
    if not loads:
        return Status.UNKNOWN, "no kernel reads it", store.access.line
    try:
        load = as_one(engine, loads)
        _every(engine, store, load)
        _at_most_once(engine, load)
    except NotDigits as reason:
        return Status.UNKNOWN, str(reason), store.access.line
    return Status.PROVED, f"by the load in line {load.access.line}", store.access.line


def _every(engine: Engine, store: Place, load: Place) -> None:
    """Each element that is stored is loaded by some program. Raises NotDigits."""
    store = unrolled(engine, store)
    written, read = located(engine, store.access), located(engine, load.access)
    if written is None or read is None:
        raise NotDigits("the coordinates are not known")
    dropped, granted, _ = entered(load.access.path, load.tickets)
    repeated = whole(load.launch.repeats.get(load.access.tensor, ()))
    demands = demands_of(engine, load, {*dropped, *repeated})
    digits = Digits(engine, demands, reached(load.access))
    digits.facts += reached(store.access)
    given = reached(load.access), reached(store.access)
    for name, own, wanted in zip(engine.world.tensors[load.access.tensor].dims, read, written):
        for part in compared(engine, name, own, wanted, given):
            digits.equal(*part)
    if load.number == store.number:
        _same_group(engine, digits, load, dropped)
    for variable in digits.missing:
        digits.choose_zero(variable)
    for variable, demand in demands.items():
        shown = engine.text(Poly.variable(variable))
        check_demand(
            engine, digits, demand, f"what is stored would be read by {shown} outside its range"
        )
    for loop in load.access.loops:
        check_demand(engine, digits, loop.guard, "the loop may end before an element is read")
    for condition in (*conjuncts(load.access.path), *conjuncts(load.access.mask)):
        if condition not in granted:
            check_demand(engine, digits, condition, "what is stored may be left unread")


def _same_group(engine: Engine, digits: Digits, load: Place, dropped: frozenset[str]) -> None:
    """The program that reads is the last of the group that the storing program belongs to."""
    for dim, program in load.programs.items():
        if dim in dropped or not program.variables:
            continue
        (variable,) = program.variables
        value = digits.values.get(variable)
        if value is None or not digits.proves(eq(value, program)):
            raise NotDigits(f"what is stored may be read by programs of another {dim}")


def _at_most_once(engine: Engine, load: Place) -> None:
    """Different programs, turns and lanes load different elements. Raises NotDigits."""
    dropped, _, _ = entered(load.access.path, load.tickets)
    repeated = whole(load.launch.repeats.get(load.access.tensor, ()))
    digits = Digits(engine, demands_of(engine, load, {*dropped, *repeated}), reached(load.access))
    tell(engine, digits, load)
    for variable in digits.missing:
        digits.only_zero(variable)
