"""Whether a regime's measured best is to take the place of what the spec has, and which keys of the spec that changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kgen.sweep.conclude import Concluded, Core, Row
from kgen.sweep.model import VARIANT, Settings, text
from kgen.sweep.report import ratio_text
from kgen.tune.edit import Change, Drop, Note, Put

NOTED = r"tuned: .*\b(trial|core) [0-9a-f]{12}, .+"
"""The comments of earlier tunings, which a new one takes the place of."""


@dataclass(frozen=True)
class Choice:
    """What becomes of a regime: the `winner` takes the place of `present`, or the spec keeps what it has; `why` says it."""

    regime: str
    present: Row | None
    winner: Row | None
    why: str

    def told(self) -> Iterator[str]:
        """What becomes of it, for a person."""
        yield f"{self.regime}: {'changed' if self.winner else 'kept'}; {self.why}"

    def plain(self) -> dict[str, Any]:
        """The same for a program."""
        winner = self.winner
        return {
            "regime": self.regime,
            "changed": winner is not None,
            "why": self.why,
            "settings": dict(winner.entry.settings) if winner else None,
            "trials": list(winner.ids) if winner else [],
        }


def choose(found: Concluded, present: Core) -> Choice:
    """The best of a regime if it is distinguishable from the present setting; both have to be measured at every shape."""
    own = found.row(present)
    if not found.overall:
        return Choice(found.regime, own, None, "no candidate is measured at every shape")
    if own is None:
        return Choice(found.regime, None, None, "what the spec has is not measured at every shape")
    best = found.overall[0]
    if best is own:
        return Choice(found.regime, own, None, "what the spec has is the best that was measured")
    gain = f"the best is {ratio_text(best.ratio)}, what the spec has {ratio_text(own.ratio)}"
    if best.ratio.overlaps(own.ratio):
        return Choice(found.regime, own, None, f"not distinguishable: {gain}")
    return Choice(found.regime, own, best, gain)


def changes(index: int, present: Settings, choice: Choice, device: str) -> Iterator[Change]:
    """What the spec's text needs so that regime number `index` of it runs the winner; `present` are its settings now."""
    after = choice.winner.entry.settings
    yield from resettled(index, present, after)
    faster = choice.winner.ratio.point / choice.present.ratio.point
    shown = " ".join(
        f"{key.rpartition('.')[2]}={text(v)}" for key, v in present if (key, v) not in after
    )
    trial = choice.winner.ids[-1][:12]
    note = f"tuned: {faster:.2f}x of {shown}, trial {trial}, {device}"
    yield Note(("regimes", index), note, NOTED)


def resettled(index: int, before: Settings, after: Settings) -> Iterator[Change]:
    """From one candidate's settings to another's. Only what differs is written; under another variant all of it is, since
    defaults differ too.
    """
    old, new = dict(before), dict(after)
    for key, value in after:
        if old[VARIANT] != new[VARIANT] or old.get(key) != value:
            yield Put(("regimes", index, *key.split(".")), value)
    for key in old:
        if key not in new:
            yield Drop(("regimes", index, *key.split(".")))
