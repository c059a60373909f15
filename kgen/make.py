"""A spec to its checked file, by the shortest way: what was made before from the very same input is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.paths import PACKAGE

if TYPE_CHECKING:
    from kgen.algebra.second import Confirm
    from kgen.plan.templates import Templates
    from kgen.spec import Spec


@dataclass(frozen=True)
class Made:
    """An emitted file, its manifest (which holds the verdicts of the plan checks), and what those checks found."""

    text: str
    manifest: Mapping[str, Any]
    findings: tuple[Diagnostic, ...]

    @property
    def wrong(self) -> bool:
        """Whether a finding says that the file must not be used."""
        return any(one.severity is not Severity.INFO for one in self.findings)


def make(
    spec: Spec, templates: Templates, cache: Path | None = None, confirm: Confirm | None = None
) -> Made:
    """The file of a spec with its plan checked. Raises KgenError for problems that leave no file.

    With `cache`, a folder, an input that was seen before is read from there: neither the algebra nor the formatter is
    loaded then. `confirm` is whom to ask for the second opinion on proofs, this process if nobody.
    """
    if cache is None:
        return _make(spec, templates, None, confirm)
    stored = cache / "made" / f"{_key(spec, templates)}.json"
    found = _read(stored)
    if found is None:
        found = _make(spec, templates, cache, confirm)
        from kgen.render.write import write_atomically

        write_atomically(stored, json.dumps(_plain(found)))
    return found


def is_made(spec: Spec, templates: Templates, cache: Path) -> bool:
    """Whether `make` has only to read the file."""
    return (cache / "made" / f"{_key(spec, templates)}.json").exists()


def _make(spec: Spec, templates: Templates, cache: Path | None, confirm: Confirm | None) -> Made:
    from kgen.algebra.second import at_once
    from kgen.plan.build import build
    from kgen.plan.check import begin
    from kgen.render.assemble import render

    plan = build(spec, templates)
    checked = begin(plan, confirm or at_once)
    source = render(plan, templates, cache)
    result = checked()
    proved = [one.as_json() for one in result.obligations]
    return Made(source.text, {**source.manifest, "plan": proved}, result.findings)


def _key(spec: Spec, templates: Templates) -> str:
    """A hash of all that decides the result: spec, file names in findings, templates, kgen's code."""
    state = hashlib.sha256()
    for part in (
        spec.sha256,
        spec.path.name,
        *spec.origin.texts,
        *spec.origin.texts.values(),
        templates.sha256(),
        code_stamp(),
    ):
        state.update(f"{len(part)}:{part}".encode())
    return state.hexdigest()


def code_stamp() -> str:
    """Names, sizes and times of kgen's own files: whoever changes one gets nothing old."""
    files = sorted(file for kind in ("*.py", "*.yaml") for file in PACKAGE.rglob(kind))
    stamps = [
        (str(file.relative_to(PACKAGE)), (stat := file.stat()).st_size, stat.st_mtime_ns)
        for file in files
    ]
    return json.dumps(stamps)


def _plain(made: Made) -> dict[str, Any]:
    return {
        "text": made.text,
        "manifest": made.manifest,
        "findings": [
            {**one.as_json(), "length": one.place.length, "source": one.source}
            for one in made.findings
        ],
    }


def _read(stored: Path) -> Made | None:
    """What is stored, or None where there is nothing that can be read."""
    try:
        plain = json.loads(stored.read_text(encoding="utf-8"))
        findings = tuple(
            Diagnostic(
                code=one["code"],
                message=one["message"],
                place=Place(one["file"], one["line"], one["column"], one["length"]),
                hint=one["hint"],
                source=one["source"],
                severity=Severity(one["severity"]),
            )
            for one in plain["findings"]
        )
        made = Made(plain["text"], plain["manifest"], findings)
        own = hashlib.sha256(made.text.encode()).hexdigest() == made.manifest["bytes_sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return made if own else None
