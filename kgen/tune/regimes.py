"""Where one regime should be several: as few as the measured shapes ask for, cut along one axis.

A cut pays only where no single candidate is as good as the best everywhere: not distinguishable from it at each shape.
Nothing is known between two measured values, or beyond the first and the last; what a cut assumes there is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from kgen.sweep.conclude import Core, Row

AxisValues = Mapping[str, int | None]


@dataclass(frozen=True)
class Point:
    """A measured shape: its axes, and by candidate the log of its ratio, for those that are as good as the best there."""

    name: str
    axes: AxisValues
    good: Mapping[Core, float]


@dataclass(frozen=True)
class Piece:
    """The part of a regime that one candidate serves: `axis` up to `most`, or all that is left where that is None.

    `least` and `largest` are the smallest and largest value that were measured in it.
    """

    core: Core
    axis: str
    most: int | None
    least: int
    largest: int


def point(name: str, axes: AxisValues, rows: Sequence[Row]) -> Point:
    """From the rows of a shape, the best first."""
    good = [row for row in rows if row is rows[0] or row.alike]
    return Point(
        name, axes, {(row.entry.core, row.entry.signature): row.ratio.point for row in good}
    )


def pieces(points: Sequence[Point], present: Core | None = None) -> tuple[Piece, ...]:
    """The fewest pieces that explain the points, along the axis that needs fewest; none where no cut helps or is needed.
    What the spec has, `present`, stays in a piece where nothing is distinguishably better.

    Greedy: a piece takes shapes in the order of the axis as long as some candidate is as good as the best at all of
    them, which no other cutting does with fewer pieces.
    """
    found = [cut for axis in _axes(points) if (cut := _along(points, axis, present))]
    best = min(found, key=len, default=())
    return best if len(best) > 1 else ()


def assumed(cut: Sequence[Piece], low: int | None, high: int | None) -> Iterator[str]:
    """What a cut says of values that nobody measured, of an axis from `low` to `high`, None where that is not fixed."""
    axis, least, largest = cut[0].axis, cut[0].least, cut[-1].largest
    if low is None or low < least:
        yield f"{axis} below {least} was not measured; it goes with {least}"
    for piece, following in zip(cut, cut[1:]):
        if following.least - piece.largest > 1:
            between = f"{axis} from {piece.largest + 1} to {following.least - 1}"
            owner = following.least if piece.most == piece.largest else piece.largest
            yield f"{between} was not measured; it goes with {owner}"
    if high is None or high > largest:
        yield f"{axis} above {largest} was not measured; it goes with {largest}"


def widened(cut: Sequence[Piece]) -> tuple[Piece, ...]:
    """The same cut with what was not measured between two pieces given to the lower one."""
    pairs = zip(cut, cut[1:])
    moved = (replace(piece, most=following.least - 1) for piece, following in pairs)
    return (*moved, cut[-1])


def _axes(points: Sequence[Point]) -> list[str]:
    """The axes that are numbers at every point and not the same at all of them."""
    names = dict.fromkeys(name for one in points for name in one.axes)
    values = {name: {one.axes.get(name) for one in points} for name in names}
    return [name for name, found in values.items() if len(found) > 1 and None not in found]


def _along(points: Sequence[Point], axis: str, present: Core | None) -> tuple[Piece, ...]:
    """The fewest pieces along one axis; none where shapes of one value ask for different candidates."""
    groups: dict[int, list[Point]] = {}
    for one in sorted(points, key=lambda one: one.axes[axis]):
        groups.setdefault(one.axes[axis], []).append(one)
    runs: list[tuple[list[int], set[Core]]] = []
    for value, group in groups.items():
        good = set.intersection(*(set(one.good) for one in group))
        if not good:
            return ()
        if runs and runs[-1][1] & good:
            runs[-1] = ([*runs[-1][0], value], runs[-1][1] & good)
        else:
            runs.append(([value], good))
    return tuple(
        Piece(
            core=(
                present
                if present in good
                else _best(good, [one for value in values for one in groups[value]])
            ),
            axis=axis,
            most=values[-1] if number + 1 < len(runs) else None,
            least=values[0],
            largest=values[-1],
        )
        for number, (values, good) in enumerate(runs)
    )


def _best(good: set[Core], points: Sequence[Point]) -> Core:
    """Of those that are as good as the best everywhere, the fastest on the whole; the same one every time."""
    return max(sorted(good), key=lambda core: fmean(one.good[core] for one in points))
