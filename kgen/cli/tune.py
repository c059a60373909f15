"""`kgen tune`: what a sweep measured, written back into the spec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli import sweeping
from kgen.cli.bundle import search
from kgen.cli.options import Json, Spec, Templates
from kgen.cli.report import Report, reporting
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.spec import Spec as LoadedSpec
    from kgen.sweep.conclude import Where
    from kgen.sweep.rendered import Source
    from kgen.sweep.store import Store
    from kgen.tune.tuned import Decision, Tuned

EVERY = 2**31
"""Rows of a regime, where a candidate that is slow on the whole may be the best at one shape."""


def tune(
    path: Spec,
    store: sweeping.StorePath = None,
    on: sweeping.On = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Shows the difference and writes nothing.")
    ] = False,
    regimes: Annotated[
        bool,
        typer.Option(
            "--regimes",
            help="Also cuts a regime in parts where no one candidate is best at every measured shape.",
        ),
    ] = False,
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Writes the measured winners into a spec, where they are distinguishable from what it has.

    Comments, order and layout stay as they are.
    """
    with reporting("tune", as_json) as report:
        found = _tuned(path, sweeping.store_path(store), on, regimes, templates)
        report.values["regimes"] = [one.plain() for one in found.decisions]
        report.values["absent"] = list(found.absent)
        report.values["diff"] = "\n".join(found.diff())
        for line in found.told():
            report.say(line)
        _write(report, path, found, dry_run)


def _tuned(path: Path, store_path: Path, on: str, regimes: bool, templates: Path | None) -> Tuned:
    from kgen.spec import load
    from kgen.sweep.rendered import Source
    from kgen.sweep.store import Store
    from kgen.tune.tuned import tuned

    spec = load(path)
    source = Source(path, (), search(templates), cache_dir())
    store = Store(store_path, create=False)
    where = sweeping.where(store, spec.document.name, on)
    swept = dict.fromkeys(one.regime for one in store.entries(spec.document.name))
    decisions = [
        _decided(source, spec, number, store, where, regimes)
        for number, regime in enumerate(spec.document.regimes)
        if regime.name in swept and regime.variant is not None
    ]
    absent = swept.keys() - {one.regime for one in decisions}
    return replace(tuned(source, spec, decisions, where), absent=tuple(sorted(absent)))


def _decided(
    source: Source, spec: LoadedSpec, number: int, store: Store, where: Where, regimes: bool
) -> Decision:
    """What becomes of one regime."""
    from kgen.sweep.conclude import SHOWN, concluded
    from kgen.sweep.rendered import workloads
    from kgen.sweep.space import current
    from kgen.tune.choose import choose
    from kgen.tune.split import fallback_settings, split

    name, regime = spec.document.name, spec.document.regimes[number].name
    own = source.entrant(current(spec, source.templates, number))
    timed = [one for one in workloads(own.file.manifest) if one.regime == regime]
    present = (own.core, own.signature)
    most = EVERY if regimes else SHOWN
    found = concluded(store, name, regime, where, timed, present, most)
    if regimes:
        manifest = own.file.manifest
        fallback = fallback_settings(manifest, spec.document.family, source.templates)
        axes = {one.name: one.axes for one in timed}
        cut = split(found, axes, fallback, manifest["problem"]["axes"], present)
        if cut is not None:
            return cut
    return choose(found, present)


def _write(report: Report, path: Path, found: Tuned, dry_run: bool) -> None:
    changed = found.before != found.after
    report.values["written"] = False
    if changed and not dry_run:
        from kgen.tune.save import save

        save(path, found.before, found.after)
        report.values["written"] = True
        report.say(f"written to {path}")
    elif not changed:
        report.say("nothing to change")
