"""An emitted file, proved: its host code, and every kernel in every world that a launcher can run it in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from kgen.algebra import Certificate, Status
from kgen.algebra.second import Answer, Confirm, at_once
from kgen.plan.model import Plan
from kgen.plan.obligation import Obligation as HostObligation
from kgen.prove.frontend import Frontend
from kgen.prove.host import prove_host
from kgen.prove.launchers import LauncherCase, LauncherError, cases
from kgen.prove.launchers.module import Module
from kgen.prove.lowering import (
    Key,
    key_of,
    needed_signatures,
    plain,
    readable,
    small_signatures,
    small_values,
)
from kgen.prove.machine_code import machine_order
from kgen.prove.obligations.masks import MaskVerdict
from kgen.prove.obligations.model import Obligation
from kgen.prove.replaying import Replayer
from kgen.prove.ttir import Function
from kgen.prove.world import WorldProof, prove_world
from kgen.render.model import Launcher

TIMEOUT = 120.0
CERTIFICATES = "certificates"
HOST = "host"
"""What is said of host code is said of this in the place of a kernel."""
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

    def idle_masks(self) -> Mapping[tuple[str, int, str], Sequence[str]]:
        """What is known of each idle mask, by its kernel, line and tensor."""
        found: dict[tuple[str, int, str], list[str]] = {}
        for one in self.idle:
            said = f"{one.says} is {'always' if one.always else 'never'} true"
            found.setdefault((one.kernel, one.line, one.tensor), []).append(said)
        return found


def prove(
    plan: Plan,
    launchers: Sequence[Launcher],
    text: str,
    manifest: Mapping[str, Any] | None = None,
    *,
    frontend: Frontend | None = None,
    confirm: Confirm = at_once,
    timeout: float = TIMEOUT,
    whole: bool = True,
) -> Proof:
    """Proves the text of an emitted file against the plan it was made from. No GPU is needed.

    `manifest` tells how small calls of the file are made, on which what is not proved is tried. `frontend` is one that
    was started before, and is closed here; `timeout` is for it, in seconds. `confirm` is whom to ask for the second opinion
    on proofs. Unless the `whole` is asked for, a launcher's first statement that stays open is its last, and masks are not
    looked at. Raises KgenError (KG601) without Triton.
    """
    with frontend or Frontend() as frontend, ThreadPoolExecutor(1) as beside:
        module, replayer = Module(text), Replayer(text, plan, manifest)
        try:
            worlds = list(cases(plan, launchers, module))
        except LauncherError as error:
            host, unfollowed = _host(text, plan, launchers), (_not_followed(error),)
            return Proof(host, (*unfollowed, *replayer.unstated(launchers, unfollowed)), ())
        replayer.learn(worlds)
        needed, missing = needed_signatures(worlds, launchers)
        unpinned = small_signatures(worlds, needed)
        lowering = [
            beside.submit(frontend.lower, text, list(map(plain, some)), plan.targets, timeout)
            for some in (needed.values(), unpinned)
        ]
        host = _host(text, plan, launchers)
        proofs = list(dict.fromkeys(proof for one in host for proof in one.certificates))
        lowered, narrowed = (one.result() for one in lowering)
        functions, refused = readable(lowered)
        narrow_functions, _ = readable(narrowed)
        found: list[Obligation] = [*missing, *refused]
        asked = [_Asked(len(found), "", HOST, (), confirm(proofs))]
        found += machine_order(frontend, text, plan.targets, worlds, functions, needed, timeout)
    seen: list[MaskVerdict] = []
    certificates: list[Certificate] = []
    for number, small in _rounds(functions, narrow_functions):
        for one in map(small_values, worlds) if small else worlds:
            kernels = _kernels(
                one, {**functions, **narrow_functions} if small else functions, number
            )
            if kernels:
                proof = _proved(one, kernels, whole)
                of_case = (replace(each, case=str(one)) for each in proof.obligations)
                found += replayer.refuted(one, of_case)
                answer = confirm(proof.certificates)
                asked.append(_Asked(len(found), one.launcher.function, "", proof.shared, answer))
                seen += proof.masks
                certificates += proof.certificates
        worlds = list(cases(plan, launchers, module))  # a proof leaves its variables in a space
    found += _unreached(launchers, found)
    for one in reversed(asked):
        found.insert(one.place, one.obligation())
    found += list(replayer.unstated(launchers, found))
    return Proof(host, tuple(_merged(found)), tuple(_idle(seen)), tuple(certificates))


def _proved(one: LauncherCase, kernels: Sequence[Function], whole: bool) -> WorldProof:
    """The proof of one world; where the prover itself fails, nothing is known."""
    launcher = one.launcher.function
    try:
        return prove_world(one.world, launcher, kernels, whole=whole)
    except Exception as error:  # whatever it is, it must not hide what else is found
        says = "the prover follows the kernels"
        evidence = f"it failed: {type(error).__name__}: {error}"
        failed = Obligation(launcher, "", "understood", says, Status.UNKNOWN, evidence)
        return WorldProof((failed,), (), ())


def _host(text: str, plan: Plan, launchers: Sequence[Launcher]) -> tuple[HostObligation, ...]:
    try:
        return prove_host(text, plan, launchers).obligations
    except (SyntaxError, LookupError) as error:
        says = "the host code can be followed"
        return (HostObligation("", "understood", says, Status.UNKNOWN, str(error)),)


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
        functions.get(key_of(launch.function, launch.constants), [])
        for launch in one.world.launches
    ]
    if not all(choices) or number >= max(map(len, choices), default=0):
        return []
    return [choice[min(number, len(choice) - 1)] for choice in choices]


@dataclass(frozen=True)
class _Asked:
    """Every certificate of a world, or of the host code, on its way to be followed by code that shares nothing with what
    found it. `place` is where the result belongs among the obligations; all of those rest on the certificates `shared`.
    """

    place: int
    launcher: str
    kernel: str
    shared: tuple[Certificate, ...]
    answer: Answer

    def obligation(self) -> Obligation:
        """What came of it."""
        named = (self.launcher, self.kernel, CERTIFICATES, "sympy's expansion confirms every proof")
        failed = self.answer.result()
        if failed:
            evidence = f"{len(failed)} are not confirmed, the first of {failed[0].goal}"
            return Obligation(*named, Status.UNKNOWN, evidence)
        evidence = "each certificate was followed again by code of its own"
        return Obligation(*named, Status.PROVED, evidence, certificates=self.shared)


def _not_followed(error: LauncherError) -> Obligation:
    says = "every launcher is followed"
    return Obligation("", "", "understood", says, Status.UNKNOWN, error.message, error.line)


def _unreached(launchers: Iterable[Launcher], found: Iterable[Obligation]) -> Iterator[Obligation]:
    """A launcher of which nothing was to be proved, for no call is possible: its facts contradict each other."""
    proved = {one.launcher for one in found if one.subject not in (CERTIFICATES, "")}
    for launcher in launchers:
        if launcher.function not in proved:
            says, evidence = "some call leads here", "nothing was to be proved of its kernels"
            yield Obligation(launcher.function, "", "reached", says, Status.UNKNOWN, evidence)


def _merged(found: Iterable[Obligation]) -> Iterator[Obligation]:
    """Each statement once: the worst of what different worlds say of it counts, and proofs of all of them."""
    kept: dict[tuple[str, str, str, str, int], Obligation] = {}
    proofs: dict[tuple[str, str, str, str, int], dict[Certificate, None]] = {}
    cases: dict[tuple[str, str, str, str, int], dict[str, str]] = {}
    for one in found:
        key = (one.launcher, one.kernel, one.subject, one.says, one.line)
        if key not in kept or SEVERITY[one.status] > SEVERITY[kept[key].status]:
            kept[key] = one
        proofs.setdefault(key, {}).update(dict.fromkeys(one.certificates))
        cases.setdefault(key, {}).setdefault(one.case, one.evidence)
    for key, one in kept.items():
        proved = one.status is Status.PROVED
        certificates = tuple(proofs[key]) if proved else ()
        yield replace(one, evidence=_in_case(one, cases[key]), certificates=certificates)


def _in_case(one: Obligation, evidence: Mapping[str, str]) -> str:
    """The evidence of a statement, and of which case it is where it is not that of all; `evidence` has each case's."""
    same = one.status is Status.PROVED and len(set(evidence.values())) == 1
    if one.status is Status.REFUTED or len(evidence) == 1 or same:
        return one.evidence
    return f"{one.evidence}; this is the case {one.case}, one of {len(evidence)}"


def _idle(seen: Iterable[MaskVerdict]) -> Iterable[MaskVerdict]:
    """Conditions that decide nothing in any world."""
    kept: dict[tuple[str, int, str, int], list[MaskVerdict]] = {}
    for one in seen:
        kept.setdefault((one.kernel, one.line, one.tensor, one.number), []).append(one)
    for group in kept.values():
        if all(one.always for one in group) or all(one.never for one in group):
            yield group[0]
