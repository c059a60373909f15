"""Kept evidence, followed again: without Triton, without the file's plan, and without the search for proofs.

Certificates are read back and confirmed by sympy's expansion. What that shows is that each proves its own statement about
integers; that the statement is the one that the kernel needs was established where the evidence was made. So the
evidence is bound to the core of one file, and any change of it is noticed by its hash.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgen.algebra import Certificate
from kgen.algebra.store import StoreError, identity, restored
from kgen.algebra.sympy_check import recheck
from kgen.diagnostics import Diagnostic, KgenError, Place, Severity
from kgen.prove.evidence import VERSION, digest
from kgen.prove.verdicts import settled
from kgen.render.hashes import core_sha256

UNREADABLE, FOREIGN, EDITED, UNPROVED, OPEN = "KG821", "KG822", "KG823", "KG824", "KG825"
KEYS = {
    "evidence": int,
    "spec": dict,
    "core_sha256": str,
    "templates": str,
    "kgen": str,
    "code_sha256": str,
    "triton": str,
    "obligations": list,
    "promises": list,
    "spaces": list,
    "sha256": str,
}


@dataclass(frozen=True)
class Rechecked:
    """What following the evidence again showed: how many certificates hold, and what a person should act on."""

    confirmed: int
    findings: tuple[Diagnostic, ...]


def read_evidence(path: Path) -> Mapping[str, Any]:
    """The evidence in a file. Raises KgenError (KG821) for what is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        _known(document)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"this is no evidence that can be read: {error}"
        hint = "make it anew with `kgen prove FILE --spec SPEC -o PROOF`"
        raise KgenError([Diagnostic(UNREADABLE, message, Place(str(path)), hint)]) from None
    return document


def _known(document: Any) -> None:
    """Raises what `read_evidence` catches, where a part is missing or is something else."""
    for key, kind in KEYS.items():
        if type(document[key]) is not kind:
            raise ValueError(f"`{key}` is no {kind.__name__}")
    if document["evidence"] != VERSION:
        raise ValueError(f"it has version {document['evidence']}, and this kgen reads {VERSION}")
    for one in document["obligations"]:
        for key in ("launcher", "kernel", "subject", "says", "status", "evidence"):
            if type(one[key]) is not str:
                raise ValueError(f"an obligation has no `{key}`")
        if not all(type(name) is str for name in one["certificates"]):
            raise ValueError("an obligation names certificates by something else than text")
    if not all(type(document["spec"][key]) is str for key in ("name", "sha256")):
        raise ValueError("the spec has no name or no hash")


def follow(
    document: Mapping[str, Any], path: str, text: str | None, manifest: Mapping[str, Any] | None
) -> Rechecked:
    """Follows every certificate again; `text` is the file that the evidence should belong to, `manifest` its manifest."""
    place = Place(path)
    findings = [*_bound(document, place, text, manifest)]
    if digest(document) != document["sha256"]:
        message = "the evidence was changed after it was made: its hash is not that of its content"
        findings.append(_finding(EDITED, message, place))
    confirmed, wrong = _certificates(document["spaces"])
    findings += _obligations(document["obligations"], confirmed, wrong, place)
    return Rechecked(len(confirmed), tuple(findings))


def _finding(code: str, message: str, place: Place) -> Diagnostic:
    hint = "make it anew with `kgen prove FILE --spec SPEC -o PROOF`"
    return Diagnostic(code, message, place, hint, severity=Severity.FINDING)


def _bound(
    document: Mapping[str, Any], place: Place, text: str | None, manifest: Mapping[str, Any] | None
) -> Iterator[Diagnostic]:
    """Where the file and its manifest are others than those of the evidence."""
    pairs = []
    if text is not None:
        try:
            pairs.append(("the core of the file", document["core_sha256"], core_sha256(text)))
        except SyntaxError:
            pairs.append(("the core of the file", document["core_sha256"], "that of no Python"))
    if manifest is not None:
        pairs.append(("the spec", document["spec"]["sha256"], manifest["spec"]["sha256"]))
        pairs.append(("the set of templates", document["templates"], manifest["templates"]))
    for what, proved, found in pairs:
        if proved != found:
            message = f"{what} is not what was proved: its hash is {found[:16]}, and that of the evidence {proved[:16]}"
            yield _finding(FOREIGN, message, place)


def _certificates(spaces: list[Any]) -> tuple[set[str], dict[str, str]]:
    """The names of the certificates that hold, and why others do not."""
    confirmed: set[str] = set()
    wrong: dict[str, str] = {}
    for space in spaces:
        names = space["names"] if isinstance(space, dict) and "names" in space else []
        try:
            certificates = restored(space)
        except StoreError as error:
            wrong |= dict.fromkeys(map(str, names), f"it cannot be read: {error}")
            continue
        for name, certificate in zip(names, certificates):
            reason = _reason(str(name), certificate)
            if reason:
                wrong[str(name)] = reason
            else:
                confirmed.add(str(name))
    return confirmed, wrong


def _reason(name: str, certificate: Certificate) -> str:
    """What is wrong with a certificate; empty if nothing is."""
    if not _holds(certificate):
        return "it does not prove its claim"
    return "" if identity(certificate) == name else "it was changed after it was made"


def _holds(certificate: Certificate) -> bool:
    try:
        return recheck(certificate)
    except Exception:  # what is spoiled may fail anywhere, and then it shows nothing
        return False


def _obligations(
    obligations: list[Mapping[str, Any]],
    confirmed: set[str],
    wrong: Mapping[str, str],
    place: Place,
) -> Iterator[Diagnostic]:
    """A finding for each obligation that is open, or that rests on a certificate which does not hold."""
    for one in obligations:
        said = f"{one['kernel'] or one['launcher'] or 'the file'}: {one['subject']}: {one['says']}"
        if not settled(one):
            yield _finding(OPEN, f"{said} is {one['status']}: {one['evidence']}", place)
        failed = [name for name in one["certificates"] if name not in confirmed]
        if failed:
            reason = wrong.get(failed[0], "it is missing")
            code = UNPROVED if reason == "it does not prove its claim" else EDITED
            count = f"{len(failed)} of {len(one['certificates'])} certificates fail"
            yield _finding(code, f"{said} is not proved: {count}; of {failed[0]}: {reason}", place)
