"""What came of testing a bundle, and where in the templates each failure began."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.runner.results import CaseResult, Failure, Status, Summary


@dataclass(frozen=True)
class Finding:
    """A failure of one case; `template` and `template_line` say what rendered the line, "" and 0 if
    unknown.
    """

    case: str
    status: Status
    failure: Failure
    template: str = ""
    template_line: int = 0


@dataclass(frozen=True)
class Report:
    """The results of all units, in order. `refused` says why nothing could be tested at all."""

    directory: Path
    summary: Summary
    results: tuple[CaseResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    refused: Failure | None = None

    @property
    def passed(self) -> bool:
        """True only if something ran and nothing failed, crashed or stayed unanswered."""
        return self.refused is None and self.summary.passed

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """One for each failure, placed in the emitted file; the hint names the template's line."""
        source = self.directory / "submission.py"
        lines = source.read_text().splitlines() if source.exists() else []
        found = [_diagnostic(finding, source, lines) for finding in self.findings]
        if self.refused is not None:
            place = Place(str(self.directory))
            found.append(Diagnostic(self.refused.code, self.refused.message, place))
        return tuple(found)


def _diagnostic(finding: Finding, source: Path, lines: list[str]) -> Diagnostic:
    failure = finding.failure
    text = lines[failure.line - 1] if 0 < failure.line <= len(lines) else ""
    column = len(text) - len(text.lstrip()) + 1
    place = Place(str(source), failure.line, column, max(1, len(text.strip())))
    hint = ""
    if finding.template:
        hint = f"this line comes from {finding.template}:{finding.template_line}"
    severity = Severity.ERROR if finding.status is Status.ERROR else Severity.FINDING
    message = f"case {finding.case!r}: {failure.message}"
    return Diagnostic(failure.code, message, place, hint, text, severity)


def make_report(
    directory: Path,
    results: tuple[CaseResult, ...],
    summary: Summary,
    refused: Failure | None = None,
) -> Report:
    """A report with each failure's line taken through the manifest's source map."""
    # an edit may have moved lines, so the map of the rendered file says nothing any more
    origins = {} if summary.edited else _origins(directory)
    findings = tuple(
        Finding(result.name, result.status, failure, *origins.get(failure.line, ("", 0)))
        for result in results
        for failure in result.failures
    )
    return Report(directory, summary, results, findings, refused)


def _origins(directory: Path) -> Mapping[int, tuple[str, int]]:
    """Line of the emitted file -> (template, line), for the lines that a template wrote."""
    try:
        manifest = json.loads((directory / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}
    names = manifest.get("templates_index", [])
    numbered = enumerate(manifest.get("source_map", []), start=1)
    return {number: (names[origin[0]], origin[1]) for number, origin in numbered if origin}
