"""What `kgen bench` and `kgen judge` share: their options, a run, and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli.report import Report

if TYPE_CHECKING:
    from kgen.measure.request import Request

Against = Annotated[Path | None, typer.Option(metavar="FILE", exists=True, help="The baseline.")]
Incumbent = Annotated[
    Path | None, typer.Option(metavar="FILE", exists=True, help="The best file so far.")
]
Peers = Annotated[
    list[Path],
    typer.Option("--peer", metavar="FILE", exists=True, help="Measured and shown, never gated."),
]
Problem = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        help="What is computed: a bundle, or a Python file; the judged file's own if left out.",
    ),
]
Shapes = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="Part of the names of the shapes; a file that is judged at some of them only is not promoted.",
    ),
]
Seed = Annotated[
    int | None, typer.Option(help="Of the inputs; drawn and recorded if left out.", min=0)
]
Rounds = Annotated[int, typer.Option(help="The most rounds of a shape.", min=5)]
Precision = Annotated[
    float,
    typer.Option(help="Half width of a ratio's interval that ends a shape's rounds.", min=0.0001),
]
Floor = Annotated[
    float, typer.Option(help="Half width that no interval is narrower than.", min=0, max=0.5)
]
Budget = Annotated[str, typer.Option(help="Time for the rounds of all shapes, such as 60s or 5m.")]
Timeout = Annotated[float, typer.Option(help="Seconds for one step of one candidate.", min=1)]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", file_okay=False, help="Where the receipt is written.")
]


def seconds(budget: str) -> float:
    """A time with its unit; bare numbers are seconds. Raises `typer.BadParameter`."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (budget[:-1], budget[-1]) if budget[-1:] in units else (budget, "s")
    try:
        found = float(number) * units[unit]
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise typer.BadParameter(f"{budget!r} is no time; write it as 60s or 5m")
    return found


def run(
    report: Report,
    request: Request,
    out: Path | None,
    gates: tuple[float | None, float | None] = (None, None),
    without_gpu: str = "",
) -> None:
    """Measures and reports; where nothing can be measured, says why in one line and exits with 2.

    `without_gpu` is what to do where no GPU is.
    """
    from kgen.evidence.plain import plain
    from kgen.measure.judge import FINDINGS, INTERRUPTED, NOTHING, judged

    outcome = judged(request, out, report.progress, gates)
    for line in outcome.lines:
        report.say(line)
    report.values["record"] = plain(outcome.record) if outcome.record else None
    report.values["receipt"] = str(outcome.receipt) if outcome.receipt else None
    if outcome.code == NOTHING:
        hint = f"; {without_gpu}" if outcome.no_gpu and without_gpu else ""
        report.refuse(outcome.problem + hint)
    elif outcome.code == INTERRUPTED:
        report.interrupted = True
    elif outcome.code == FINDINGS:
        report.fail()
