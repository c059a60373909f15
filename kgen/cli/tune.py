"""`kgen tune`: what a sweep measured, written back into the spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli import sweeping
from kgen.cli.bundle import search
from kgen.cli.options import Json, Spec, Templates
from kgen.cli.report import Report, reporting
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.tune.choose import Choice
    from kgen.tune.tuned import Tuned


def tune(
    path: Spec,
    store: sweeping.StorePath = None,
    on: sweeping.On = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Shows the difference and writes nothing.")
    ] = False,
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Writes the measured winners into a spec, where they are distinguishable from what it has.

    Comments, order and layout stay as they are.
    """
    with reporting("tune", as_json) as report:
        choices, found = _tuned(path, sweeping.store_path(store), on, templates)
        for one in choices:
            report.say(f"{one.regime}: {'changed' if one.winner else 'kept'}; {one.why}")
        for line in found.diff():
            report.say(line)
        _write(report, path, found, dry_run)
        report.values["regimes"] = [_plain(one) for one in choices]
        report.values["diff"] = "\n".join(found.diff())


def _tuned(
    path: Path, store_path: Path, on: str, templates: Path | None
) -> tuple[list[Choice], Tuned]:
    from kgen.spec import load
    from kgen.sweep.conclude import concluded
    from kgen.sweep.rendered import Source, workloads
    from kgen.sweep.space import current
    from kgen.sweep.store import Store
    from kgen.tune.choose import choose
    from kgen.tune.tuned import tuned

    spec = load(path)
    source = Source(path, (), search(templates), cache_dir())
    store = Store(store_path, create=False)
    name = spec.document.name
    where = sweeping.where(store, name, on)
    swept = {one.regime for one in store.entries(name)}
    choices = []
    for number, regime in enumerate(spec.document.regimes):
        if regime.name not in swept or regime.variant is None:
            continue
        own = source.entrant(current(spec, source.templates, number))
        timed = [one for one in workloads(own.file.manifest) if one.regime == regime.name]
        present = (own.core, own.signature)
        choices.append(choose(concluded(store, name, regime.name, where, timed, present), present))
    return choices, tuned(source, spec, choices, where)


def _write(report: Report, path: Path, found: Tuned, dry_run: bool) -> None:
    changed = found.before != found.after
    report.values["written"] = changed and not dry_run
    if changed and not dry_run:
        from kgen.render.write import write_atomically

        write_atomically(path, found.after)
        report.say(f"written to {path}")
    elif not changed:
        report.say("nothing to change")


def _plain(choice: Choice) -> dict:
    winner = choice.winner
    return {
        "regime": choice.regime,
        "changed": winner is not None,
        "why": choice.why,
        "settings": dict(winner.entry.settings) if winner else None,
        "trials": list(winner.ids) if winner else [],
    }
