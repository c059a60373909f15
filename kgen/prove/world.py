"""All obligations of one launcher in one world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kgen.algebra import Certificate, Formula, Poly, Status, contradictory, find_point
from kgen.prove.facts import World
from kgen.prove.obligations.argument_types import argument_types
from kgen.prove.obligations.bounds import bounds
from kgen.prove.obligations.consumed import consumed
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.initialised import initialised
from kgen.prove.obligations.masks import MaskVerdict, masks
from kgen.prove.obligations.model import Obligation
from kgen.prove.obligations.once import all_read, written_at_most_once, written_once
from kgen.prove.obligations.place import Place, places
from kgen.prove.obligations.order import dependent, last_block
from kgen.prove.obligations.stored import stored_value
from kgen.prove.obligations.tickets import Ticket, tickets
from kgen.prove.obligations.understood import understood
from kgen.prove.obligations.widths import widths
from kgen.prove.reader import Reader, Reading
from kgen.prove.reader.values import Integer
from kgen.prove.ttir import Function


@dataclass(frozen=True)
class WorldProof:
    """What was proved of one world, and the certificates behind it; on those that are `shared` every obligation rests."""

    obligations: tuple[Obligation, ...]
    masks: tuple[MaskVerdict, ...]
    certificates: tuple[Certificate, ...]
    shared: tuple[Certificate, ...] = ()


def prove_world(
    world: World, launcher: str, functions: Sequence[Function], *, whole: bool = True
) -> WorldProof:
    """Proves the launches of a launcher; `functions` are their kernels, in order.

    Unless all of it is asked for, the first statement that stays open is the last, and masks are not looked at.
    """
    engine = Engine(world)
    if find_point(world.space, engine.facts, tries=200) is None:
        return _empty(engine, launcher)
    readings = _readings(engine, functions)
    found: list[Obligation] = []
    for one in _stated(engine, launcher, functions, readings):
        found.append(one)
        if one.status is not Status.PROVED and not whole:
            break
    named = [launch.function for launch in world.launches] if whole else ()
    seen = [
        one for kernel, reading in zip(named, readings) for one in masks(engine, kernel, reading)
    ]
    return WorldProof(tuple(found), tuple(seen), tuple(engine.certificates), _shared(engine, found))


def _stated(
    engine: Engine, launcher: str, functions: Sequence[Function], readings: Sequence[Reading]
) -> Iterator[Obligation]:
    """The obligations of each launch, then those of all together."""
    launches = engine.world.launches
    drawn: list[list[Ticket]] = []
    for number, (launch, reading) in enumerate(zip(launches, readings)):
        yield from argument_types(engine, launcher, launch, functions[number])
        yield from understood(launcher, launch.function, reading)
        yield from _resting(engine, bounds(engine, launcher, number, launch, reading))
        yield from _resting(engine, widths(engine, launcher, number, launch, reading))
        own, doubts = tickets(engine, launch, reading)
        drawn.append(own)
        yield from _resting(engine, last_block(engine, launcher, launch, reading, own, doubts))
    yield from dependent(launcher, launches, readings)
    yield from _resting(engine, _whole(engine, launcher, readings, drawn))


def _resting(engine: Engine, obligations: Iterator[Obligation]) -> Iterator[Obligation]:
    """The obligations, each with the certificates that were asked for between it and the one before it."""
    start = len(engine.used)
    for one in obligations:
        yield replace(one, certificates=tuple(dict.fromkeys(engine.used[start:])))
        start = len(engine.used)


def _shared(engine: Engine, found: Iterable[Obligation]) -> tuple[Certificate, ...]:
    """What no single obligation asked for, and lemmas, which any later one may use."""
    own = {certificate for one in found for certificate in one.certificates}
    lemmas = {lemma.formula for lemma in engine.lemmas}
    return tuple(one for one in engine.certificates if one not in own or one.goal in lemmas)


def _empty(engine: Engine, launcher: str) -> WorldProof:
    """A world in which the facts were not seen to hold anywhere: what contradicts itself would prove anything."""
    says = "some call leads here"
    certificate = contradictory(engine.space, engine.facts)
    if certificate is not None:
        return WorldProof((), (), (certificate,), (certificate,))
    evidence = "no values of the axes were found for which the launcher runs"
    return WorldProof(
        (Obligation(launcher, "", "reached", says, Status.UNKNOWN, evidence),), (), ()
    )


def _readings(engine: Engine, functions: Sequence[Function]) -> list[Reading]:
    """The kernels, read. Entries of a tensor that a kernel of the launcher writes are not what was promised; what they
    are is known where one statement of an earlier launch wrote them.
    """
    readings = _read(engine, functions, Counter())
    writes = Counter(
        access.tensor
        for reading in readings
        for access in reading.accesses
        if access.kind != "load"
    )
    loaded = {
        access.tensor
        for reading in readings
        for access in reading.accesses
        if isinstance(access.result, Integer)
    }
    return _read(engine, functions, writes) if set(writes) & loaded else readings


def _read(engine: Engine, functions: Sequence[Function], writes: Counter[str]) -> list[Reading]:
    launches = engine.world.launches
    names = [launch.function for launch in launches]
    found: list[Reading] = []

    def stored(tensor: str, offset: Poly, where: Sequence[Formula]) -> Poly | None:
        before = places(launches[: len(found)], found, [()] * len(found), tensor, ("store",))
        role = engine.world.tensors[tensor].role
        if role != "scratch" or writes[tensor] != 1 or len(before) != 1:
            return None
        return stored_value(engine, before[0], found[before[0].number], offset, where)

    for number, (launch, function) in enumerate(zip(launches, functions, strict=True)):
        name = _unique(names, number, bool(writes))
        reader = Reader(engine, launch, function, name, frozenset(writes), stored)
        found.append(reader.read())
    return found


def _unique(names: Sequence[str], number: int, written: bool) -> str:
    """A name for a launch: the kernel's, with a number where it is launched twice, marked where it is read again."""
    name = names[number].removesuffix("_kernel") + ("'" if written else "")
    return name if names.count(names[number]) == 1 else f"{name}{number}"


def _whole(
    engine: Engine, launcher: str, readings: Sequence[Reading], drawn: Sequence[Sequence[Ticket]]
) -> Iterator[Obligation]:
    """What is said of all launches together."""
    world = engine.world
    for tensor in world.tensors.values():
        stores = places(world.launches, readings, drawn, tensor.name, ("store", "atomic"))
        loads = places(world.launches, readings, drawn, tensor.name, ("load", "atomic"))
        if tensor.role == "output":
            yield written_once(engine, launcher, tensor, stores)
        elif tensor.role == "scratch":
            yield from written_at_most_once(engine, launcher, tensor, stores)
            yield from consumed(engine, launcher, loads, stores)
        elif tensor.role == "updated":
            yield from written_at_most_once(engine, launcher, tensor, stores)
            yield from map(partial(_read_back, launcher), loads if stores else ())
        elif tensor.role == "input" and stores:
            yield _input_written(launcher, stores[0])
        if tensor.role in ("output", "scratch"):
            yield from initialised(engine, launcher, loads, stores)
    for reads in world.reads:
        loads = places(world.launches, readings, drawn, reads.tensor, ("load", "atomic"))
        yield from all_read(engine, launcher, reads, loads)


def _read_back(launcher: str, place: Place) -> Obligation:
    says = f"{place.access.tensor} is not read where kernels overwrite it"
    kernel, line = place.launch.function, place.access.line
    evidence = place.access.operation.text
    return Obligation(launcher, kernel, "order", says, Status.UNKNOWN, evidence, line)


def _input_written(launcher: str, place: Place) -> Obligation:
    says = f"{place.access.tensor} is an input, and only read"
    return Obligation(
        launcher,
        place.launch.function,
        "inputs",
        says,
        Status.UNKNOWN,
        place.access.operation.text,
        place.access.line,
    )
