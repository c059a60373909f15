"""Order in the machine code of kernels that others' results pass through: what TTIR shows has to survive compilation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgen.algebra import Status
from kgen.prove.facts import Launch, PointerArgument
from kgen.prove.frontend import Frontend, Lowered
from kgen.prove.launchers import LauncherCase
from kgen.prove.lowering import Key, key_of, plain
from kgen.prove.obligations.model import Obligation
from kgen.prove.ptx import SUBJECT, dependent_order, last_block_order, order_facts
from kgen.prove.ttir import Function
from kgen.render.launch import Signature


def machine_order(
    frontend: Frontend,
    text: str,
    targets: Sequence[str],
    worlds: Sequence[LauncherCase],
    functions: Mapping[Key, Sequence[Function]],
    needed: Mapping[Key, Signature],
    timeout: float,
) -> Iterator[Obligation]:
    """What machine code keeps of the order of accesses, for each target; nothing is compiled where none matters."""
    launches = {
        key_of(launch.function, launch.constants): (one, number)
        for one in worlds
        for number, launch in enumerate(one.world.launches)
    }
    ordered = [
        key
        for key, (one, number) in launches.items()
        if key in needed
        and (one.world.launches[number].dependent or any(map(_counts, functions.get(key, ()))))
    ]
    if not ordered:
        return
    signatures = [
        {**plain(needed[key]), "dependent": _launch(launches[key]).dependent} for key in ordered
    ]
    for found in frontend.assemble(text, signatures, targets, timeout):
        one, number = launches[key_of(found.function, found.constants)]
        yield from _obligations(found, one, number)


def _launch(place: tuple[LauncherCase, int]) -> Launch:
    one, number = place
    return one.world.launches[number]


def _counts(function: Function) -> bool:
    """Whether a kernel has an atomic operation, which may be a ticket."""
    return any(operation.name.startswith("tt.atomic") for operation in function.operations())


def _obligations(found: Lowered, one: LauncherCase, number: int) -> Iterator[Obligation]:
    launch = one.world.launches[number]
    try:
        if found.refused:
            raise ValueError(found.refused)
        facts = order_facts(found.text)
    except ValueError as error:
        says = f"the machine code for {found.target} can be read"
        yield Obligation(
            one.launcher.function, launch.function, SUBJECT, says, Status.UNKNOWN, str(error)
        )
        return
    demands = list(last_block_order(facts))
    if launch.dependent:
        demands.append(dependent_order(facts, _touched(one, number)))
    for demand in demands:
        says = f"for {found.target}, {demand.says}"
        # nothing was run, so what machine code seems to lack is not refuted
        status = Status.PROVED if demand.status is Status.PROVED else Status.UNKNOWN
        yield Obligation(
            one.launcher.function, launch.function, SUBJECT, says, status, demand.evidence
        )


def _touched(one: LauncherCase, number: int) -> frozenset[int]:
    """The positions of the pointers that a launch shares with those before it, inputs aside: these are only read, which is
    an obligation of its own.
    """
    before = {
        argument.tensor
        for launch in one.world.launches[:number]
        for argument in launch.arguments.values()
        if isinstance(argument, PointerArgument)
        and one.world.tensors[argument.tensor].role != "input"
    }
    return frozenset(
        position
        for position, argument in enumerate(one.world.launches[number].arguments.values())
        if isinstance(argument, PointerArgument) and argument.tensor in before
    )
