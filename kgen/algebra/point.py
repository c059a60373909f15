"""Concrete points: values of the free variables, and of table entries, at which a formula holds.

A point is a witness or a counterexample, so it must be real: whatever the sampler guesses is
evaluated exactly, by the definitions, and returned only if the formula then is true.

The sampler draws variables in order, each inside the interval that the constraints leave it once
the earlier ones have values; corners come first. What it finds is then moved toward small values.
It counts tries and takes its choices from a seed, so a result does not depend on the machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kgen.algebra.box import Box, Constraints
from kgen.algebra.definitions import Free, Table, TableEntry
from kgen.algebra.formula import And, AtLeast, Formula, Or, Truth, conjuncts, polynomials
from kgen.algebra.interval import Interval
from kgen.algebra.poly import Poly
from kgen.algebra.ranges import range_in
from kgen.algebra.space import Space
from kgen.algebra.valuation import Valuation


@dataclass(frozen=True)
class Point:
    """A point of a space.

    `values` has the free variables by name, with None for an axis that is `none`; `tables` the
    entries that were read, by table name and address.
    """

    values: Mapping[str, int | None]
    tables: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def __str__(self) -> str:
        texts = [f"{name} = {'none' if n is None else n}" for name, n in self.values.items()]
        texts += [f"{table}[{address}] = {n}" for (table, address), n in self.tables.items()]
        return ", ".join(texts)


def find_point(
    space: Space,
    formula: Formula,
    *,
    also: Iterable[Poly] = (),
    tries: int = 200,
    seed: int = 0,
) -> Point | None:
    """A point where `formula` is true, or None where `tries` tries found none, which proves
    nothing.

    The point has a value for every free variable that `formula` or `also` depends on.
    """
    for sampler, drawn in _draws(space, formula, also, tries, seed):
        return sampler.point(sampler.simplified(drawn))
    return None


def some_points(
    space: Space, formula: Formula, also: Iterable[Poly], *, tries: int, seed: int = 0
) -> Iterator[Valuation]:
    """Points where `formula` is true, as valuations: one for each of `tries` tries that finds one.

    Each has a value for every free variable that `formula` or `also` depends on.
    """
    for _, drawn in _draws(space, formula, also, tries, seed):
        yield Valuation(space, drawn.values, drawn.tables)


def holds_at(space: Space, formula: Formula, point: Point) -> bool | None:
    """Whether `formula` is true at `point`; None where a value it needs is not known."""
    values = {}
    for name, value in point.values.items():
        (index,) = space.named(name).variables
        values[index] = space[index].definition.absent if value is None else value
    return Valuation(space, values, point.tables).formula(space.concrete_formula(formula))


@dataclass(frozen=True)
class _Drawn:
    """Values of free variables by number, and of table entries."""

    values: Mapping[int, int]
    tables: Mapping[tuple[str, int], int]


def _draws(
    space: Space, formula: Formula, also: Iterable[Poly], tries: int, seed: int
) -> Iterator[tuple[_Sampler, _Drawn]]:
    """What each try finds that finds something, with the sampler that drew it."""
    sampler = _Sampler(space, space.concrete_formula(formula), [space.concrete(p) for p in also])
    chance = random.Random(seed)
    for number in range(tries):
        drawn = sampler.attempt(number, chance)
        if drawn is not None:
            yield sampler, drawn


class _Sampler:
    def __init__(self, space: Space, formula: Formula, also: list[Poly]):
        self._space = space
        self._formula = formula
        self._indices = space.closure([*polynomials(formula), *also])
        self._free = [i for i in self._indices if isinstance(space[i].definition, Free)]
        self._always = [
            fact.poly
            for index in self._indices
            for fact in space[index].facts
            if self._certain(fact.condition)
        ]
        self._whole = {index: space[index].interval for index in self._indices}
        self._hopeless = not Constraints((*self._always, *_inequalities(formula))).narrow(
            self._whole
        )
        self._prepared: dict[tuple[Poly, ...], tuple[Constraints, Box | None]] = {}

    def attempt(self, number: int, chance: random.Random) -> _Drawn | None:
        """One draw of all variables; None where it runs into a contradiction."""
        if self._hopeless:
            return None
        constraints, start = self._constraints(tuple(self._one_way(self._formula, number, chance)))
        if start is None:
            return None
        box = dict(start)
        values: dict[int, int] = {}
        tables: dict[tuple[str, int], int] = {}
        for index in self._indices:
            value = self._value(index, box[index], values, tables, number, chance)
            if value is not None:
                values[index] = value
                box[index] = Interval(value, value)
                if not constraints.narrow(box, index):
                    return None
        drawn = _Drawn({index: values[index] for index in self._free}, tables)
        return drawn if self._is_real(drawn) else None

    def _constraints(self, facts: tuple[Poly, ...]) -> tuple[Constraints, Box | None]:
        """The constraints of one way to make the formula true, and the box that they leave."""
        if facts not in self._prepared:
            constraints = Constraints((*self._always, *facts))
            box = dict(self._whole)
            self._prepared[facts] = constraints, box if constraints.narrow(box) else None
        return self._prepared[facts]

    def simplified(self, drawn: _Drawn) -> _Drawn:
        """The draw with each value in turn moved toward 0 as far as a few trials show."""
        for index in self._free:
            for value in self._simpler(index, drawn.values[index]):
                candidate = _Drawn({**drawn.values, index: value}, drawn.tables)
                if self._is_real(candidate):
                    drawn = candidate
                    break
        return drawn

    def point(self, drawn: _Drawn) -> Point:
        """The draw with names."""
        values = {}
        for index, value in drawn.values.items():
            definition = self._space[index].definition
            values[definition.name] = None if value == definition.absent else value
        return Point(values, drawn.tables)

    def _certain(self, condition: Formula) -> bool:
        """Whether constant bounds alone make the condition of a fact true."""
        parts = conjuncts(condition)
        lows = [self._space.interval(f.poly).low for f in parts if isinstance(f, AtLeast)]
        return len(lows) == len(parts) and all(low is not None and low >= 0 for low in lows)

    def _one_way(self, formula: Formula, number: int, chance: random.Random) -> Iterator[Poly]:
        """The inequalities of one way to make `formula` true; the first tries take all in turn."""
        match formula:
            case AtLeast(poly):
                yield poly
            case And(parts):
                for part in parts:
                    yield from self._one_way(part, number, chance)
            case Or(parts):
                ways = [part for part in parts if self._possible(part)] or parts
                turn = number < 2 * len(ways)
                way = ways[number % len(ways)] if turn else chance.choice(ways)
                yield from self._one_way(way, number, chance)
            case Truth(False):
                yield Poly.of(-1)

    def _possible(self, formula: Formula) -> bool:
        """Whether no inequality of a conjunction is excluded by the variables' ranges alone."""
        highs = [
            range_in(f.poly, self._whole).high for f in conjuncts(formula) if isinstance(f, AtLeast)
        ]
        return all(high is None or high >= 0 for high in highs)

    def _value(
        self,
        index: int,
        interval: Interval,
        values: Mapping[int, int],
        tables: dict[tuple[str, int], int],
        number: int,
        chance: random.Random,
    ) -> int | None:
        """A value that may be chosen, or that the others decide; None where neither is so."""
        definition = self._space[index].definition
        if isinstance(definition, Free):
            return _draw(interval, definition.values, number, chance)
        valuation = Valuation(self._space, values, tables)
        if isinstance(definition, TableEntry) and valuation.formula(definition.mask):
            address = valuation.poly(definition.address)
            if address is None:
                return None
            if valuation.formula(definition.promised):
                interval = interval.meet(_range(definition.table, valuation))
            key = (definition.table.name, address)
            if key not in tables:
                tables[key] = _draw(interval, (), number, chance)
            return tables[key]
        return definition.evaluate(valuation.poly, valuation.formula)

    def _simpler(self, index: int, value: int) -> Iterator[int]:
        low, high = self._space[index].interval
        nearest = max(0, low or 0) if high is None else min(max(0, low or 0), high)
        members = self._space[index].definition.values
        candidates = members or (nearest, nearest + 1, nearest + (value - nearest) // 2)
        yield from (candidate for candidate in candidates if abs(candidate) < abs(value))

    def _is_real(self, drawn: _Drawn) -> bool:
        """Exact evaluation from nothing but free variables and tables."""
        valuation = Valuation(self._space, drawn.values, drawn.tables)
        return valuation.in_range(self._indices) and valuation.formula(self._formula) is True


def _inequalities(formula: Formula) -> Iterator[Poly]:
    """The inequalities that hold wherever `formula` does, as far as its form shows."""
    yield from (part.poly for part in conjuncts(formula) if isinstance(part, AtLeast))


def _range(table: Table, valuation: Valuation) -> Interval:
    """What the caller promises of the table's entries at the point."""
    return Interval(valuation.poly(table.low), valuation.poly(table.high))


def _draw(interval: Interval, values: tuple[int, ...], number: int, chance: random.Random) -> int:
    """A member of `interval`: its low end in the first try, its high end in the second, then a
    mixture.

    A side without bound is given one at some distance, so that small values are likely and large
    ones possible.
    """
    members = [value for value in values if value in interval]
    if members:
        return members[0] if number == 0 else members[-1] if number == 1 else chance.choice(members)
    low, high = interval
    if low is None:
        low = (0 if high is None else min(high, 0)) - 64
    if high is None:
        high = max(low, 0) + chance.choice((4, 64, 1 << 20, 1 << 40))
    if number < 2:
        return low if number == 0 else high
    draw = chance.randrange(5)
    if draw < 2:
        return low if draw == 0 else high
    if draw == 2:
        return min(high, low + chance.randrange(40))
    return max(low, high - chance.randrange(4)) if draw == 3 else chance.randint(low, high)
