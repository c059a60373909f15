"""What a sweep of one regime is about: its candidates as rendered files, and the setting that the spec has now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kgen.sweep.model import Settings
from kgen.sweep.records import Entry, Key
from kgen.sweep.trial import File, Place, Workload


@dataclass(frozen=True, eq=False)
class Entrant:
    """A candidate that takes part; `core` and `signature` are as in a store's key.

    `estimates` are seconds by workload's name. Where `refused` says why the compiler gave no kernel, it is recorded and
    not tried.
    """

    settings: Settings
    file: File
    core: str
    signature: str
    estimates: Mapping[str, float] = field(default_factory=dict)
    refused: str = ""

    @property
    def estimate(self) -> float:
        """Seconds of all workloads together."""
        return sum(self.estimates.values())

    def key(self, workload: Workload, place: Place) -> Key:
        """What a store calls the result at a workload."""
        return Key(self.core, self.signature, workload.text, place.device, place.versions)


@dataclass(frozen=True)
class Field:
    """A regime of a spec with its entrants in the order in which to try them; `present` is among them.

    `shapes` keeps the workloads whose name contains the text.
    """

    spec: str
    regime: str
    present: Entrant
    entrants: tuple[Entrant, ...]
    shapes: str = ""

    def workloads(self, place: Place) -> tuple[Workload, ...]:
        """The regime's workloads at a place."""
        return tuple(
            one for one in place.workloads if one.regime == self.regime and self.shapes in one.name
        )

    def entries(self) -> Iterator[Entry]:
        """What a store keeps of the entrants."""
        for one in self.entrants:
            yield Entry(
                self.spec, self.regime, one.settings, one.core, one.signature, one.estimates
            )
