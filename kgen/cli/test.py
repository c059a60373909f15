"""`kgen test`: a bundle's kernels run against the family's reference, in the interpreter or on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kgen.cli.bundle import Bundle, bundle
from kgen.cli.options import BundleOrSpec, Json, Set, Templates
from kgen.cli.report import Report, reporting

if TYPE_CHECKING:
    from kgen.runner.results import CaseResult

Mode = Literal["auto", "interpret", "gpu"]


def test(
    path: BundleOrSpec,
    mode: Annotated[
        Mode, typer.Option(help="Where kernels run; auto takes a GPU if there is one.")
    ] = "auto",
    seed: Annotated[
        int | None, typer.Option(help="Of the random inputs; drawn and printed if left out.")
    ] = None,
    only: Annotated[
        str, typer.Option("--filter", metavar="TEXT", help="Part of a case's or regime's name.")
    ] = "",
    timeout: Annotated[float, typer.Option(help="Seconds for one case.", min=1)] = 300,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Runs every kernel against the fp64 reference. Only a case that passed counts as passed."""
    with reporting("test", as_json) as report:
        built = bundle(path, overrides, templates)
        test_bundle(report, built, mode=mode, seed=seed, only=only, timeout=timeout)


def test_bundle(
    report: Report,
    built: Bundle,
    *,
    mode: Mode,
    seed: int | None = None,
    only: str = "",
    timeout: float = 300,
) -> None:
    """Runs a bundle's cases and reports each as it ends, so that nothing is lost when the work is cut."""
    from kgen.run import test_bundle as run
    from kgen.runner.table import table

    cases = report.values["cases"] = []

    def on_case(result: CaseResult) -> None:
        cases.append(result.as_json())
        report.say(_line(result))

    outcome = run(
        built.directory, mode=mode, seed=seed, timeout=timeout, filter=only, on_case=on_case
    )
    report.values["summary"] = outcome.summary.as_json()
    report.diagnose(outcome.diagnostics())
    report.say(table((), outcome.summary))
    if not outcome.passed:
        report.fail()


def _line(result: CaseResult) -> str:
    detail = result.note
    if result.status.value == "passed":
        detail = (
            f"error {result.worst:.2f} of what is allowed, {result.seconds:.2f} s {result.note}"
        )
    return f"{result.status.value:8}{result.regime}: {result.name}  {detail}".rstrip()
