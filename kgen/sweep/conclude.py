"""What a store's trials show of one regime: ratios with intervals, who is best, and who could be.

Ratios are of the anchor's time over the candidate's; above 1 is faster. Which samples they rest on is in the store, so
that anybody can draw them again. Needs numpy and scipy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from kgen.evidence.defaults import FLOOR
from kgen.evidence.intervals import Ratio, ratio
from kgen.sweep.race import standing
from kgen.sweep.records import Entry, Key, Result
from kgen.sweep.store import Store
from kgen.sweep.trial import Workload

Core = tuple[str, str]
"""A core and its signature, as in a store's key."""

SHOWN = 12
"""Rows that a report shows."""


@dataclass(frozen=True)
class Where:
    """A device and the versions that its trials were made with."""

    device: str
    versions: str

    def __str__(self) -> str:
        return f"{self.device}, {self.versions}"


@dataclass(frozen=True)
class Row:
    """A candidate at a shape, or over all where `shape` is empty: its ratio to the anchor, and its seconds at a shape.

    `alike` says that it is not distinguishable from the best; `ids` name the trials.
    """

    entry: Entry
    shape: str
    seconds: float | None
    ratio: Ratio
    alike: bool
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Failed:
    """A candidate without a time, and why."""

    entry: Entry
    status: str
    message: str


@dataclass(frozen=True)
class Concluded:
    """A regime at a place. `overall` and each of `shapes` hold rows, the best first; `untried` counts the candidates that
    have no trial at some shape.
    """

    spec: str
    regime: str
    where: Where
    overall: tuple[Row, ...]
    shapes: Mapping[str, tuple[Row, ...]]
    measured: int
    failed: tuple[Failed, ...]
    untried: int

    def row(self, core: Core) -> Row | None:
        """The row over all shapes of a core; None where none is shown."""
        rows = (one for one in self.overall if (one.entry.core, one.entry.signature) == core)
        return next(rows, None)


def places(store: Store, spec: str) -> list[Where]:
    """Where candidates of a spec were tried, each once."""
    own = {(one.core, one.signature) for one in store.entries(spec)}
    keys = (key for key in store.results() if (key.core, key.signature) in own)
    return list(dict.fromkeys(Where(key.device, key.versions) for key in keys))


def concluded(
    store: Store,
    spec: str,
    regime: str,
    where: Where,
    workloads: Sequence[Workload],
    present: Core | None = None,
    most: int = SHOWN,
) -> Concluded:
    """What is known of a regime there at its `workloads`: rows of the best, at `most` so many, and of the `present`
    setting however slow it is.
    """
    entries = _by_core(one for one in store.entries(spec) if one.regime == regime)
    results = store.results(where.device, where.versions)
    whole: dict[Core, list[Result]] = {}
    failed: list[Failed] = []
    for core, entry in entries.items():
        keys = (Key(*core, one.text, where.device, where.versions) for one in workloads)
        found = [results.get(key) for key in keys]
        bad = next((one for one in found if one is not None and one.status != "measured"), None)
        if bad is not None:
            failed.append(Failed(entry, bad.status, bad.message))
        elif found and None not in found:
            whole[core] = found
    shown = _shown(whole, present, most)
    overall = _rows(entries, shown, "")
    shapes = {
        one.name: _rows(
            entries, {core: [results[number]] for core, results in shown.items()}, one.name
        )
        for number, one in enumerate(workloads)
    }
    untried = len(entries) - len(whole) - len(failed)
    return Concluded(spec, regime, where, overall, shapes, len(whole), tuple(failed), untried)


def _shown(
    found: Mapping[Core, Sequence[Result]], present: Core | None, most: int
) -> dict[Core, Sequence[Result]]:
    order = sorted(found, key=lambda core: -standing([one.logs for one in found[core]]).log)
    return {core: found[core] for n, core in enumerate(order) if n < most or core == present}


def _by_core(entries: Iterable[Entry]) -> dict[Core, Entry]:
    """Each core once, by the settings that it was first met with."""
    found: dict[Core, Entry] = {}
    for one in entries:
        found.setdefault((one.core, one.signature), one)
    return found


def _rows(
    entries: Mapping[Core, Entry],
    found: Mapping[Core, Sequence[Result]],
    shape: str,
) -> tuple[Row, ...]:
    """One row each, the best first."""
    rows = [_row(entries[key], shape, results) for key, results in found.items()]
    rows.sort(key=lambda one: -one.ratio.point)
    best = rows[:1]
    alike = (one not in best and one.ratio.overlaps(best[0].ratio) for one in rows)
    return tuple(replace(one, alike=same) for one, same in zip(rows, alike))


def _row(entry: Entry, shape: str, results: Sequence[Result]) -> Row:
    logs = [one.logs for one in results]
    return Row(
        entry=entry,
        shape=shape,
        seconds=median(results[0].seconds) if shape else None,
        ratio=ratio(logs, FLOOR, f"{entry.core} {shape}"),
        alike=False,
        ids=tuple(id for one in results for id in one.ids),
    )
