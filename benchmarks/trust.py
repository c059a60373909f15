"""What a store of measured trials shows of the static estimates: where the measured best lay in the order they gave.

    python benchmarks/trust.py STORE SPEC [SPEC ...]

Adds one entry for each variant and workload to `kgen/sweep/trust.yaml`, once for each version of the cost model. Only
candidates count that have a time at the workload. The estimates are those that the store has, so a few candidates, spread
over its order, are rendered and compiled first: where today's model gives them others, nothing is added, and the exit status
is 1. No kernel is run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from kgen.paths import cache_dir
from kgen.plan.templates import Templates
from kgen.spec import load
from kgen.sweep.compile_rank import compile_best
from kgen.sweep.conclude import Where, places
from kgen.sweep.model import Candidate, Estimate, Ranked, text
from kgen.sweep.rank import rank
from kgen.sweep.records import Entry, Key, Result
from kgen.sweep.rendered import Source, Workload, workloads
from kgen.sweep.space import axes, current
from kgen.sweep.store import Store
from kgen.sweep.trust import RECORDED, Confirmation, added, confirmation, confirmations

SAMPLE = 6
"""Candidates of a regime that are estimated anew."""


def moved(store: Store, path: Path, cache: Path, sample: int = SAMPLE) -> Iterator[str]:
    """Candidates of the sample whose estimates today are not those that the store has of them."""
    spec, templates = load(path), Templates()
    for regime in spec.document.regimes:
        entries = [one for one in store.entries(spec.document.name) if one.regime == regime.name]
        known = {frozenset(one.settings): one.estimates for one in entries}
        if known:
            asked = list(axes(spec, templates, _axes(regime.name, entries)))
            ranking = rank(spec, templates, asked)
            own = [one for one in ranking.ranked if _among(one.candidate, known) is not None]
            some = own[:: max(1, len(own) // sample)][:sample]
            chosen = replace(ranking, ranked=tuple(some))
            for one in compile_best(chosen, templates, sample, cache_dir=cache).compiled:
                then = _among(one.ranked.candidate, known)
                now = {each.shape: each.seconds for each in one.ranked.estimates}
                if any(now[shape] != seconds for shape, seconds in then.items() if shape in now):
                    yield str(one.ranked.candidate)


def _axes(regime: str, entries: Sequence[Entry]) -> list[str]:
    """The values of all entries as texts for `--axis`."""
    values: dict[str, dict[str, None]] = {}
    for one in entries:
        for key, value in one.settings:
            values.setdefault(key, {})[text(value)] = None
    return [f"{regime}.{key}={','.join(found)}" for key, found in values.items()]


def _among(
    candidate: Candidate, known: Mapping[frozenset, Mapping[str, float]]
) -> Mapping[str, float] | None:
    """The estimates of the entry that a candidate is: a variant may have more parameters by now, which keep their defaults."""
    own = frozenset(candidate.settings)
    return next((found for settings, found in known.items() if settings <= own), None)


def shown_by(store: Store, path: Path) -> Iterator[Confirmation]:
    """One for each variant and workload of each device that the store has at least two measured candidates of."""
    spec, templates = load(path), Templates()
    source = Source(path, (), templates, None)
    for number, regime in enumerate(spec.document.regimes):
        if regime.fallback is None:
            own = source.entrant(current(spec, templates, number)).file.manifest
            timed = [one for one in workloads(own) if one.regime == regime.name]
            entries = [
                one for one in store.entries(spec.document.name) if one.regime == regime.name
            ]
            for where in places(store, spec.document.name):
                results = store.results(where.device, where.versions)
                for workload in timed:
                    yield from _of_workload(
                        store, templates, entries, results, workload, where, spec.document.family
                    )


def _of_workload(
    store: Store,
    templates: Templates,
    entries: Sequence[Entry],
    results: Mapping[Key, Result],
    workload: Workload,
    where: Where,
    family: str,
) -> Iterator[Confirmation]:
    measured = {}
    for one in entries:
        key = Key(one.core, one.signature, workload.text, where.device, where.versions)
        found = results.get(key)
        if found is not None and found.status == "measured":
            measured[_candidate(one)] = median(found.seconds)
    variants: dict[str, list[Ranked]] = {}
    for one in entries:
        if workload.name in one.estimates:
            variants.setdefault(_candidate(one).variant, []).append(_ranked(one))
    for variant, ranked in variants.items():
        if sum(one.candidate in measured for one in ranked) > 1:
            template = templates.find(family, variant)
            name = store.path.name
            yield confirmation(template, name, where.device, workload.name, ranked, measured)


def _candidate(entry: Entry) -> Candidate:
    return Candidate(entry.regime, entry.settings)


def _ranked(entry: Entry) -> Ranked:
    """The candidate with the estimates that were kept of it, all of compiled kernels."""
    estimates = (Estimate(shape, seconds, (), True) for shape, seconds in entry.estimates.items())
    return Ranked(_candidate(entry), tuple(estimates))


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("specs", type=Path, nargs="+")
    chosen = parser.parse_args()
    known = confirmations()
    with closing(Store(chosen.store, create=False)) as store:
        others = [one for path in chosen.specs for one in moved(store, path, cache_dir())]
        if others:
            print(
                f"today's model estimates {others[0]} otherwise than the store has it: nothing is added"
            )
            return 1
        found = [one for path in chosen.specs for one in shown_by(store, path)]
    for one in found:
        print(f"{one.variant}, {one.shape}: the best of {one.candidates} at place {one.place}")
    RECORDED.write_text(added(known, [one for one in found if one not in known]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
