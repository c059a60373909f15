"""The signatures that launches need, lowered and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgen.algebra import Status
from kgen.prove.facts import Fact, Launch
from kgen.prove.frontend import Lowered
from kgen.prove.launchers import LauncherCase
from kgen.prove.obligations.argument_types import in_32_bits, narrow
from kgen.prove.obligations.model import Obligation
from kgen.prove.ttir import Function, TtirError, read
from kgen.render.launch import Signature, signatures
from kgen.render.model import Launcher

Key = tuple[str, tuple[tuple[str, object], ...]]


def key_of(function: str, constants: Mapping[str, object]) -> Key:
    return function, tuple(sorted(constants.items()))


def needed_signatures(
    worlds: Iterable[LauncherCase], launchers: Sequence[Launcher]
) -> tuple[dict[Key, Signature], list[Obligation]]:
    """The signatures that are launched; a launch outside the pinned set is an obligation that fails."""
    pinned = {key_of(one.function, one.constants): one for one in signatures(launchers)}
    needed: dict[Key, Signature] = {}
    missing: list[Obligation] = []
    for one in worlds:
        for launch in one.world.launches:
            key = key_of(launch.function, launch.constants)
            if key in pinned:
                needed[key] = pinned[key]
            else:
                missing.append(_unpinned(one, launch))
    return needed, missing


def small_signatures(
    worlds: Iterable[LauncherCase], needed: Mapping[Key, Signature]
) -> list[Signature]:
    """What Triton makes of small values, where a parameter of 64 bits has no annotation that says so."""
    found: dict[Key, Signature] = {}
    for one in worlds:
        for launch in one.world.launches:
            key = key_of(launch.function, launch.constants)
            signature = needed.get(key)
            wide = [n for n in narrow(launch) if signature and signature.types.get(n) == "i64"]
            if wide:
                types = {**signature.types, **dict.fromkeys(wide, "i32")}
                found[key] = replace(signature, types=types)
    return list(found.values())


def small_values(one: LauncherCase) -> LauncherCase:
    """The world in which every parameter without an annotation has room in 32 bits."""
    facts = [
        Fact(in_32_bits(launch.arguments[name].value), f"{name} has room in 32 bits")
        for launch in one.world.launches
        for name in narrow(launch)
    ]
    return replace(one, world=replace(one.world, facts=(*one.world.facts, *facts)))


def _unpinned(one: LauncherCase, launch: Launch) -> Obligation:
    constants = ", ".join(f"{name}={value}" for name, value in launch.constants.items())
    return Obligation(
        one.launcher.function,
        launch.function,
        "signatures",
        "every launch has a signature of the pinned set",
        Status.UNKNOWN,
        f"{launch.function} with {constants} is none of them",
        launch.line,
    )


def plain(signature: Signature) -> dict[str, object]:
    return {
        "function": signature.function,
        "signature": dict(signature.types),
        "constants": dict(signature.constants),
        "divisible_by_16": list(signature.divisible),
        "num_warps": signature.num_warps,
        "num_stages": signature.num_stages,
    }


def readable(
    lowered: Iterable[Lowered],
) -> tuple[dict[Key, list[Function]], list[Obligation]]:
    """The kernels of each signature, one for each text that the targets make of it, and what could not be read."""
    found: dict[Key, list[Function]] = {}
    refused: list[Obligation] = []
    texts: set[tuple[Key, str]] = set()
    for one in lowered:
        key = key_of(one.function, one.constants)
        kept = found.setdefault(key, [])
        if (key, one.text) in texts:
            continue
        texts.add((key, one.text))
        try:
            if one.refused:
                raise TtirError(one.refused)
            kept.append(read(one.text, one.file))
        except TtirError as error:
            refused.append(_unread(one, str(error)))
    return found, refused


def _unread(one: Lowered, reason: str) -> Obligation:
    says = f"{one.function} can be read for {one.target}"
    return Obligation("", one.function, "understood", says, Status.UNKNOWN, reason)
