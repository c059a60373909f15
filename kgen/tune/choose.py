"""Whether a regime's measured best is to take the place of what the spec has, and which keys of the spec that changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgen.sweep.conclude import Concluded, Core, Row
from kgen.sweep.model import SECTIONS, VARIANT, Settings
from kgen.sweep.report import ratio_text
from kgen.tune.edit import Change, Drop, Note, Put

MARK = "tuned: "
"""How the comment begins by which a tuned regime is known."""


@dataclass(frozen=True)
class Choice:
    """What becomes of a regime: the `winner` takes the place of `present`, or the spec keeps what it has; `why` says it."""

    regime: str
    present: Row | None
    winner: Row | None
    why: str


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
    """What the spec's text needs so that regime number `index` of it runs the winner; `present` are its settings now.

    Only what differs is written. Under another variant all of it is, since defaults differ too.
    """
    before, after = dict(present), dict(choice.winner.entry.settings)
    other = before[VARIANT] != after[VARIANT]
    for key, value in after.items():
        if other or before.get(key) != value:
            yield Put(("regimes", index, *key.split(".")), value)
    for key in before:
        if key not in after:
            yield Drop(("regimes", index, *key.split(".")))
    faster = choice.winner.ratio.point / choice.present.ratio.point
    text = f"{faster:.2f}x of {_shown(before, after)}, trial {choice.winner.ids[-1][:12]}, {device}"
    yield Note(("regimes", index), MARK, text)


def _shown(before: dict, after: dict) -> str:
    """The values that another one took the place of."""
    changed = [
        f"{key.rpartition('.')[2]}={value}"
        for key, value in before.items()
        if after.get(key) != value
    ]
    return " ".join(changed)
