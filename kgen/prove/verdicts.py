"""The verdicts of an emitted file, by the shortest way: what was proved of the very same core is not proved again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.spec.text import printable

if TYPE_CHECKING:
    from kgen.algebra.second import Confirm
    from kgen.make import Made
    from kgen.plan.templates import Templates
    from kgen.prove.check import Proof
    from kgen.prove.frontend import Frontend
    from kgen.render.model import Launcher
    from kgen.spec import Spec

HOST = "host"
MASKS = "masks"
CODES = {HOST: ("KG803", "KG804"), MASKS: ("KG805", "KG805")}
"""Codes of what is refuted and of what is unknown: of host code, of masks; of all else `KERNELS`."""
KERNELS = ("KG801", "KG802")
MOST_TOLD = 2000
"""Characters of a finding."""
HINTS = {
    "KG805": "leave the mask out in the template, where the plan knows",
    **{
        code: f"nothing is known to be wrong; see `kgen explain {code}`"
        for code in ("KG802", "KG804")
    },
}


@dataclass(frozen=True)
class Verdicts:
    """Obligations as plain data, what they assume of the caller, and what a person should act on.

    `evidence` is there where it was asked for: see `kgen.prove.evidence`.
    """

    obligations: tuple[Mapping[str, Any], ...]
    promises: tuple[str, ...]
    findings: tuple[Diagnostic, ...]
    evidence: Mapping[str, Any] | None = None


def verdicts(
    spec: Spec,
    templates: Templates,
    text: str,
    rendered: Made,
    cache: Path | None,
    file: str,
    with_evidence: bool = False,
    frontend: Frontend | None = None,
    confirm: Confirm | None = None,
) -> Verdicts:
    """What is proved of `text`, a file that was made from `spec`, or changed since then.

    `rendered` is the file as it was made; `file` is how people call this one. With `cache`, a folder, what was proved
    before is read from there, and neither Triton nor the proof engine is loaded. That keeps no certificates, so
    `with_evidence` proves the file anew; of what is no Python there is none. `frontend` may be one that was started
    before, `confirm` is whom to ask for the second opinion on proofs. Raises KgenError without Triton.
    """
    from kgen.prove.frontend import triton_version
    from kgen.prove.origins import template_lines
    from kgen.prove.record import find, keep, record_key

    triton, manifest = triton_version(), rendered.manifest
    folder, key = None if cache is None else cache / "proved", ""
    try:
        key = record_key(text, spec.sha256, templates.sha256(), _code(), triton)
    except SyntaxError:
        folder, with_evidence = None, False
    kept = None if folder is None or with_evidence else find(folder, key, text)
    evidence = None
    if kept is None:
        kept, proof = _proved(spec, templates, text, manifest, frontend, confirm)
        if with_evidence:
            from kgen.prove.evidence import evidence_of

            evidence = evidence_of(spec, manifest, text, triton, kept, proof)
        if folder is not None:
            keep(folder, key, text, kept)
    obligations = tuple(kept["obligations"])
    places = _Places(file, template_lines(manifest, rendered.text, text))
    findings = (
        *_findings(spec, manifest, obligations, places),
        *_waivers(spec, templates, kept["waivers"]),
    )
    return Verdicts(obligations, tuple(kept["promises"]), findings, evidence)


def _code() -> str:
    from kgen.make import code_stamp

    return code_stamp()


def _proved(
    spec: Spec,
    templates: Templates,
    text: str,
    manifest: Mapping[str, Any],
    frontend: Frontend | None,
    confirm: Confirm | None,
) -> tuple[Mapping[str, Any], Proof]:
    """The record of a file, and the proof that it tells of; the obligations of both are in one order."""
    from kgen.algebra.second import at_once
    from kgen.plan.build import build
    from kgen.prove.check import prove
    from kgen.prove.promises import promises
    from kgen.prove.waivers import claims, waive
    from kgen.render.environment import workshop
    from kgen.render.kernels import launchers

    plan = build(spec, templates)
    made = launchers(plan, workshop(templates))
    proof = prove(plan, made, text, manifest, frontend=frontend, confirm=confirm or at_once)
    obligations = [
        *_host(proof, made),
        *_kernels(proof, made, manifest),
        *_idle(proof, made, manifest),
    ]
    waived = waive(obligations, list(claims(plan, made)), text)
    for number, reason in waived.reasons.items():
        obligations[number]["waived"] = reason
    record = {
        "obligations": obligations,
        "promises": list(promises(plan)),
        "waivers": list(waived.findings),
    }
    return record, proof


def _host(proof: Proof, launchers: Sequence[Launcher]) -> Iterator[dict[str, Any]]:
    """The obligations of host code as plain data; those of the entry belong to no regime."""
    regimes = {one.function: one.regime.name for one in launchers}
    for one in proof.host:
        regime = regimes.get(one.regime, one.regime)
        place = {"launcher": one.regime, "kernel": HOST, "line": one.line}
        yield {**one.as_json(), "regime": regime, **place}


def _kernels(
    proof: Proof, launchers: Sequence[Launcher], manifest: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The obligations of kernels as plain data, each with the regime of its launcher."""
    from kgen.algebra import Status
    from kgen.prove.wording import worded

    regimes = {**_regimes(manifest), **{one.function: one.regime.name for one in launchers}}
    for one in proof.kernels:
        plain = dict(one.as_json())
        if one.status is Status.UNKNOWN:
            plain["evidence"] = worded(one.evidence)
        yield {"regime": regimes.get(one.launcher or one.kernel, one.launcher), **plain}


def _idle(
    proof: Proof, launchers: Sequence[Launcher], manifest: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """An obligation for each mask with a condition that decides nothing; of others nothing has to be said."""
    from kgen.prove.wording import worded

    regimes = _regimes(manifest)
    runs = {kernel.function: one.function for one in launchers for kernel in one.kernels}
    for (kernel, line, tensor), conditions in proof.idle_masks().items():
        yield {
            "regime": regimes.get(kernel, ""),
            "launcher": runs.get(kernel, ""),
            "kernel": kernel,
            "subject": MASKS,
            "says": f"every condition of the mask of {tensor} decides something",
            "status": "refuted",
            "evidence": worded("; ".join(conditions)),
            "line": line,
        }


def settled(obligation: Mapping[str, Any]) -> bool:
    """Whether nobody has to act on an obligation: it is proved, or waived with a reason."""
    return obligation["status"] == "proved" or "waived" in obligation


def _regimes(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The first regime of each kernel."""
    return {name: kernel["regimes"][0] for name, kernel in manifest["kernels"].items()}


# ---------------------------------------------------------------- findings


@dataclass(frozen=True)
class _Places:
    """Lines of a file as messages show them."""

    file: str
    templates: Mapping[int, str]

    def where(self, line: int) -> str:
        """The line of the file, and of the template that wrote it."""
        if not line:
            return ""
        template = f", {self.templates[line]}" if line in self.templates else ""
        return f" ({self.file}:{line}{template})"


def _findings(
    spec: Spec,
    manifest: Mapping[str, Any],
    obligations: tuple[Mapping[str, Any], ...],
    places: _Places,
) -> Iterator[Diagnostic]:
    """One for each obligation that is neither proved nor waived, at the regime that it belongs to."""
    for one in obligations:
        if settled(one):
            continue
        refuted = one["status"] == "refuted"
        codes = CODES.get(HOST if one["kernel"] == HOST else one["subject"], KERNELS)
        code = codes[0 if refuted else 1]
        what = manifest["entry"] if one["kernel"] == HOST else "the file"
        verb = "is false" if refuted else "could not be proved"
        where = places.where(one["line"])
        message = f"{about(one, what)}: {one['says']}{where} {verb}: {one['evidence']}"
        yield _at_regime(spec, code, message, one["regime"], HINTS.get(code, ""), Severity.FINDING)


def about(obligation: Mapping[str, Any], whole: str = "the file") -> str:
    """What an obligation is of: a kernel, or a launcher, or else the `whole`."""
    kernel = "" if obligation["kernel"] == HOST else obligation["kernel"]
    return kernel or obligation["launcher"] or whole


def _waivers(
    spec: Spec, templates: Templates, findings: Sequence[Mapping[str, Any]]
) -> Iterator[Diagnostic]:
    """What is wrong with waivers, each where it is written."""
    for one in findings:
        origin = templates.declaration(one["template"]) if one["template"] else spec.origin
        key = ("waive", one["index"])
        yield origin.diagnostic(
            one["code"], one["message"], *key, hint=one["hint"], severity=Severity.FINDING
        )


def _at_regime(
    spec: Spec, code: str, message: str, regime: str, hint: str, severity: Severity
) -> Diagnostic:
    """A diagnostic at the regime of that name, or launcher of one; else at the whole spec."""
    names = [one.name for one in spec.document.regimes]
    found = [
        name
        for name in names
        if regime in (name, f"launch_{name}") or regime.startswith(f"launch_{name}_")
    ]
    if not found:
        return Diagnostic(code, message, Place(str(spec.path)), hint, severity=severity)
    where = ("regimes", names.index(found[0]))
    short = spec.diagnostic(code, message, *where, hint=hint, severity=severity)
    # the values that decide stand at the end
    return replace(short, message=printable(message, MOST_TOLD))
