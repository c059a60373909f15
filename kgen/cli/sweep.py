"""`kgen sweep`: the best candidate of each regime, found and measured; or packed, taken back, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kgen.cli import measuring, sweeping
from kgen.cli.options import Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import table
from kgen.diagnostics import KgenError

if TYPE_CHECKING:
    from kgen.sweep.replay import Replayed


def sweep(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC", help="A kernel spec.", exists=True, dir_okay=False),
    ] = None,
    axes: Annotated[
        list[str],
        typer.Option(
            "--axis",
            metavar="REGIME.KEY=VALUES",
            help="Tries these values, such as decode.tile.BLOCK_N=32,64, in place of the spec's `sweep`.",
        ),
    ] = [],
    everything: Annotated[
        bool, typer.Option("--everything", help="Tries every parameter of every variant.")
    ] = False,
    top: Annotated[
        int, typer.Option(help="How many candidates of a regime are compiled and measured.", min=1)
    ] = 64,
    explain: Annotated[
        bool, typer.Option("--explain", help="Lists how many candidates each rule dropped.")
    ] = False,
    store: sweeping.StorePath = None,
    budget: Annotated[str, typer.Option(help="Time to measure in, such as 60s or 10m.")] = "10m",
    strategy: Annotated[
        Literal["auto", "exhaustive", "random", "tpe"],
        typer.Option(
            help="In which order candidates are tried; `auto` is exhaustive where they are few."
        ),
    ] = "auto",
    trials: Annotated[
        int | None, typer.Option(help="At most so many candidates of a regime.", min=1)
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A database of optuna's, in which several sweeps propose together."
        ),
    ] = None,
    shapes: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Part of the names of the workloads that are measured; all of a regime's if left out.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option(help="Of inputs and of the search.", min=0)] = 0,
    rounds: Annotated[int, typer.Option(help="The most rounds of a candidate.", min=5)] = 60,
    precision: measuring.Precision = 0.015,
    timeout: measuring.Timeout = 120,
    executor: Annotated[
        str, typer.Option(metavar="dask://HOST:PORT", help="A cluster's scheduler.")
    ] = "",
    workers: Annotated[int, typer.Option(help="Compiler processes at a time.", min=1)] = 2,
    pack: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Writes the sweep there, for a machine with a GPU."),
    ] = None,
    unpack: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", exists=True, file_okay=False, help="Takes back what was measured there."
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="How many trials each strategy needs on what this store recorded."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Shows no progress.")] = False,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Searches the best parameters and variant of each regime.

    Ranks all candidates by a cost model, compiles the best without a GPU, and measures those in turns with what the spec
    has now. Every trial is kept as it ends; run again, it goes on. Without a GPU the ranking is an estimate.
    """
    from kgen.cli import swept
    from kgen.sweep.state import Plan
    from kgen.sweep.prepare import Asked
    from kgen.sweep.race import Rules
    from kgen.sweep.trial import Timing

    if path is None and unpack is None and replay is None:
        raise typer.BadParameter(
            "name a spec; only --unpack and --replay need none", param_hint="SPEC"
        )
    if sum(one is not None for one in (pack, unpack, replay)) > 1:
        raise typer.BadParameter(
            "each is a thing of its own", param_hint="--pack/--unpack/--replay"
        )
    with reporting("sweep", as_json) as report:
        if replay is not None:
            _replay(report, replay, seed)
            return
        where = sweeping.store_path(store)
        if unpack is not None:
            swept.take_back(report, unpack, where)
            return
        plan = Plan(
            strategy=strategy,
            seed=seed,
            trials=trials,
            seconds=measuring.seconds(budget),
            storage=storage,
            rules=Rules(most=rounds, precision=precision),
        )
        wanted = swept.Wanted(
            path=path,
            overrides=tuple(overrides),
            templates=templates,
            asked=Asked(tuple(axes), everything, top, shapes, workers),
            explain=explain,
            quiet=quiet or as_json,
        )
        timing = Timing(seed=seed, timeout=timeout)
        if pack is not None:
            swept.pack_up(report, wanted, plan, timing, where, pack)
        else:
            swept.measure(report, wanted, plan, timing, where, executor)


def _replay(report: Report, path: Path, seed: int) -> None:
    """How many trials each strategy needs on what a store recorded."""
    from kgen.sweep.replay import replay
    from kgen.sweep.store import Store

    try:
        found = list(replay(Store(path, create=False), seed))
    except KgenError as error:
        report.diagnose(error.diagnostics)
        report.refuse("nothing was replayed")
        return
    report.values["replay"] = [_plain(one) for one in found]
    if not found:
        report.refuse(f"{path} has no regime of which two candidates were measured at every shape")
        return
    report.say(f"trials until within 1 % of the best, seed {seed}")
    rows = [
        [one.recorded.spec, one.recorded.regime, one.recorded.device, one.strategy, one.trials]
        + [one.candidates]
        for one in found
    ]
    for line in table(("spec", "regime", "device", "strategy", "trials", "of"), rows):
        report.say(line)


def _plain(one: Replayed) -> dict:
    return {
        "spec": one.recorded.spec,
        "regime": one.recorded.regime,
        "device": one.recorded.device,
        "versions": one.recorded.versions,
        "strategy": one.strategy,
        "trials": one.trials,
        "candidates": one.candidates,
    }
