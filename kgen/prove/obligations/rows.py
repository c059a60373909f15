"""Rows that lie one behind the other, as a kernel computes them: where each begins, and in which one a place is.

Two rules give what arithmetic alone does not:

- *Running sums.* `tl.cumsum` of numbers that are not negative begins with the first of them and never falls. Continued
  by its first and its last value it is a function of all integers that never falls, so `sum(x) <= sum(x + d)` for every
  x and every d >= 0, wherever and of whatever it is computed.
- *Counts.* If a condition holds in a lane wherever it holds in the next, it holds in the first lanes and in no later
  one, and the number of lanes where it holds is the first lane where it does not. So c + 1 are counted exactly if the
  condition holds in lane c and not in lane c + 1, if there is one.

A kernel that counts the rows which begin at its program's place or before finds the row that the place is in. Places
then correspond one to one to pairs of a row and of what a place lies behind the row's beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kgen.algebra import (
    AtLeast,
    Formula,
    Poly,
    Space,
    conjunction,
    conjuncts,
    disjunction,
    eq,
    ge,
    lt,
    negate,
    substitute,
    substitute_formula,
)
from kgen.algebra.definitions import Unknown
from kgen.algebra.formula import polynomials

Key = tuple[str, int]
"""What tells an `Unknown` of a kernel from others: its reason and its serial."""


@dataclass(frozen=True)
class RunningSum:
    """The sum of `value` over all lanes up to one; `inputs` are what both depend on, the lane first."""

    value: Poly
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Count:
    """How many of `size` lanes, the first ones, `condition` holds in, for values of `inputs`; `result` for these."""

    result: Poly
    condition: Formula
    lane: int
    size: int
    inputs: tuple[int, ...]

    def at(self, space: Space, lane: Poly, values: Sequence[Poly]) -> Formula:
        """Whether that lane is counted."""
        every = {self.lane: lane, **dict(zip(self.inputs, values, strict=True))}
        return substitute_formula(space, self.condition, every)

    def last(self, space: Space, lane: Poly, values: Sequence[Poly]) -> Formula:
        """Whether that lane is the last one counted, so that there are `lane + 1`."""
        behind = negate(self.at(space, lane + 1, values))
        return conjunction(
            ge(lane, 0),
            lt(lane, self.size),
            self.at(space, lane, values),
            disjunction(ge(lane + 1, self.size), behind),
        )

    def begins(self, space: Space, row: Poly, place: int) -> Poly | None:
        """The least value of the input `place` for which lane `row` is counted, as far as one part of the condition says."""
        for part in conjuncts(self.condition):
            if isinstance(part, AtLeast) and place in part.poly.variables:
                slope, rest = part.poly.split(place)
                if slope.constant == 1 and place not in space.closure((rest,)):
                    return substitute(space, -rest, {self.lane: row})
        return None


@dataclass
class Rows:
    """The running sums and the counts of one world, by key; `proves` says what else is known."""

    space: Space
    proves: Callable[[Formula], bool]
    sums: dict[Key, RunningSum] = field(default_factory=dict)
    counts: dict[Key, Count] = field(default_factory=dict)
    _stated: dict[int, Formula] = field(default_factory=dict)

    def count(self, variable: int) -> Count | None:
        """The count that a variable is."""
        return self.counts.get(self._key(variable))

    def lanes(self, poly: Poly) -> Iterator[Poly]:
        """The lanes up to which running sums go that `poly` depends on."""
        for variable in self.space.closure((poly,)):
            if self._key(variable) in self.sums:
                yield self.space[variable].definition.inputs[0]

    def facts(self, known: set[int]) -> Iterator[Formula]:
        """What the rules say of the variables in `known`; those that they speak of are added to it."""
        if not self.sums and not self.counts:
            return
        for variable in sorted(known):
            if self._key(variable) in self.counts:
                fact = self._of_count(variable)
                known.update(self.space.closure(polynomials(fact)))
                yield fact
        yield from self._of_sums(known)

    def _key(self, variable: int) -> Key | None:
        definition = self.space[variable].definition
        if not isinstance(definition, Unknown):
            return None
        return definition.reason, definition.serial

    def _of_count(self, variable: int) -> Formula:
        """That the last lane which is counted fulfils the condition; there is one if the first lane does."""
        if variable not in self._stated:
            self._stated[variable] = conjunction()  # while it is looked for, nothing is known
            count, inputs = self.count(variable), self.space[variable].definition.inputs
            some = Poly.variable(variable)
            last = count.at(self.space, some - 1, inputs)
            if self.proves(count.at(self.space, Poly.of(0), inputs)):
                self._stated[variable] = conjunction(ge(some, 1), last)
            else:
                self._stated[variable] = disjunction(lt(some, 1), last)
        return self._stated[variable]

    def _of_sums(self, known: set[int]) -> Iterator[Formula]:
        """That the first value of a running sum is the first summand, and of two neighbours the later one is not less."""
        found: dict[tuple, list[tuple[Poly, Poly]]] = {}
        for variable in sorted(known):
            key = self._key(variable)
            if key in self.sums:
                lane, *others = self.space[variable].definition.inputs
                found.setdefault((key, *others), []).append((lane, Poly.variable(variable)))
        for (key, *others), values in found.items():
            for n, (lane, value) in enumerate(values):
                if lane.constant == 0:
                    every = dict(zip(self.sums[key].inputs, (lane, *others), strict=True))
                    yield eq(value, substitute(self.space, self.sums[key].value, every))
                for other_lane, other in values[n + 1 :]:
                    distance = (other_lane - lane).constant
                    if distance is not None:
                        yield ge(other, value) if distance > 0 else ge(value, other)
