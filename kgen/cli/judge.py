"""`kgen judge`: is a file right on inputs that it has never seen, and faster than what is used now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgen.cli import measuring
from kgen.cli.options import Json
from kgen.cli.report import reporting


def judge(
    submission: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, help="A bundle's folder, or a Python file with run(...)."
        ),
    ],
    against: Annotated[
        Path, typer.Option(metavar="FILE", exists=True, help="The baseline, used now.")
    ],
    incumbent: measuring.Incumbent = None,
    peers: measuring.Peers = [],
    problem: measuring.Problem = None,
    shapes: measuring.Shapes = "",
    seed: measuring.Seed = None,
    rounds: measuring.Rounds = 60,
    precision: measuring.Precision = 0.015,
    floor: measuring.Floor = 0.015,
    budget: measuring.Budget = "10m",
    timeout: measuring.Timeout = 300,
    min_gain: Annotated[
        float | None,
        typer.Option(help="Share that the mean must gain; the spec's if left out.", min=0),
    ] = None,
    max_regression: Annotated[
        float | None,
        typer.Option(help="Share that no shape may lose; the spec's if left out.", min=0),
    ] = None,
    out: measuring.Out = None,
    as_json: Json = False,
) -> None:
    """Judges a file: correctness on fresh inputs before and after timing, flags, ratios, gates. Needs a GPU.

    Exit code 0 only if every gate passed.
    """
    from kgen.measure.request import Request

    options = {"seed": seed} if seed is not None else {}
    with reporting("judge", as_json) as report:
        request = Request(
            str(submission),
            str(against),
            incumbent=str(incumbent or ""),
            peers=[str(peer) for peer in peers],
            problem=str(problem or ""),
            shapes=shapes,
            rounds=rounds,
            precision=precision,
            floor=floor,
            budget=measuring.seconds(budget),
            timeout=timeout,
            **options,
        )
        measuring.run(report, request, out, (min_gain, max_regression))
