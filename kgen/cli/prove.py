"""`kgen prove`: the kernels and launchers of a file, which may have been changed by hand, against the spec it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgen.cli.bundle import made, search
from kgen.cli.options import Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import Cell, table
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.make import Made
    from kgen.plan.templates import Templates as Search
    from kgen.spec import Spec

HEADER = ("kernel", "subject", "proved", "refuted", "unknown")


def prove(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An emitted file.", exists=True, dir_okay=False)
    ],
    spec: Annotated[
        Path,
        typer.Option(
            "--spec", metavar="SPEC", help="The spec it was made from.", exists=True, dir_okay=False
        ),
    ],
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Prints every obligation with its evidence.")
    ] = False,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Proves the kernels and launchers of a file. What is refuted or unknown is a finding."""
    with reporting("prove", as_json) as report:
        found = search(templates)
        loaded, fresh = made(spec, overrides, found)
        text = file.read_text(encoding="utf-8")
        report.values["obligations"] = []
        tell(report, loaded, found, fresh, text, str(file), verbose)


def tell(
    report: Report,
    spec: Spec,
    templates: Search,
    made: Made,
    text: str,
    file: str,
    verbose: bool = False,
) -> None:
    """Reports what is proved of the text of a file, by kernel and subject, or with `verbose` one by one."""
    from kgen.prove.verdicts import verdicts

    found = verdicts(spec, templates, text, made.manifest, cache_dir(), file)
    report.values["obligations"] += found.obligations
    report.values["promises"] = list(found.promises)
    if verbose:
        for one in found.obligations:
            report.say(_line(one))
        for promise in found.promises:
            report.say(f"assumed  {promise}")
    else:
        for line in table(HEADER, _counts(found.obligations)):
            report.say(line)
    report.diagnose(found.findings)
    if any(one["status"] != "proved" for one in found.obligations):
        report.fail()


def _line(one: Mapping[str, Any]) -> str:
    where = f" line {one['line']}" if one["line"] else ""
    return "{status:8} {regime}: {kernel}{where}: {subject}: {says} ({evidence})".format(
        **one, where=where
    )


def _counts(obligations: Sequence[Mapping[str, Any]]) -> Iterator[list[Cell]]:
    """How many obligations of each kernel and subject have each status."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in obligations:
        kernel = one["kernel"] or one["launcher"]
        groups.setdefault((kernel, one["subject"]), []).append(one["status"])
    for (kernel, subject), statuses in groups.items():
        yield [kernel, subject, *(statuses.count(status) for status in HEADER[2:])]
