"""Which function of one file is which of another: by role and by what it does, not by where it stands."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgen.diff.pieces import Unit

_SAME_ROLE, _ANY_ROLE = 0.4, 0.85
"""The least likeness, from 0 to 1, of two functions of one role, and of any two, that are taken for the same one."""
_SAME_NAME, _SAME_REGIMES = 0.02, 0.05
"""What an equal name and equal regimes add. It decides between two that are as much alike, and no more: kernels are
named by what tells them apart, so that a name passes on to another kernel when one of them goes.
"""

Pair = tuple[Unit, Unit]


@dataclass(frozen=True)
class Paired:
    """Pairs in B's order, what only A has, and what only B has."""

    pairs: tuple[Pair, ...]
    only_a: tuple[Unit, ...]
    only_b: tuple[Unit, ...]

    def names(self, side: int) -> set[str]:
        """The names of all units of A (0) or B (1)."""
        alone = (self.only_a, self.only_b)[side]
        return {unit.name for unit in (*(pair[side] for pair in self.pairs), *alone)}


def paired(a: Sequence[Unit], b: Sequence[Unit]) -> Paired:
    """The units of one file in pairs with those of another.

    Functions with the same name and text are the same. Then the most alike of one role are, then the most alike of any.
    Helpers, the entry and what is no function go by their names first.
    """
    found: list[Pair] = []
    left, right = list(a), list(b)
    for rule, least in ((_identical, 0.0), (_by_name, 0.0), (_one_role, _SAME_ROLE)):
        _take(found, left, right, rule, least)
    _take(found, left, right, lambda one, two: one.kind == two.kind, _ANY_ROLE)
    order = {id(unit): number for number, unit in enumerate(b)}
    found.sort(key=lambda pair: order[id(pair[1])])
    return Paired(tuple(found), tuple(left), tuple(right))


def _take(
    found: list[Pair],
    left: list[Unit],
    right: list[Unit],
    rule: Callable[[Unit, Unit], bool],
    least: float,
) -> None:
    """Moves pairs that a rule allows from `left` and `right` to `found`, the most alike first."""
    allowed = [
        (likeness(one, two) if least else 1.0, i, j)
        for i, one in enumerate(left)
        for j, two in enumerate(right)
        if rule(one, two)
    ]
    used_left: set[int] = set()
    used_right: set[int] = set()
    for score, i, j in sorted(allowed, key=lambda one: (-one[0], one[1], one[2])):
        if score >= least and i not in used_left and j not in used_right:
            found.append((left[i], right[j]))
            used_left.add(i)
            used_right.add(j)
    left[:] = [unit for i, unit in enumerate(left) if i not in used_left]
    right[:] = [unit for j, unit in enumerate(right) if j not in used_right]


def _identical(one: Unit, two: Unit) -> bool:
    return (one.kind, one.name) == (two.kind, two.name) and _texts(one) == _texts(two)


def _by_name(one: Unit, two: Unit) -> bool:
    return one.name == two.name and one.kind == two.kind and one.kind not in ("kernel", "launcher")


def _one_role(one: Unit, two: Unit) -> bool:
    """Whether two kernels have one role, or two launchers are; a file without a manifest knows no roles."""
    roles = {one.role, two.role} - {""}
    return one.kind == two.kind and one.kind in ("kernel", "launcher") and len(roles) <= 1


def likeness(one: Unit, two: Unit) -> float:
    """How much two functions are alike: 1 and above for the same text, whatever their names."""
    texts = difflib.SequenceMatcher(None, _texts(one), _texts(two), False).ratio()
    shapes = difflib.SequenceMatcher(None, _shapes(one), _shapes(two), False).ratio()
    same_name = _SAME_NAME if one.name == two.name else 0.0
    same_regimes = _SAME_REGIMES if one.regimes == two.regimes else 0.0
    return (texts + shapes) / 2 + same_name + same_regimes


def _texts(unit: Unit) -> list[str]:
    return [piece.text for piece in unit.pieces]


def _shapes(unit: Unit) -> list[str]:
    return [piece.shape for piece in unit.pieces]
