"""Lines that differ and that no rename or constant explains, each with the template line behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgen.diff.alignment import Step
from kgen.diff.model import Hunk, Side, Spot
from kgen.diff.pieces import Piece, split_lines
from kgen.diff.substitutions import Aligned, Constants, explains


def hunks(
    a: Side,
    b: Side,
    found: Sequence[Aligned],
    renamed: Sequence[Mapping[str, str]],
    constants: Constants,
) -> tuple[Hunk, ...]:
    """The hunks of all pairs of units, in their order; `renamed` has the renames of each pair."""
    finder = _Hunks(a, b, constants)
    every = [hunk for one, own in zip(found, renamed) for hunk in finder.of(one, own)]
    return _grouped([hunk for hunk in every if hunk.removed or hunk.added])


class _Hunks:
    """Finds the lines that no substitution explains."""

    def __init__(self, a: Side, b: Side, constants: Constants):
        self._sides = (a, b)
        self._texts = (split_lines(a.text), split_lines(b.text))
        self._constants = constants

    def of(self, one: Aligned, renamed: Mapping[str, str]) -> Iterator[Hunk]:
        """The hunks of a pair of units, in their order: runs of steps that are not explained."""
        runs: list[list[Step]] = []
        open_run = False
        for step in one.steps:
            if step.alike and explains(step.a[0], step.b[0], renamed, self._constants):
                open_run = False
            elif runs and (open_run or _share_a_line(runs[-1], step)):
                runs[-1].append(step)
                open_run = True
            else:
                runs.append([step])
                open_run = True
        return (self._hunk(one, run) for run in runs)

    def _hunk(self, one: Aligned, run: Sequence[Step]) -> Hunk:
        pieces = [[piece for step in run for piece in (step.a, step.b)[side]] for side in (0, 1)]
        lines = [list(_numbered(text, own)) for text, own in zip(self._texts, pieces)]
        _trim(*lines)
        _trim(*lines, at=0)
        told = [self._template(side, lines[side]) for side in (1, 0)]
        template = next(filter(None, told), None if None in told else "")
        starts = [own[0][0] if own else 0 for own in lines]
        removed, added = (tuple(line for _, line in own) for own in lines)
        comment = all(piece.comment for own in pieces for piece in own)
        return Hunk(template, removed, added, comment, (Spot(one.pair[1].name, *starts),))

    def _template(self, side: int, lines: Sequence[tuple[int, str]]) -> str | None:
        """`FILE:LINE` of the first line that a template wrote, empty where none did; None where no manifest says it."""
        manifest = self._sides[side].manifest
        if manifest is None:
            return None if lines else ""
        return next(filter(None, (_origin(manifest, number) for number, _ in lines)), "")


def _share_a_line(run: Sequence[Step], step: Step) -> bool:
    """Whether a step begins on a line, of either side, that the steps before it reach: it is shown with them then."""
    for side in (0, 1):
        before = [piece.last for one in run for piece in (one.a, one.b)[side]]
        own = (step.a, step.b)[side]
        if before and own and max(before) >= own[0].first:
            return True
    return False


def _numbered(text: Sequence[str], pieces: Sequence[Piece]) -> Iterator[tuple[int, str]]:
    """The lines on which pieces stand, each with its number."""
    if pieces:
        first = min(piece.first for piece in pieces)
        last = max(piece.last for piece in pieces)
        yield from ((number, text[number - 1]) for number in range(first, last + 1))


def _trim(removed: list[tuple[int, str]], added: list[tuple[int, str]], at: int = -1) -> None:
    """Takes off equal lines at one end: a piece may begin or end on a line that is the same."""
    while removed and added and removed[at][1] == added[at][1]:
        del removed[at], added[at]


def _origin(manifest: Mapping[str, Any], line: int) -> str:
    mapped = manifest["source_map"][line - 1] if line <= len(manifest["source_map"]) else None
    return f"{manifest['templates_index'][mapped[0]]}:{mapped[1]}" if mapped else ""


def _grouped(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """Equal hunks of one template line as one, where the first of them stands."""
    groups: dict[tuple[Any, ...], list[Hunk]] = {}
    for hunk in hunks:
        lines = tuple(tuple(line.strip() for line in part) for part in (hunk.removed, hunk.added))
        # what kgen assembles has no template line by which two hunks would be the same change
        own = hunk.template or hunk.spots
        groups.setdefault((own, lines), []).append(hunk)
    return tuple(
        replace(same[0], spots=tuple(spot for one in same for spot in one.spots))
        for same in groups.values()
    )
