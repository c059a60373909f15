"""An emitted file, proved: its host code, and every kernel in every world that a launcher can run it in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgen.algebra import Certificate, Status
from kgen.plan.model import Plan
from kgen.plan.obligation import Obligation as HostObligation
from kgen.prove.facts import Launch
from kgen.prove.frontend import Frontend, Lowered
from kgen.prove.host import prove_host
from kgen.prove.launchers import LauncherCase, LauncherError, cases
from kgen.prove.launchers.module import Module
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
        host = prove_host(text, plan, launchers).obligations
        try:
            worlds = list(cases(plan, launchers, Module(text)))
        except LauncherError as error:
            return Proof(host, (_not_followed(error),), ())
        needed, missing = _needed(worlds, launchers)
        lowered = frontend.lower(text, [_plain(one) for one in needed], plan.targets, timeout)
    functions, refused = _functions(lowered)
    found: list[Obligation] = [*missing, *refused]
    seen: list[MaskVerdict] = []
    certificates: list[Certificate] = []
    replayer = Replayer(text, plan, manifest)
    for one in worlds:
        for kernels in _kernels(one, functions):
            proof = prove_world(one.world, one.launcher.function, kernels)
            found += replayer.refuted(one, proof.obligations)
            seen += proof.masks
            certificates += proof.certificates
    return Proof(host, tuple(_merged(found)), tuple(_idle(seen)), tuple(certificates))


Key = tuple[str, tuple[tuple[str, object], ...]]


def _key(function: str, constants: Mapping[str, object]) -> Key:
    return function, tuple(sorted(constants.items()))


def _needed(
    worlds: Iterable[LauncherCase], launchers: Sequence[Launcher]
) -> tuple[list[Signature], list[Obligation]]:
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
    return list(needed.values()), missing


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


def _kernels(
    one: LauncherCase, functions: Mapping[Key, list[Function]]
) -> Iterable[list[Function]]:
    """The kernels of a launcher, once for each target that makes other texts; none where one could not be read."""
    choices = [
        functions.get(_key(launch.function, launch.constants), []) for launch in one.world.launches
    ]
    if not all(choices):
        return
    for number in range(max(map(len, choices), default=0)):
        yield [choice[min(number, len(choice) - 1)] for choice in choices]


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
