"""`kgen check`: everything that can be known of a spec without compiling or running it, proved or found."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli.bundle import SUBMISSION, search
from kgen.cli.options import Json, Set, Spec, Templates
from kgen.cli.prove import tell as tell_proof
from kgen.cli.report import Report, reporting
from kgen.cli.table import Cell, table
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.algebra.second import Confirm
    from kgen.make import Made
    from kgen.plan.templates import Templates as Search
    from kgen.prove.frontend import Frontend
    from kgen.spec import Spec as Loaded

HEADER = ("regime", "subject", "proved", "refuted", "unknown")


def check(
    spec: Spec,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Prints every obligation with its evidence.")
    ] = False,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Checks a spec, proves its plan, and proves the kernels that it renders. What is refuted or unknown is a finding."""
    with reporting("check", as_json) as report:
        check_spec(report, spec, overrides, search(templates), verbose)


def check_spec(
    report: Report,
    path: Path,
    overrides: Sequence[str],
    templates: Search,
    verbose: bool = False,
) -> tuple[Loaded, Made]:
    """Reports what is proved of a spec's plan, and of the file that it renders, if it may be used at all."""
    from kgen.make import is_made, make
    from kgen.spec import load

    spec, cache = load(path, overrides), cache_dir()
    with _beside(not is_made(spec, templates, cache)) as (frontend, confirm):
        found = make(spec, templates, cache, confirm)
        tell(report, found, verbose)
        if not found.wrong:
            if not verbose:
                report.say()
            tell_proof(
                report,
                spec,
                templates,
                found,
                found.text,
                SUBMISSION,
                verbose,
                frontend=frontend,
                confirm=confirm,
            )
    return spec, found


@contextlib.contextmanager
def _beside(wanted: bool) -> Iterator[tuple[Frontend | None, Confirm | None]]:
    """Processes that import Triton and sympy while the plan is made; none where they are not `wanted`."""
    if not wanted:
        yield None, None
        return
    from kgen.algebra import second
    from kgen.prove.frontend import Frontend

    with Frontend.ahead() as frontend, second.beside() as confirm:
        yield frontend, confirm


def tell(report: Report, found: Made, verbose: bool = False) -> None:
    """Reports each subject's verdicts, or with `verbose` each obligation's, and what was found."""
    obligations = found.manifest["plan"]
    report.values["obligations"] = list(obligations)
    if verbose:
        for one in obligations:
            report.say("{status:8} {regime}: {subject}: {says} ({evidence})".format(**one))
    else:
        for line in table(HEADER, _counts(obligations)):
            report.say(line)
    report.diagnose(found.findings)
    if any(one["status"] != "proved" for one in obligations):
        report.fail()


def _counts(obligations: Sequence[dict[str, str]]) -> Iterator[list[Cell]]:
    """How many obligations of each regime and subject have each status."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in obligations:
        groups.setdefault((one["regime"], one["subject"]), []).append(one["status"])
    for (regime, subject), statuses in groups.items():
        yield [regime, subject, *(statuses.count(status) for status in HEADER[2:])]
