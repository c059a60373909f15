"""A cut of a regime as changes of the spec's text, and the proof that the dispatch then does what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgen.plan.templates import Templates
from kgen.spec import Spec
from kgen.spec.regime import OTHERWISE
from kgen.sweep.conclude import Concluded, Core, Where
from kgen.sweep.model import VARIANT, Settings
from kgen.sweep.rendered import workloads
from kgen.sweep.served import served_core, served_signature
from kgen.tune.choose import NOTED, resettled
from kgen.tune.edit import Change, Copy, Note, Put
from kgen.tune.regimes import AxisValues, Piece, assumed, pieces, point, widened


@dataclass(frozen=True)
class Split:
    """A regime that is cut: `axes` of each measured shape, `settings` of each piece's candidate by core, and the `trials`
    that measured it. A piece whose candidate is the `fallback`'s own is left to the fallback. `ends` are those of the
    axis, where they are fixed.
    """

    regime: str
    axes: Mapping[str, AxisValues]
    cut: tuple[Piece, ...]
    settings: Mapping[Core, Settings]
    trials: Mapping[Core, Sequence[str]]
    fallback: Settings | None
    ends: tuple[int | None, int | None]

    def wider(self) -> Split:
        """The same with what was not measured between two pieces given to the lower one."""
        return replace(self, cut=widened(self.cut))

    def kept(self) -> list[Piece]:
        """The pieces that stay regimes of their own."""
        return [one for one in self.cut if self.settings[one.core] != self.fallback]

    def told(self) -> Iterator[str]:
        """The cut, and what it assumes."""
        for one in self.cut:
            bound = f"up to {one.most}" if one.most is not None else "above"
            where = "the fallback" if one not in self.kept() else _shown(self.settings[one.core])
            yield f"{self.regime}, {one.axis} {bound}: {where}"
        yield from (f"{self.regime}: {line}" for line in assumed(self.cut, *self.ends))

    def plain(self) -> dict[str, Any]:
        """The same for a program."""
        pieces = [
            {
                "axis": one.axis,
                "up_to": one.most,
                "measured": [one.least, one.largest],
                "fallback": one not in self.kept(),
                "settings": dict(self.settings[one.core]),
                "trials": list(self.trials[one.core]),
            }
            for one in self.cut
        ]
        told = list(assumed(self.cut, *self.ends))
        return {"regime": self.regime, "changed": True, "pieces": pieces, "assumed": told}


def split(
    found: Concluded,
    axes: Mapping[str, AxisValues],
    fallback: Settings | None,
    domains: Mapping[str, Mapping[str, Any]],
    present: Core,
) -> Split | None:
    """The cut that the measured shapes ask for; None where one candidate does for all.

    `axes` are those of each shape, `domains` the axes of the manifest's problem, `present` is what the spec has; `found`
    has a row of every candidate.
    """
    points = [point(name, axes[name], rows) for name, rows in found.shapes.items() if rows]
    cut = pieces(points, present)
    if not cut:
        return None
    entries = {(row.entry.core, row.entry.signature): row.entry for row in found.overall}
    settings = {one.core: entries[one.core].settings for one in cut}
    trials = {one.core: _trials(found, axes, one) for one in cut}
    return Split(found.regime, axes, cut, settings, trials, fallback, _ends(domains[cut[0].axis]))


def _trials(found: Concluded, axes: Mapping[str, AxisValues], piece: Piece) -> tuple[str, ...]:
    """The trials of a piece's candidate at the shapes of the piece."""
    return tuple(
        one
        for shape, rows in found.shapes.items()
        if piece.least <= axes[shape][piece.axis] <= piece.largest
        for row in rows
        if (row.entry.core, row.entry.signature) == piece.core
        for one in row.ids
    )


def _ends(domain: Mapping[str, Any]) -> tuple[int | None, int | None]:
    values = [one for one in domain.get("values", ()) if one is not None]
    low, high = domain.get("range", (min(values, default=None), max(values, default=None)))
    return low if isinstance(low, int) else None, high if isinstance(high, int) else None


def fallback_settings(
    manifest: Mapping[str, Any], family: str, templates: Templates
) -> Settings | None:
    """The settings of the file's fallback, if that is a variant of kgen's."""
    found = next((one for one in manifest["regimes"] if one["fallback"]), None)
    if found is None or found["variant"] not in templates.names(family):
        return None
    parameters = templates.find(family, found["variant"]).variant.parameters
    own = {parameters[name].key: value for name, value in found["parameters"].items()}
    return tuple(sorted({**own, VARIANT: found["variant"]}.items()))


def split_changes(
    spec: Spec, number: int, present: Settings, one: Split, where: Where
) -> Iterator[Change]:
    """Regime `number` of the spec becomes the pieces that are kept, in the order of the axis; the last keeps its name."""
    regime, kept = spec.document.regimes[number], one.kept()
    for _ in kept[1:]:
        yield Copy(("regimes", number))
    for index, piece in enumerate(kept, number):
        if piece is not kept[-1]:
            yield Put(("regimes", index, "name"), f"{regime.name}_{piece.axis.lower()}{piece.most}")
        yield Put(("regimes", index, "when"), _condition(regime.when, one, piece))
        yield from resettled(index, present, one.settings[piece.core])
        measured = f"{piece.axis} {piece.least} to {piece.largest} measured on {where.device}"
        trials = one.trials[piece.core]
        more = f" and {len(trials) - 1} more" if len(trials) > 1 else ""
        rests = f"trial {trials[-1][:12]}{more}, core {piece.core[0][:12]}"
        yield Note(("regimes", index), f"tuned: {rests}, {measured}", NOTED)


def undispatched(one: Split, text: str, manifest: Mapping[str, Any]) -> str:
    """Which measured shape the new file does not serve with the code that won there; empty if none."""
    regimes = {each["name"]: each for each in manifest["regimes"]}
    for each in workloads(manifest):
        if each.name not in one.axes:
            continue
        piece = _piece(one.cut, one.axes[each.name])
        if piece not in one.kept():
            if not regimes[each.regime]["fallback"]:
                return f"{each.name} is served by {each.regime} and not by the fallback"
            continue
        own = served_core(text, manifest, each.regime), served_signature(manifest, each.regime)
        if own != piece.core:
            return f"{each.name} is served by other code than won there"
    return ""


def _piece(cut: Sequence[Piece], axes: AxisValues) -> Piece:
    value = axes[cut[0].axis]
    return next(one for one in cut if one.most is None or value <= one.most)


def _condition(when: str, one: Split, piece: Piece) -> str:
    """The old condition within the piece; the first regime that matches wins, so that only a gap needs a lower bound."""
    earlier = one.cut[: one.cut.index(piece)]
    gaps = [each.most for each in earlier if each not in one.kept()]
    parts = [] if when == OTHERWISE else [f"({when})" if " or " in when else when]
    if gaps:
        parts.append(f"{piece.axis} > {gaps[-1]}")
    if piece.most is not None:
        parts.append(f"{piece.axis} <= {piece.most}")
    return " and ".join(parts) or when


def _shown(settings: Settings) -> str:
    return " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in settings)
