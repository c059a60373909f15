"""What a store of measured trials shows of the static estimates: where the measured best lay in the order they gave.

    python benchmarks/trust.py STORE SPEC [SPEC ...]

Adds one entry for each variant and workload to `kgen/sweep/trust.yaml`, once for each version of the cost model. Only
candidates count that have a time at the workload. No kernel is run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from kgen.plan.templates import Templates
from kgen.spec import load
from kgen.sweep.conclude import Where, places
from kgen.sweep.model import Candidate, Estimate, Ranked
from kgen.sweep.records import Entry, Key, Result
from kgen.sweep.rendered import Source, Workload, workloads
from kgen.sweep.space import current
from kgen.sweep.store import Store
from kgen.sweep.trust import RECORDED, Confirmation, added, confirmation, confirmations


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


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("specs", type=Path, nargs="+")
    chosen = parser.parse_args()
    known = confirmations()
    with closing(Store(chosen.store, create=False)) as store:
        found = [one for path in chosen.specs for one in shown_by(store, path)]
    for one in found:
        print(f"{one.variant}, {one.shape}: the best of {one.candidates} at place {one.place}")
    RECORDED.write_text(added(known, [one for one in found if one not in known]), encoding="utf-8")


if __name__ == "__main__":
    main()
