"""All obligations of one launcher in one world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgen.algebra import Certificate, Status, contradictory, find_point
from kgen.prove.facts import World
from kgen.prove.obligations.argument_types import argument_types
from kgen.prove.obligations.bounds import bounds
from kgen.prove.obligations.consumed import consumed
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.initialised import initialised
from kgen.prove.obligations.masks import MaskVerdict, masks
from kgen.prove.obligations.model import Obligation
from kgen.prove.obligations.once import places, read_once, written_at_most_once, written_once
from kgen.prove.obligations.order import dependent, last_block
from kgen.prove.obligations.tickets import Ticket, tickets
from kgen.prove.obligations.understood import understood
from kgen.prove.obligations.widths import widths
from kgen.prove.reader import Reader, Reading
from kgen.prove.ttir import Function


@dataclass(frozen=True)
class WorldProof:
    """What was proved of one world, and the certificates behind it."""

    obligations: tuple[Obligation, ...]
    masks: tuple[MaskVerdict, ...]
    certificates: tuple[Certificate, ...]


def prove_world(world: World, launcher: str, functions: Sequence[Function]) -> WorldProof:
    """Proves the launches of a launcher; `functions` are their kernels, in order."""
    engine = Engine(world)
    if find_point(world.space, engine.facts, tries=200) is None:
        return _empty(engine, launcher)
    readings = _readings(engine, functions)
    found: list[Obligation] = []
    seen: list[MaskVerdict] = []
    drawn: list[list[Ticket]] = []
    for number, (launch, reading) in enumerate(zip(world.launches, readings)):
        found += argument_types(engine, launcher, launch, functions[number])
        found += understood(launcher, launch.function, reading)
        found += bounds(engine, launcher, number, launch, reading)
        found += widths(engine, launcher, number, launch, reading)
        seen += masks(engine, launch.function, reading)
        own, doubts = tickets(engine, launch, reading)
        drawn.append(own)
        found += last_block(engine, launcher, launch, reading, own, doubts)
    found += dependent(launcher, world.launches, readings)
    found += _whole(engine, launcher, readings, drawn)
    return WorldProof(tuple(found), tuple(seen), tuple(engine.certificates))


def _empty(engine: Engine, launcher: str) -> WorldProof:
    """A world in which the facts were not seen to hold anywhere: what contradicts itself would prove anything."""
    says = "some call leads here"
    certificate = contradictory(engine.space, engine.facts)
    if certificate is not None:
        return WorldProof((), (), (certificate,))
    evidence = "no values of the axes were found for which the launcher runs"
    return WorldProof(
        (Obligation(launcher, "", "reached", says, Status.UNKNOWN, evidence),), (), ()
    )


def _readings(engine: Engine, functions: Sequence[Function]) -> list[Reading]:
    """The kernels, read. Entries of a table that a kernel of the launcher writes are not what was promised."""
    readings = _read(engine, functions, frozenset())
    written = frozenset(
        access.tensor
        for reading in readings
        for access in reading.accesses
        if access.kind != "load"
    )
    tables = {name for name, tensor in engine.world.tensors.items() if tensor.contents is not None}
    return _read(engine, functions, written) if written & tables else readings


def _read(engine: Engine, functions: Sequence[Function], written: frozenset[str]) -> list[Reading]:
    launches = engine.world.launches
    names = [launch.function for launch in launches]
    return [
        Reader(engine, launch, function, _unique(names, number, written), written).read()
        for number, (launch, function) in enumerate(zip(launches, functions, strict=True))
    ]


def _unique(names: Sequence[str], number: int, written: frozenset[str]) -> str:
    """A name for a launch: the kernel's, with a number where it is launched twice, marked where it is read again."""
    name = names[number].removesuffix("_kernel") + ("'" if written else "")
    return name if names.count(names[number]) == 1 else f"{name}{number}"


def _whole(
    engine: Engine, launcher: str, readings: Sequence[Reading], drawn: Sequence[Sequence[Ticket]]
) -> list[Obligation]:
    """What is said of all launches together."""
    world = engine.world
    found: list[Obligation] = []
    for tensor in world.tensors.values():
        stores = places(world.launches, readings, drawn, tensor.name, ("store", "atomic"))
        loads = places(world.launches, readings, drawn, tensor.name, ("load", "atomic"))
        if tensor.role == "output":
            found.append(written_once(engine, launcher, tensor, stores))
        elif tensor.role == "scratch":
            found += written_at_most_once(engine, launcher, tensor, stores)
            found += consumed(engine, launcher, loads, stores)
        elif tensor.role == "input" and stores:
            found.append(_input_written(launcher, stores[0]))
        if tensor.role in ("output", "scratch"):
            found += initialised(engine, launcher, loads, stores)
    for reads in world.reads:
        loads = places(world.launches, readings, drawn, reads.tensor, ("load", "atomic"))
        found.append(read_once(engine, launcher, reads, loads))
    return found


def _input_written(launcher: str, place) -> Obligation:
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
