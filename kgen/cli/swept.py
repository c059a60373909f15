"""The work of `kgen sweep`: a spec made ready, then measured here or packed, and what came of it told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kgen.cli.bundle import search
from kgen.cli.estimated import estimates
from kgen.cli.report import Report
from kgen.cli.table import table
from kgen.diagnostics import KgenError
from kgen.measure.member import NoRun
from kgen.paths import cache_dir
from kgen.spec import Spec, load
from kgen.sweep.conclude import Where, concluded
from kgen.sweep.executor import crew, visible_gpus
from kgen.sweep.field import Field
from kgen.sweep.pack import Packed, pack, unpacked
from kgen.sweep.pack import take_back as taken_from
from kgen.sweep.prepare import Asked, Prepared, field_of, prepared
from kgen.sweep.progress import Bars
from kgen.sweep.rendered import Source, workloads
from kgen.sweep.report import report as lines
from kgen.sweep.report import values
from kgen.sweep.state import Plan, State
from kgen.sweep.store import Store
from kgen.sweep.sweeps import sweep_all
from kgen.sweep.trial import Timing

PACK = "`kgen sweep --pack DIR` packs the sweep for one that has"


@dataclass(frozen=True)
class Wanted:
    """What is to be swept."""

    path: Path
    overrides: tuple[str, ...]
    templates: Path | None
    asked: Asked
    explain: bool
    quiet: bool

    def source(self) -> Source:
        """The spec's file with its templates."""
        return Source(self.path, self.overrides, search(self.templates), cache_dir())


@dataclass(frozen=True)
class Ready:
    """A spec with its regimes ranked and compiled."""

    source: Source
    spec: Spec
    regimes: tuple[Prepared, ...]

    def fields(self, shapes: str) -> tuple[Field, ...]:
        """Every candidate rendered."""
        return tuple(field_of(self.source, self.spec, one, shapes) for one in self.regimes)


def measure(
    report: Report, wanted: Wanted, plan: Plan, timing: Timing, store_path: Path, executor: str
) -> None:
    """Sweeps on this machine's GPUs or on a cluster; where no GPU is, the estimate is all there is."""
    store = Store(store_path)
    with Bars(not wanted.quiet) as bars:
        ready = _ready(report, wanted, bars)
        if not executor and not visible_gpus():
            estimates(report, ready.source, ready.spec.document.family, ready.regimes)
            report.refuse(f"this machine has no GPU; {PACK}")
            return
        fields = ready.fields(wanted.asked.shapes)
        dropped = {one.regime: sum(each.count for each in one.dropped) for one in ready.regimes}

        def told(state: State) -> None:
            bars.measured(state, dropped[state.regime])

        try:
            report.values["state"] = sweep_all(fields, store, crew(executor), timing, plan, told)
        except KeyboardInterrupt:
            report.values["state"] = "incomplete: interrupted"
            report.interrupted = True
        except NoRun as error:
            report.values["state"] = "incomplete"
            report.refuse(f"nothing more could be measured: {error}")
        except KgenError as error:
            # such as a disk that is full: what was found before is told
            report.values["state"] = "incomplete"
            report.diagnose(error.diagnostics)
    _conclude(report, fields, store)
    report.say(f"{report.values['state']}; the trials are in {store_path}")


def pack_up(
    report: Report, wanted: Wanted, plan: Plan, timing: Timing, store_path: Path, folder: Path
) -> None:
    """Writes the sweep into a folder; there is no optuna over there."""
    with Bars(not wanted.quiet) as bars:
        ready = _ready(report, wanted, bars)
        fields = ready.fields(wanted.asked.shapes)
    chosen = "exhaustive" if plan.strategy == "auto" else plan.strategy
    pack(folder, Packed(fields, timing, replace(plan, strategy=chosen)), Store(store_path))
    estimates(report, ready.source, ready.spec.document.family, ready.regimes)
    number = sum(len(one.entrants) for one in fields)
    report.values["packed"] = str(folder)
    report.say(f"{number} candidates in {folder}; on a machine with a GPU, beside kgen's folder:")
    report.say(f"  python -m kgen.sweep.remote {folder}")
    report.say(f"and then, here, `kgen sweep --unpack {folder}`")


def take_back(report: Report, folder: Path, store_path: Path) -> None:
    """Adds what a packed sweep measured, and tells what is known now."""
    store = Store(store_path)
    new = taken_from(folder, store)
    report.values["new_trials"] = new
    report.say(f"{new} new trials in {store_path}")
    _conclude(report, unpacked(folder).fields, store)


def _ready(report: Report, wanted: Wanted, bars: Bars) -> Ready:
    source = wanted.source()
    spec = load(wanted.path, wanted.overrides)
    regimes = tuple(prepared(source, spec, wanted.asked, bars.compiled))
    report.values["dropped"] = [_plain_dropped(one) for one in regimes]
    if wanted.explain:
        for one in regimes:
            _explain(report, one)
    return Ready(source, spec, regimes)


def _conclude(report: Report, fields: Sequence[Field], store: Store) -> None:
    """A table for each regime, at each place of the store where it was measured."""
    found = []
    for field in fields:
        timed = [
            one
            for one in workloads(field.present.file.manifest)
            if one.regime == field.regime and field.shapes in one.name
        ]
        present = (field.present.core, field.present.signature)
        for where in _measured(field, store):
            one = concluded(store, field.spec, field.regime, where, timed, present)
            found.append(values(one, present))
            for line in lines(one, present):
                report.say(line)
            report.say()
    report.values["regimes"] = found


def _measured(field: Field, store: Store) -> list[Where]:
    own = {(one.core, one.signature) for one in field.entrants}
    keys = (key for key in store.results() if (key.core, key.signature) in own)
    return list(dict.fromkeys(Where(key.device, key.versions) for key in keys))


def _explain(report: Report, one: Prepared) -> None:
    left = len(one.best())
    report.say(f"{one.regime}: {one.ranking.size} candidates, {left} compiled")
    if not one.dropped:
        report.say("no rule dropped any")
        return
    rows = [
        [each.count, each.variant, each.rule, each.why, str(each.place)] for each in one.dropped
    ]
    for line in table(("dropped", "variant", "rule", "why", "at"), rows):
        report.say(line)


def _plain_dropped(one: Prepared) -> dict:
    return {
        "regime": one.regime,
        "candidates": one.ranking.size,
        "rules": [
            {
                "variant": each.variant,
                "rule": each.rule,
                "why": each.why,
                "count": each.count,
                "place": str(each.place),
            }
            for each in one.dropped
        ],
    }
