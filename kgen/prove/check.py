"""An emitted file, proved: its host code, and every kernel in every world that a launcher can run it in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgen.algebra import Certificate, Status
from kgen.plan.model import Plan
from kgen.plan.obligation import Obligation as HostObligation
from kgen.prove.facts import Fact, Launch
from kgen.prove.frontend import Frontend, Lowered
from kgen.prove.host import prove_host
from kgen.prove.launchers import LauncherCase, LauncherError, cases
from kgen.prove.launchers.module import Module
from kgen.prove.obligations.argument_types import in_32_bits, narrow
from kgen.prove.obligations.masks import MaskVerdict
from kgen.prove.obligations.model import Obligation
from kgen.prove.replaying import Replayer
from kgen.prove.ttir import Function, TtirError, read
from kgen.prove.world import prove_world
from kgen.render.launch import Signature, signatures
from kgen.render.model import Launcher

TIMEOUT = 120.0
SEVERITY = {Status.REFUTED: 2, Status.UNKNOWN: 1, Status.PROVED: 0}


@dataclass(frozen=True)
class Proof:
    """What was proved of a file: of its host code, and of its kernels in the order of the launchers.

    `idle` are masks that are always or never true, wherever their kernel runs; `certificates` every proof found.
    """

    host: tuple[HostObligation, ...]
    kernels: tuple[Obligation, ...]
    idle: tuple[MaskVerdict, ...]
    certificates: tuple[Certificate, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether everything is proved."""
        return all(one.status is Status.PROVED for one in (*self.host, *self.kernels))


def prove(
    plan: Plan,
    launchers: Sequence[Launcher],
    text: str,
    manifest: Mapping[str, Any] | None = None,
    *,
    timeout: float = TIMEOUT,
) -> Proof:
    """Proves the text of an emitted file against the plan it was made from. No GPU is needed.

    `manifest` tells how small calls of the file are made, on which what is not proved is tried. `timeout` is for
    Triton's front end, in seconds. Raises KgenError (KG601) without Triton.
    """
    with Frontend() as frontend:
        host = _host(text, plan, launchers)
        module = Module(text)
        try:
            worlds = list(cases(plan, launchers, module))
        except LauncherError as error:
            return Proof(host, (_not_followed(error),), ())
        needed, missing = _needed(worlds, launchers)
        unpinned = _in_32_bits(worlds, needed)
        lowered, narrowed = (
            frontend.lower(text, [_plain(one) for one in some], plan.targets, timeout)
            for some in (needed.values(), unpinned)
        )
    functions, refused = _functions(lowered)
    narrow_functions, _ = _functions(narrowed)
    found: list[Obligation] = [*missing, *refused]
    seen: list[MaskVerdict] = []
    certificates: list[Certificate] = []
    replayer = Replayer(text, plan, manifest)
    for number, small in _rounds(functions, narrow_functions):
        for one in map(_small_values, worlds) if small else worlds:
            kernels = _kernels(
                one, {**functions, **narrow_functions} if small else functions, number
            )
            if kernels:
                proof = prove_world(one.world, one.launcher.function, kernels)
                found += replayer.refuted(one, proof.obligations)
                found.append(_rechecked(one, proof.certificates))
                seen += proof.masks
                certificates += proof.certificates
        worlds = list(cases(plan, launchers, module))  # a proof leaves its variables in a space
    return Proof(host, tuple(_merged(found)), tuple(_idle(seen)), tuple(certificates))


def _host(text: str, plan: Plan, launchers: Sequence[Launcher]) -> tuple[HostObligation, ...]:
    try:
        return prove_host(text, plan, launchers).obligations
    except (SyntaxError, LookupError) as error:
        says = "the host code can be followed"
        return (HostObligation("", "understood", says, Status.UNKNOWN, str(error)),)


Key = tuple[str, tuple[tuple[str, object], ...]]


def _key(function: str, constants: Mapping[str, object]) -> Key:
    return function, tuple(sorted(constants.items()))


def _needed(
    worlds: Iterable[LauncherCase], launchers: Sequence[Launcher]
) -> tuple[dict[Key, Signature], list[Obligation]]:
    """The signatures that are launched; a launch outside the pinned set is an obligation that fails."""
    pinned = {_key(one.function, one.constants): one for one in signatures(launchers)}
    needed: dict[Key, Signature] = {}
    missing: list[Obligation] = []
    for one in worlds:
        for launch in one.world.launches:
            key = _key(launch.function, launch.constants)
            if key in pinned:
                needed[key] = pinned[key]
            else:
                missing.append(_unpinned(one, launch))
    return needed, missing


def _in_32_bits(worlds: Iterable[LauncherCase], needed: Mapping[Key, Signature]) -> list[Signature]:
    """What Triton makes of small values, where a parameter of 64 bits has no annotation that says so."""
    found: dict[Key, Signature] = {}
    for one in worlds:
        for launch in one.world.launches:
            key = _key(launch.function, launch.constants)
            signature = needed.get(key)
            wide = [n for n in narrow(launch) if signature and signature.types.get(n) == "i64"]
            if wide:
                types = {**signature.types, **dict.fromkeys(wide, "i32")}
                found[key] = replace(signature, types=types)
    return list(found.values())


def _small_values(one: LauncherCase) -> LauncherCase:
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


def _plain(signature: Signature) -> dict[str, object]:
    return {
        "function": signature.function,
        "signature": dict(signature.types),
        "constants": dict(signature.constants),
        "divisible_by_16": list(signature.divisible),
        "num_warps": signature.num_warps,
        "num_stages": signature.num_stages,
    }


def _functions(
    lowered: Iterable[Lowered],
) -> tuple[dict[Key, list[Function]], list[Obligation]]:
    """The kernels of each signature, one for each text that the targets make of it, and what could not be read."""
    found: dict[Key, list[Function]] = {}
    refused: list[Obligation] = []
    texts: set[tuple[Key, str]] = set()
    for one in lowered:
        key = _key(one.function, one.constants)
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


def _rounds(
    functions: Mapping[Key, list[Function]], narrowed: Mapping[Key, list[Function]]
) -> Iterator[tuple[int, bool]]:
    """Every world is proved once for each text that the targets make of its kernels, and for small values."""
    for number in range(max(map(len, functions.values()), default=0)):
        yield number, False
    for number in range(max(map(len, narrowed.values()), default=0)):
        yield number, True


def _kernels(
    one: LauncherCase, functions: Mapping[Key, list[Function]], number: int
) -> list[Function]:
    """The kernels of a launcher, of the texts with that number; none where one could not be read, or all are proved."""
    choices = [
        functions.get(_key(launch.function, launch.constants), []) for launch in one.world.launches
    ]
    if not all(choices) or number >= max(map(len, choices), default=0):
        return []
    return [choice[min(number, len(choice) - 1)] for choice in choices]


def _rechecked(one: LauncherCase, certificates: Iterable[Certificate]) -> Obligation:
    """Every certificate of a world followed once more, by code that shares nothing with what found it."""
    from kgen.algebra.sympy_check import recheck

    failed = [certificate for certificate in certificates if not recheck(certificate)]
    says = "sympy's expansion confirms every proof"
    if failed:
        evidence = f"{len(failed)} are not confirmed, the first of {failed[0].goal}"
        return Obligation(one.launcher.function, "", "certificates", says, Status.UNKNOWN, evidence)
    evidence = "each certificate was followed again by code of its own"
    return Obligation(one.launcher.function, "", "certificates", says, Status.PROVED, evidence)


def _not_followed(error: LauncherError) -> Obligation:
    says = "every launcher is followed"
    return Obligation("", "", "understood", says, Status.UNKNOWN, error.message, error.line)


def _merged(found: Iterable[Obligation]) -> Iterable[Obligation]:
    """Each statement once: the worst of what different worlds say of it counts."""
    kept: dict[tuple[str, str, str, str, int], Obligation] = {}
    for one in found:
        key = (one.launcher, one.kernel, one.subject, one.says, one.line)
        if key not in kept or SEVERITY[one.status] > SEVERITY[kept[key].status]:
            kept[key] = one
    return kept.values()


def _idle(seen: Iterable[MaskVerdict]) -> Iterable[MaskVerdict]:
    """Conditions that decide nothing in any world."""
    kept: dict[tuple[str, int, str, int], list[MaskVerdict]] = {}
    for one in seen:
        kept.setdefault((one.kernel, one.line, one.tensor, one.number), []).append(one)
    for group in kept.values():
        if all(one.always for one in group) or all(one.never for one in group):
            yield group[0]
