"""Points made smaller, so that a person can check them and a call that they describe can be run.

A variable is moved toward 0 as far as the formula stays true, the last ones first: what a value was
bounded by can only follow it. A table entry keeps its value wherever the smaller point reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kgen.algebra.definitions import Free, TableEntry
from kgen.algebra.formula import Formula, polynomials
from kgen.algebra.point import Point
from kgen.algebra.space import Space
from kgen.algebra.valuation import Valuation

MOST_TRIALS = 1200
MOST_ROUNDS = 4


def smaller(space: Space, formula: Formula, point: Point) -> Point:
    """A point where `formula` is true, as it is at `point`, with values nearer to 0.

    The point itself where the formula is not known to be true there.
    """
    shrinking = _Shrinking(space, space.concrete_formula(formula), point)
    values = shrinking.start
    if shrinking.tables(values) is None:
        return point
    for _ in range(MOST_ROUNDS):
        before = values
        for index in shrinking.order:
            values = shrinking.moved(values, index)
        if values == before:
            break
    return shrinking.point(values)


@dataclass
class _Shrinking:
    """Values of free variables and of table entries by number, and whether the formula holds there."""

    space: Space
    formula: Formula
    given: Point
    start: Mapping[int, int] = field(default_factory=dict)
    order: tuple[int, ...] = ()
    trials: int = 0

    def __post_init__(self) -> None:
        free = {}
        for name, value in self.given.values.items():
            (index,) = self.space.named(name).variables
            free[index] = self.space[index].definition.absent if value is None else value
        self._indices = self.space.closure([*polynomials(self.formula)])
        self._entries = [i for i in self._indices if isinstance(self._meaning(i), TableEntry)]
        valuation = Valuation(self.space, free, self.given.tables)
        entries = {i: valuation[i] for i in self._entries if valuation[i] is not None}
        self.start = {**free, **entries}
        self.order = tuple(sorted(self.start, reverse=True))

    def tables(self, values: Mapping[int, int]) -> Mapping[tuple[str, int], int] | None:
        """What the tables hold at these values; None where the formula is not true there."""
        self.trials += 1
        free = {i: n for i, n in values.items() if not isinstance(self._meaning(i), TableEntry)}
        tables: dict[tuple[str, int], int] = {}
        valuation = Valuation(self.space, free, tables)
        for index in self._entries:
            entry = self._meaning(index)
            address = valuation.poly(entry.address) if valuation.formula(entry.mask) else None
            if address is not None and index in values:
                tables.setdefault((entry.table.name, address), values[index])
        holds = valuation.in_range(self._indices) and valuation.formula(self.formula) is True
        return tables if holds else None

    def moved(self, values: Mapping[int, int], index: int) -> Mapping[int, int]:
        """The values with this one as near to 0 as halving the distance finds."""
        definition, value = self._meaning(index), values[index]
        if isinstance(definition, Free) and definition.absent == value:
            return values
        for candidate in self._nearest(index, value):
            if self._holds(found := {**values, index: candidate}):
                return found
        if isinstance(definition, Free) and definition.values:
            return values
        failed = next(self._nearest(index, value), value)
        while abs(value - failed) > 1 and self.trials < MOST_TRIALS:
            middle = (value + failed) // 2
            if self._holds({**values, index: middle}):
                value = middle
            else:
                failed = middle
        return {**values, index: value}

    def point(self, values: Mapping[int, int]) -> Point:
        """The values with names."""
        names = {}
        for name in self.given.values:
            (index,) = self.space.named(name).variables
            absent = self._meaning(index).absent
            names[name] = None if values[index] == absent else values[index]
        return Point(names, self.tables(values) or self.given.tables)

    def _holds(self, values: Mapping[int, int]) -> bool:
        return self.trials < MOST_TRIALS and self.tables(values) is not None

    def _nearest(self, index: int, value: int) -> Iterator[int]:
        """What would be best: a listed value, or that nearest to 0."""
        definition, (low, high) = self._meaning(index), self.space[index].interval
        if isinstance(definition, Free) and definition.values:
            yield from (n for n in sorted(definition.values, key=abs) if abs(n) < abs(value))
            return
        best = max(0, low or 0) if high is None else min(max(0, low or 0), high)
        if abs(best) < abs(value):
            yield best

    def _meaning(self, index: int) -> object:
        return self.space[index].definition
