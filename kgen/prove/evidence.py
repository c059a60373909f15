"""The evidence of a file's verdicts, to keep beside it: what was proved of which core, and the certificates.

It names what the verdicts were bound to: the hashes of the file's core, of the spec, the templates and kgen's code, and
Triton's version. Each obligation names the certificates that it rests on; those that all obligations of a launcher rest
on are named by its obligation `certificates`. `kgen.prove.rechecking` follows them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import kgen
from kgen.algebra import Certificate
from kgen.algebra.store import identity, stored
from kgen.paths import PACKAGE
from kgen.render.hashes import core_sha256

if TYPE_CHECKING:
    from kgen.prove.check import Proof
    from kgen.spec import Spec

VERSION = 1


def evidence_of(
    spec: Spec,
    manifest: Mapping[str, Any],
    text: str,
    triton: str,
    record: Mapping[str, Any],
    proof: Proof,
) -> dict[str, Any]:
    """The evidence of what was proved of `text`, as plain data. `record` has the obligations of `proof` in its order.

    `manifest` is that of the file as it was rendered. Raises SyntaxError for a text that is no Python.
    """
    proofs = [one.certificates for one in (*proof.host, *proof.kernels)]
    proofs += [() for _ in proof.idle_masks()]
    names = {one: identity(one) for one in dict.fromkeys(c for some in proofs for c in some)}
    obligations = [
        {**one, "certificates": list(dict.fromkeys(names[c] for c in own))}
        for one, own in zip(record["obligations"], proofs, strict=True)
    ]
    document = {
        "evidence": VERSION,
        "spec": {"name": spec.document.name, "sha256": spec.sha256},
        "core_sha256": core_sha256(text),
        "templates": manifest["templates"],
        "kgen": kgen.__version__,
        "code_sha256": code_sha256(),
        "triton": triton,
        "obligations": obligations,
        "promises": record["promises"],
        "spaces": list(_spaces(names)),
    }
    return {**document, "sha256": digest(document)}


def digest(document: Mapping[str, Any]) -> str:
    """A hash of everything in the evidence but the hash itself."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(
        json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def code_sha256() -> str:
    """A hash of kgen's own code, the same on every machine."""
    state = hashlib.sha256()
    for file in sorted(file for kind in ("*.py", "*.yaml") for file in PACKAGE.rglob(kind)):
        state.update(f"{file.relative_to(PACKAGE)}\0".encode())
        state.update(file.read_bytes())
    return state.hexdigest()


def evidence_text(document: Mapping[str, Any]) -> str:
    """The evidence as JSON that diffs well: a line for each obligation and each space."""
    rows = []
    for key, value in document.items():
        text = json.dumps(value, separators=(",", ":"))
        if isinstance(value, list) and value:
            items = ",\n".join(f"  {json.dumps(one, separators=(',', ':'))}" for one in value)
            text = f"[\n{items}\n ]"
        rows.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _spaces(names: Mapping[Certificate, str]) -> Iterable[Mapping[str, Any]]:
    """The certificates of each space, with their names in the same order; what is equal is kept once."""
    groups: dict[int, dict[str, Certificate]] = {}
    seen: set[str] = set()
    for certificate, name in names.items():
        if name not in seen:
            seen.add(name)
            groups.setdefault(id(certificate.space), {})[name] = certificate
    for group in groups.values():
        yield {"names": list(group), **stored(list(group.values()))}
