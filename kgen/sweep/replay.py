"""Search strategies against what a store has recorded: how many trials each needs, with no GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgen.sweep.race import standing
from kgen.sweep.records import Entry, Key, Result
from kgen.sweep.search import STRATEGIES, Option, strategy
from kgen.sweep.store import Store

CLOSE = math.log(1.01)
"""Within 1 % of the best."""


@dataclass(frozen=True)
class Recorded:
    """A regime's candidates at one place with what was found of them: `logs` is None where one has no time."""

    spec: str
    regime: str
    device: str
    versions: str
    options: tuple[Option, ...]
    logs: tuple[float | None, ...]


@dataclass(frozen=True)
class Replayed:
    """After how many `trials` a strategy was within 1 % of the best of `candidates`; None if it never was."""

    recorded: Recorded
    strategy: str
    trials: int | None

    @property
    def candidates(self) -> int:
        return len(self.recorded.options)


def replay(store: Store, seed: int, names: Sequence[str] = STRATEGIES) -> Iterator[Replayed]:
    """Each strategy on each recorded regime. The same store and seed give the same numbers."""
    for recorded in recordings(store):
        for name in names:
            yield Replayed(recorded, name, _trials(recorded, name, seed))


def recordings(store: Store) -> Iterator[Recorded]:
    """The regimes of a store with at least two candidates that have a time at every shape."""
    results = store.results()
    places = sorted({(key.device, key.versions) for key in results})
    shapes: dict[tuple[str, str], list[str]] = {}
    for one in store.workloads():
        shapes.setdefault((one.spec, one.regime), []).append(one.shape)
    for (spec, regime), wanted in shapes.items():
        own = [one for one in store.entries(spec) if one.regime == regime]
        for device, versions in places:
            keys = {shape: (shape, device, versions) for shape in dict.fromkeys(wanted)}
            found = _recorded(own, keys, results)
            if sum(log is not None for _, log in found) > 1:
                options, logs = zip(*found)
                yield Recorded(spec, regime, device, versions, options, logs)


def _recorded(
    entries: Sequence[Entry],
    shapes: Mapping[str, tuple[str, str, str]],
    results: Mapping[Key, Result],
) -> list[tuple[Option, float | None]]:
    """The entries that were tried at every shape until one failed, with what was found."""
    found: list[tuple[Option, float | None]] = []
    for entry in entries:
        option = Option(entry.settings, sum(entry.estimates.values()))
        tried = [results.get(Key(entry.core, entry.signature, *key)) for key in shapes.values()]
        known = [one for one in tried if one is not None]
        if any(one.status != "measured" for one in known):
            found.append((option, None))
        elif known and len(known) == len(tried):
            found.append((option, standing([one.logs for one in known]).log))
    return found


def _trials(recorded: Recorded, name: str, seed: int) -> int | None:
    best = max(log for log in recorded.logs if log is not None)
    searching = strategy(name, recorded.options, seed)
    number = 0
    while (index := searching.ask()) is not None:
        number += 1
        log = recorded.logs[index]
        if log is not None and log >= best - CLOSE:
            return number
        searching.tell(index, log)
    return None
