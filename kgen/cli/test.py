"""`kgen test`: a bundle's kernels run against the family's reference, in the interpreter or on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kgen.cli.bundle import Bundle, bundle
from kgen.cli.options import BundleOrSpec, Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import Cell, table

if TYPE_CHECKING:
    from kgen.runner.results import CaseResult

STATUSES = ("passed", "failed", "error", "skipped")
HEADER = ("regime", "cases", *STATUSES, "largest error / allowed")
NO_LAUNCH = "(nothing to launch)"
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
    each: bool = True,
) -> None:
    """Runs a bundle's cases and reports them by regime, with `each` also every case as it ends.

    What is done when the work is cut is kept.
    """
    from kgen.run import test_bundle as run
    from kgen.runner.table import table as summary

    cases = report.values["cases"] = []
    results: list[CaseResult] = []

    def on_case(result: CaseResult) -> None:
        results.append(result)
        cases.append(result.as_json())
        if each:
            report.say(_line(result))
        report.progress(f"{len(cases)} cases")

    outcome = run(
        built.directory, mode=mode, seed=seed, timeout=timeout, filter=only, on_case=on_case
    )
    report.values["summary"] = outcome.summary.as_json()
    report.diagnose(outcome.diagnostics())
    for line in table(HEADER, _by_regime(results)):
        report.say(line)
    missed = report.values["not_run"] = _not_run(results, built.manifest)
    if missed:
        report.say(f"not run: {', '.join(missed)}, which no case that was asked for reaches")
    report.say(summary((), outcome.summary))
    if not outcome.passed:
        report.fail()


def _not_run(results: list[CaseResult], manifest: Mapping[str, Any]) -> list[str]:
    """The regimes that nothing is said of."""
    reached = {result.regime for result in results}
    return [one["name"] for one in manifest["regimes"] if one["name"] not in reached]


def _by_regime(results: list[CaseResult]) -> Iterator[list[Cell]]:
    """How many cases of each regime have each status, and the largest error of those that passed."""
    groups: dict[str, list[CaseResult]] = {}
    for result in results:
        groups.setdefault(result.regime or NO_LAUNCH, []).append(result)
    for regime, found in groups.items():
        statuses = [result.status.value for result in found]
        worst = max((one.worst for one in found if one.status.value == "passed"), default=None)
        yield [regime, len(found), *(statuses.count(status) for status in STATUSES), worst]


def _line(result: CaseResult) -> str:
    detail = result.note
    if result.status.value == "passed":
        detail = (
            f"error {result.worst:.2f} of what is allowed, {result.seconds:.2f} s {result.note}"
        )
    return f"{result.status.value:8}{result.regime or NO_LAUNCH}: {result.name}  {detail}".rstrip()
