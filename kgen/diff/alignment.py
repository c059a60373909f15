"""The pieces of two units side by side."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kgen.diff.pieces import Piece


@dataclass(frozen=True)
class Step:
    """Pieces of A in the place of pieces of B; `alike` where there is one of each and their shapes are equal."""

    a: tuple[Piece, ...]
    b: tuple[Piece, ...]
    alike: bool


def aligned(a: Sequence[Piece], b: Sequence[Piece]) -> list[Step]:
    """The steps from the first piece to the last: equal texts first, then equal shapes between them."""
    found: list[Step] = []
    for same, left, right in _blocks(a, b, lambda piece: piece.text):
        if same:
            found += [Step((one,), (two,), True) for one, two in zip(left, right)]
            continue
        for alike, inner_a, inner_b in _blocks(left, right, lambda piece: piece.shape):
            if alike:
                found += [Step((one,), (two,), True) for one, two in zip(inner_a, inner_b)]
            else:
                found.append(Step(tuple(inner_a), tuple(inner_b), False))
    return found


def _blocks(
    a: Sequence[Piece], b: Sequence[Piece], key: Callable[[Piece], str]
) -> Iterator[tuple[bool, Sequence[Piece], Sequence[Piece]]]:
    """Runs of pieces with equal keys, and what stands between them."""
    matcher = difflib.SequenceMatcher(None, list(map(key, a)), list(map(key, b)), False)
    for tag, i, j, k, m in matcher.get_opcodes():
        yield tag == "equal", a[i:j], b[k:m]
