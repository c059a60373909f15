"""`kgen diff`: what changed between two specs, files or revisions, and what it comes to."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli.compile import known_targets
from kgen.cli.ledger import RECEIPTS
from kgen.cli.options import Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import table
from kgen.diagnostics import Diagnostic, KgenError, Place

if TYPE_CHECKING:
    from kgen.diff.consequence import Compiling
    from kgen.diff.model import FileDiff, Hunk, Side, Subject
    from kgen.diff.subjects import Reader
    from kgen.evidence.ledger import Entry


def diff(
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="[A]",
            help="A spec, a generated file, a folder with some, or REV:PATH of a git revision.",
            show_default=False,
        ),
    ] = None,
    b: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="What A is compared with.", show_default=False),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(
            "--all",
            metavar="REV",
            help="Compares what every spec under specs/ renders now with what the revision has.",
        ),
    ] = None,
    overrides: Set = [],
    templates: Templates = None,
    stat: Annotated[bool, typer.Option("--stat", help="Prints one line for each file.")] = False,
    compiled: Annotated[
        bool,
        typer.Option(
            "--compile/--no-compile", help="Compiles kernels whose text differs, with no GPU."
        ),
    ] = True,
    target: Annotated[
        list[str],
        typer.Option(
            "--target", metavar="TARGET", help="Compiles for this target, not for the specs'."
        ),
    ] = [],
    workers: Annotated[int, typer.Option(help="Compiler processes at a time.", min=1)] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds for one kernel.", min=1)] = 120,
    receipts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help=f"Receipts of measuring runs.  [default: {RECEIPTS}]", exists=True
        ),
    ] = None,
    beside: Annotated[
        bool | None,
        typer.Option(
            "--side-by-side/--unified",
            help="How lines are shown; by the terminal's width if left out.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Shows what changed: in the spec, in the source, and in what the compiler makes of it.

    With B left out, A is compared with itself after --set, or REV:PATH with the same path now. Exit code 0 says that
    nothing differs, 1 that something does, 2 that nothing could be compared.
    """
    _check_use(a, b, revision, overrides)
    from kgen.diff.consequence import Compiling
    from kgen.diff.subjects import Reader

    targets = tuple(known_targets(target))
    with (
        reporting("diff", as_json) as report,
        tempfile.TemporaryDirectory("", "kgen-diff-") as kept,
    ):

        def on_done(done: int, of: int) -> None:
            report.progress(f"{done} of {of} signatures compiled")

        how = Compiling(Path(kept, "sources"), compiled, targets, workers, timeout, on_done)
        shown = _Shown(report, how, receipts, stat, beside)
        reader = Reader(Path(kept, "revisions"), templates)
        try:
            if revision is not None:
                shown.every(reader, revision)
            else:
                shown.two(*_subjects(reader, a, b, overrides))
        except KgenError as error:
            report.diagnose(error.diagnostics)
            report.refuse("nothing was compared")


def _check_use(a: str | None, b: str | None, revision: str | None, overrides: list[str]) -> None:
    """Raises a usage error for arguments that name no two sides."""
    if (a is None) == (revision is None):
        raise typer.BadParameter("give A and B, or --all REV", param_hint="A")
    if revision is not None and overrides:
        raise typer.BadParameter(
            "it changes one spec, and --all takes every one", param_hint="--set"
        )
    if revision is None and b is None and not overrides and (":" not in a or Path(a).exists()):
        raise typer.BadParameter(
            "give B, or changes of A with --set; only REV:PATH is compared with the same path now",
            param_hint="B",
        )


def _subjects(
    reader: Reader, a: str, b: str | None, overrides: list[str]
) -> tuple[Subject, Subject]:
    """A and B. Raises `KgenError` for what cannot be read, a usage error for changes of what is no spec."""
    other = b or (a if overrides else _now(reader, a))
    if overrides and not other.endswith((".yaml", ".yml")):
        raise typer.BadParameter(f"it changes a spec, and {other} is none", param_hint="--set")
    return reader.read(a), reader.read(other, overrides)


def _now(reader: Reader, subject: str) -> str:
    """The path of `REV:PATH` in the working tree."""
    name, _, inside = subject.partition(":")
    at = reader.revision(name)
    return os.path.relpath(at.root / at.inside(inside))


@dataclass
class _Shown:
    """Shows comparisons as they are made; `beside` is the layout of lines, None by the terminal."""

    report: Report
    how: Compiling
    receipts: Path | None
    stat: bool
    beside: bool | None
    found: list[FileDiff] = field(default_factory=list)
    _read: list[Entry] | None = None

    def two(self, a: Subject, b: Subject) -> None:
        """Two files, or the files of two folders by their paths."""
        if a.folder != b.folder:
            raise KgenError([_unlike(a, b)])
        names = sorted({*a.sides, *b.sides})
        self._all((name, a.sides.get(name), b.sides.get(name)) for name in names)
        self._close()

    def every(self, reader: Reader, revision: str) -> None:
        """Every spec, beside what a revision has."""
        from kgen.diff.every import every

        found = every(reader, revision)
        if not (found.now or found.then or found.failed):
            self.report.refuse(
                f"neither is a spec below specs/ here, nor has {revision} one: run it in the folder that has specs/"
            )
            return
        for error in found.failed:
            self.report.diagnose(error.diagnostics)
        self._all(found.pairs())
        self._close(len(found.failed))
        if found.failed:
            self.report.refuse(f"{len(found.failed)} of the specs could not be compared")

    def _all(self, pairs: Iterable[tuple[str, Side | None, Side | None]]) -> None:
        from kgen.diff import compare, show
        from kgen.diff.plain import as_json

        files = self.report.values.setdefault("files", [])
        for name, a, b in pairs:
            one = compare.between(name, a, b)
            if one.differs and not self.stat:
                self._say(show.head(one), show.spec_lines(one))
                if one.source is not None:
                    self._say(show.source_lines(one.source, self._hunks(one.source.hunks)))
            one = compare.with_consequence(one, self.how, self._entries)
            if one.differs and not self.stat:
                self._say(show.consequence_lines(one), [""])
            self.found.append(one)
            files.append(as_json(one))

    def _entries(self) -> list[Entry] | None:
        """The receipts to look into, read once; None where there are none."""
        if self._read is None and (self.receipts or RECEIPTS).exists():
            from kgen.evidence.ledger import entries

            self._read = entries([self.receipts or RECEIPTS])
        return self._read

    def _say(self, *parts: Iterable[str]) -> None:
        for line in (line for part in parts for line in part):
            self.report.say(line)

    def _hunks(self, hunks: Iterable[Hunk]) -> Iterable[str]:
        from kgen.diff.show import unified
        from kgen.diff.side_by_side import WIDE, side_by_side

        width = shutil.get_terminal_size().columns
        terminal = sys.stdout.isatty()
        beside = terminal and width >= WIDE if self.beside is None else self.beside
        if not beside:
            return unified(hunks)
        return side_by_side(hunks, width, terminal and not os.environ.get("NO_COLOR"))

    def _close(self, failed: int = 0) -> None:
        """Sums up, and fails the run where something differs."""
        from kgen.diff.summary import STAT, stat_row, summary

        if self.stat:
            self._say(table(STAT, map(stat_row, self.found)))
        total = summary(self.found, failed)
        self.report.say(total)
        self.report.values["summary"] = total
        if any(one.differs for one in self.found):
            self.report.fail()


def _unlike(a: Subject, b: Subject) -> Diagnostic:
    one, many = (b, a) if a.folder else (a, b)
    message = (
        f"a folder of {len(many.sides)} files cannot be compared with the one file {one.label}"
    )
    hint = f"give one of them, such as {many.label.rstrip('/')}/{min(many.sides)}"
    return Diagnostic("KG185", message, Place(many.label), hint)
