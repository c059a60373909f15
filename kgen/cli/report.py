"""What a verb says, to a person or to a program, and the exit code that follows from it.

A person reads results on stdout as they come and diagnostics on stderr. A program (`--json`) reads one object on
stdout when the verb ends: `{"verb", "ok", "interrupted", "diagnostics", …}` with the verb's own keys.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer

from kgen.diagnostics import Diagnostic, KgenError, Severity

GOOD, FINDINGS, REFUSED, INTERRUPTED = 0, 1, 2, 130
COLOURS = {Severity.ERROR: "bold red", Severity.FINDING: "bold yellow", Severity.INFO: "bold cyan"}


@dataclass
class Report:
    """Gathers what one run of a verb found."""

    verb: str
    as_json: bool
    values: dict[str, Any] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    failed: bool = False
    interrupted: bool = False
    refused: str = ""

    def say(self, text: str = "") -> None:
        """A line for a person; a program gets the same fact from `values`."""
        if not self.as_json:
            self.progress("")
            print(text, flush=True)

    def progress(self, text: str) -> None:
        """How far long work is, on a terminal: one line that the next text, or an empty one, replaces."""
        if not self.as_json and sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keeps diagnostics and shows them at once."""
        for diagnostic in diagnostics:
            self.diagnostics.append(diagnostic)
            if not self.as_json:
                self.progress("")
                show(diagnostic)

    def fail(self) -> None:
        """A gate that is no diagnostic, such as a file that is not current, did not hold."""
        self.failed = True

    def refuse(self, reason: str) -> None:
        """What the verb needs is not here, such as a GPU."""
        self.refused = reason
        if not self.as_json:
            self.progress("")
            print(f"kgen {self.verb}: {reason}", file=sys.stderr)

    @property
    def code(self) -> int:
        """The exit code; what a person should act on makes it 1, `info` never does."""
        if self.interrupted:
            return INTERRUPTED
        if self.refused or any(map(_is_wrong_use, self.diagnostics)):
            return REFUSED
        acted_on = any(d.severity is not Severity.INFO for d in self.diagnostics)
        return FINDINGS if self.failed or acted_on else GOOD

    def close(self) -> None:
        """Prints the object that a program reads, or sums up for a person what is to be acted on."""
        if self.as_json:
            head = {"verb": self.verb, "ok": self.code == GOOD, "interrupted": self.interrupted}
            head |= {"refused": self.refused} if self.refused else {}
            found = [diagnostic.as_json() for diagnostic in self.diagnostics]
            print(json.dumps({**head, "diagnostics": found, **self.values}, indent=2))
            return
        if self.diagnostics:
            print(f"kgen {self.verb}: {_counted(self.diagnostics)}", file=sys.stderr)
        if self.interrupted:
            print(f"kgen {self.verb}: interrupted; the rest was not run", file=sys.stderr)


def _is_wrong_use(diagnostic: Diagnostic) -> bool:
    """Whether an argument is wrong by itself: an `--axis`, or a `--set` without a key and a value (KG117).

    What a well-formed `--set` puts into the spec is a problem of the spec.
    """
    argument = diagnostic.place.is_axis or diagnostic.code == "KG117"
    return argument and diagnostic.severity is Severity.ERROR


def _counted(diagnostics: Iterable[Diagnostic]) -> str:
    """Such as `1 error, 2 findings, 1 for information`."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    words = {
        Severity.ERROR: ("error", "errors"),
        Severity.FINDING: ("finding", "findings"),
        Severity.INFO: ("for information", "for information"),
    }
    told = ((counts[severity], *forms) for severity, forms in words.items() if counts[severity])
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in told)


@contextmanager
def reporting(verb: str, as_json: bool) -> Iterator[Report]:
    """The frame of every verb: turns `KgenError` and Ctrl-C into a report of what there is, then exits.

    Raises `typer.Exit` with 0, 1, 2 or 130.
    """
    report = Report(verb, as_json)
    try:
        yield report
    except KgenError as error:
        report.diagnose(error.diagnostics)
    except KeyboardInterrupt:
        report.interrupted = True
    report.close()
    raise typer.Exit(report.code)


def show(diagnostic: Diagnostic) -> None:
    """Prints a diagnostic on stderr; coloured only on a terminal, and not where NO_COLOR is set."""
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        _show_coloured(diagnostic)
    else:
        print(diagnostic, file=sys.stderr)


def _show_coloured(diagnostic: Diagnostic) -> None:
    from rich.console import Console
    from rich.text import Text

    text = Text(str(diagnostic))
    colour = COLOURS[diagnostic.severity]
    text.highlight_regex(rf"(?<=: ){diagnostic.code}(?=: )", colour)
    text.highlight_regex(r"(?m)(?<=\| ) *\^+$", colour)
    text.highlight_regex(r"(?m)^  help:", "bold green")
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)
