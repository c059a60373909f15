"""`kgen bench`: what the calls of a spec's workloads take, beside other files."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from kgen.cli import measuring
from kgen.cli.bundle import Bundle, bundle
from kgen.cli.options import BundleOrSpec, Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import table

HEADER = ("shape", "regime", "bytes", "operations", "launches", "no less than")


def bench(
    path: BundleOrSpec,
    against: measuring.Against = None,
    peers: measuring.Peers = [],
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="A static estimate instead: needs no GPU, measures nothing."
        ),
    ] = False,
    shapes: measuring.Shapes = "",
    seed: measuring.Seed = None,
    rounds: measuring.Rounds = 60,
    precision: measuring.Precision = 0.015,
    floor: measuring.Floor = 0.015,
    budget: measuring.Budget = "10m",
    timeout: measuring.Timeout = 300,
    out: measuring.Out = None,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Times the workloads of a spec on the GPU of this machine, with the share of what the device reaches."""
    from kgen.measure.request import Request

    options = {"seed": seed} if seed is not None else {}
    with reporting("bench", as_json) as report:
        built = bundle(path, overrides, templates)
        if estimate:
            _estimate(report, built)
            return
        request = Request(
            str(built.directory),
            str(against or ""),
            peers=[str(peer) for peer in peers],
            shapes=shapes,
            rounds=rounds,
            precision=precision,
            floor=floor,
            budget=measuring.seconds(budget),
            timeout=timeout,
            **options,
        )
        again = [
            "kgen",
            "bench",
            str(path),
            *(part for one in overrides for part in ("--set", one)),
        ]
        again += ["--templates", str(templates)] if templates else []
        hint = f"`{shlex.join([*again, '--estimate'])}` computes a static estimate"
        measuring.run(report, request, out, without_gpu=hint)


def _estimate(report: Report, built: Bundle) -> None:
    """What no call takes less than, on the first device of the spec."""
    from dataclasses import asdict

    from kgen.devices import device
    from kgen.measure.estimate import NOTE, estimates
    from kgen.measure.task import find_task

    name = built.manifest["devices"][0]
    found = device(name)
    rows = list(estimates(find_task(str(built.directory)), found))
    if not rows:
        report.refuse("the spec has no workload under `workloads.bench`, so nothing is estimated")
        return
    note = NOTE.format(device=name, basis=found.read_basis)
    report.values["estimate"] = {"note": note, "shapes": [asdict(one) for one in rows]}
    report.say(note)
    cells = [
        [
            one.shape,
            one.regime,
            one.bytes,
            one.operations,
            one.launches,
            f"{one.seconds * 1e6:.2f} us",
        ]
        for one in rows
    ]
    for line in table(HEADER, cells):
        report.say(line)
