"""`kgen prove`: the kernels and launchers of a file, which may have been changed by hand, against the spec it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgen.cli.bundle import made, search, write
from kgen.cli.options import Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import Cell, table
from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.algebra.second import Confirm
    from kgen.make import Made
    from kgen.plan.templates import Templates as Search
    from kgen.prove.frontend import Frontend
    from kgen.spec import Spec

HEADER = ("kernel", "subject")
STATUSES = ("proved", "refuted", "unknown")
WAIVED = "waived"


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
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PROOF",
            help="Writes the verdicts with their certificates there, for `kgen recheck`.",
            dir_okay=False,
        ),
    ] = None,
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
        report.diagnose(_of_another(loaded, text, file))
        tell(report, loaded, found, fresh, text, str(file), verbose, output)


def tell(
    report: Report,
    spec: Spec,
    templates: Search,
    made: Made,
    text: str,
    file: str,
    verbose: bool = False,
    output: Path | None = None,
    frontend: Frontend | None = None,
    confirm: Confirm | None = None,
) -> None:
    """Reports what is proved of the text of a file, by kernel and subject, or with `verbose` one by one.

    With `output` the evidence is written there. `frontend` may be one that was started before, `confirm` is
    whom to ask for the second opinion on proofs.
    """
    from kgen.prove.verdicts import settled, verdicts

    evidence = output is not None
    found = verdicts(spec, templates, text, made, cache_dir(), file, evidence, frontend, confirm)
    report.values["obligations"] += found.obligations
    report.values["promises"] = list(found.promises)
    if verbose:
        for one in found.obligations:
            report.say(_line(one))
        for promise in found.promises:
            report.say(f"assumed  {promise}")
    else:
        for line in _table(found.obligations):
            report.say(line)
    if output is not None and found.evidence is not None:
        from kgen.prove.evidence import evidence_text

        write({output: evidence_text(found.evidence)})
        report.say(f"wrote {output}")
    report.diagnose(found.findings)
    if not all(map(settled, found.obligations)):
        report.fail()


def _of_another(spec: Spec, text: str, file: Path) -> Iterator[Diagnostic]:
    """Whether the file itself says that it was made from another spec; a change of the same one says nothing."""
    from kgen.render.header import header_of

    header = header_of(text)
    own = spec.document.name
    if header is None or header.name == own:
        return
    message = f"the file was rendered from another spec, {header.name} ({header.file}), than {own}"
    hint = f"name the spec that it was made from with --spec; what follows compares it with {own}"
    yield Diagnostic("KG806", message, Place(str(file)), hint, severity=Severity.INFO)


def _line(one: Mapping[str, Any]) -> str:
    """An obligation with its evidence; a waived one with the verdict that it has all the same, and the reason."""
    where = f" line {one['line']}" if one["line"] else ""
    said = "{regime}: {kernel}{where}: {subject}: {says}".format(
        **{**one, "kernel": _about(one)}, where=where
    )
    if "waived" in one:
        return f"{WAIVED:8} {said} ({one['status']}: {one['evidence']}; waived because {one['waived']})"
    return f"{one['status']:8} {said} ({one['evidence']})"


def _about(one: Mapping[str, Any]) -> str:
    return one["kernel"] or one["launcher"] or "the file"


def _table(obligations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many obligations of each kernel and subject have each status; below it every waiver."""
    waived = [one for one in obligations if WAIVED in one]
    columns = (*STATUSES, WAIVED) if waived else STATUSES
    yield from table((*HEADER, *columns), _counts(obligations, columns))
    yield from map(_line, waived)


def _counts(
    obligations: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> Iterator[list[Cell]]:
    """The rows of the table: what is waived counts as that, and as nothing else."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in obligations:
        kernel = _about(one)
        status = WAIVED if WAIVED in one else one["status"]
        groups.setdefault((kernel, one["subject"]), []).append(status)
    for (kernel, subject), statuses in groups.items():
        yield [kernel, subject, *map(statuses.count, columns)]
