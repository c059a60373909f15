"""Several statements that read neighbouring ranges of one index: latents, and the rotary columns behind them.

The ranges divide the index wholly and do not overlap, so that elements are read once where each statement reads those of
its range once, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.algebra import Poly
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.place import Place

Bounds = Mapping[str, tuple[Poly, Poly]]
"""The first value of each index, and the one behind its last."""


def neighbouring(
    engine: Engine,
    found: Sequence[Place],
    solved: Sequence[Mapping[str, Poly]],
    bounds: Sequence[Bounds],
) -> tuple[str, list[Bounds]] | None:
    """The index that statements divide among them, and each one's bounds with its range of it; None where they do not.

    `solved` has the indices of each statement, `bounds` those that all have together. A statement's range begins where its
    first lane is, and ends where the next one's begins.
    """
    for name, (low, high) in bounds[0].items():
        firsts = [_first(engine, place, own[name]) for place, own in zip(found, solved)]
        if None in (*firsts, low.constant, high.constant):
            continue
        cuts = [low.constant, *sorted(firsts)[1:], high.constant]
        if all(before < after for before, after in zip(cuts, cuts[1:])):
            places = [sorted(firsts).index(first) for first in firsts]
            return name, [
                {**own, name: (Poly.of(cuts[k]), Poly.of(cuts[k + 1]))}
                for k, own in zip(places, bounds)
            ]
    return None


def _first(engine: Engine, place: Place, poly: Poly) -> int | None:
    """The index where every lane is 0, if that is a number."""
    lanes = (
        engine.space.lane(axis, size) for axis, size in enumerate(place.access.shape) if size > 1
    )
    zeros = {variable: Poly.of(0) for lane in lanes for variable in lane.variables}
    return poly.substitute(zeros).constant
