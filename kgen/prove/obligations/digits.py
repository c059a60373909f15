"""From elements back to programs, turns and lanes: coordinates as numbers in mixed radix.

A coordinate such as `first + s * chunk + 64 * t + n` is `first` plus a number with the digits n, t and s in the radices
64 and chunk / 64. If each digit but the last is below its radix, different digits give different numbers; and every
number from 0 on has digits if no radix is 0. Where 64 does not divide chunk, `64 * t + n` is below chunk instead, and
is itself a number with the digits n and t. So, with the digits as fresh variables that know no more than that, whoever
proves that they obey what the program demands (grid, loop guards, masks) has proved that the element is reached.

A coordinate that begins with an entry of a table of offsets, which rise, is in the row of that entry.

The quotient and the remainder of one expression count as two digits, which together are that expression.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgen.algebra import (
    Formula,
    Poly,
    conjunction,
    eq,
    ge,
    le,
    lt,
    substitute,
    substitute_formula,
)
from kgen.algebra.definitions import Maximum, Minimum, TableEntry
from kgen.algebra.division import Quotient, Remainder
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import TensorFacts
from kgen.prove.obligations.engine import Engine

MOST_DIGITS = 5
MOST_CHAINS = 4
"""Orders of digits that are tried, those with the most multiples first."""


class NotDigits(Exception):
    """Why the variables of a program cannot be told from its coordinates."""


@dataclass(frozen=True)
class Chain:
    """Digits in order from the lowest on. `radices[n]` is what digit n is below; for n in `joined`, all digits up to n
    are together below the factor of the next, which is `radices[n]` then.
    """

    order: tuple[int, ...]
    radices: tuple[Poly, ...]
    joined: frozenset[int]

    @property
    def joins(self) -> int:
        """How many factors are no multiples of the one before; the fewer, the easier to prove."""
        return len(self.joined)

    def parts(
        self, digits: Sequence[Poly], factors: Mapping[int, Poly]
    ) -> Iterator[tuple[Poly, Poly]]:
        """What has to be below what, for these values of the digits."""
        total = Poly.of(0)
        for n, (digit, radix) in enumerate(zip(digits, self.radices)):
            total = total + factors[self.order[n]] * digit
            yield (total, radix) if n in self.joined else (digit, radix)


@dataclass(frozen=True)
class _Row:
    """A row of ragged rows: the table's entries where it begins and where the next one does, and its number."""

    first: Poly
    behind: Poly
    place: Poly
    table: TensorFacts


class Digits:
    """Finds the variables of a program from its coordinates, one coordinate after the other.

    `unknown` are the variables to be found; `given` holds where the program touches memory. What is found lies in
    `values`, as polynomials over fresh digits; `facts` are all that is known of these, and `hints` follow from them.
    """

    def __init__(self, engine: Engine, unknown: Iterable[int], given: Sequence[Formula]):
        self._engine, self._space = engine, engine.space
        self._unknown = set(unknown)
        self._given = tuple(given)
        self._settled: dict[int, Poly] = {}
        self._count = 0
        self.values: dict[int, Poly] = {}
        self.facts: list[Formula] = []
        self.hints: list[Formula] = []

    @property
    def missing(self) -> list[int]:
        """The variables that no coordinate has told."""
        return sorted(self._unknown)

    def any(self, name: str, poly: Poly, low: Poly, high: Poly) -> None:
        """The digits of a coordinate that may have every value from `low` to `high - 1`."""
        poly = self._unclamped(poly)
        row = self._row(poly)
        if row is not None:
            self._ragged(name, row, poly, low, high)
            return
        size = self._known(high - low)
        factors, rest = self._taken_apart(name, poly - low)
        if rest.terms and not (self._always(eq(rest, 0)) and self.proves(eq(self._known(rest), 0))):
            raise NotDigits(
                f"{name} begins {self._engine.text(rest)} behind {self._engine.text(low)}"
            )
        if not factors:
            if not self.proves(le(size, 1)):
                shown = self._engine.text(poly)
                raise NotDigits(
                    f"{name} is {shown} everywhere, and has {self._engine.text(size)} values"
                )
            return
        chain = self._chain(name, factors)
        self._not_zero(chain, ge(size, 1))
        fresh, total = self._fresh(chain.order, factors)
        self.facts += [*self._limits(chain, fresh, factors), lt(total, size)]
        self._settle(chain.order, fresh)

    def _unclamped(self, poly: Poly) -> Poly:
        """`poly` with the entries of tables that it has behind a clamp, where no clamp changes them."""
        for variable in self._space.concrete(poly).variables:
            definition, x = self._space[variable].definition, Poly.variable(variable)
            if not isinstance(definition, (Minimum, Maximum)):
                continue
            for inner in definition.arguments():
                entry = len(inner.variables) == 1 and self._space[max(inner.variables)].definition
                if isinstance(entry, TableEntry) and self._always(eq(x, inner)):
                    poly = self._space.concrete(poly).substitute({variable: inner})
        return poly

    def _row(self, poly: Poly) -> _Row | None:
        """The row of ragged rows that a coordinate begins with, if it does."""
        for variable in self._space.concrete(poly).variables:
            entry = self._space[variable].definition
            if not isinstance(entry, TableEntry) or not self._depends(Poly.variable(variable)):
                continue
            table = self._engine.world.tensors[entry.table.name]
            if table.contents is None or not table.contents.rising or len(table.extents) != 1:
                continue
            where = coordinates(self._space, entry.address, table)
            if where is None or not self._always(conjunction(entry.mask, entry.promised)):
                continue
            (place,) = where
            if len(place.variables) == 1 and place == Poly.variable(*place.variables):
                behind = self._space.entry(entry.table, entry.address + table.strides[0])
                return _Row(Poly.variable(variable), behind, place, table)
        return None

    def _ragged(self, name: str, row: _Row, poly: Poly, low: Poly, high: Poly) -> None:
        """Rows one behind the other fill what lies between the first entry and the last: each place is in one row, and
        each program that has a place is in it.
        """
        (index,) = row.place.variables
        contents, rows = row.table.contents, row.table.extents[0] - 1
        whole = conjunction(eq(low, contents.table.low), eq(high, contents.table.high))
        factors, rest = self._taken_apart(name, poly - row.first)
        within = conjunction(ge(row.place, 0), lt(row.place, rows))
        total = sum((f * Poly.variable(d) for d, f in factors.items()), Poly.of(0))
        if index not in self._unknown or not self.proves(whole) or not self._always(within):
            raise NotDigits(f"{name} is not known to be in the rows of {row.table.name}")
        if rest.terms or not self._always(lt(total, row.behind - row.first)):
            raise NotDigits(f"{name} may lie beyond its row of {row.table.name}")
        fresh_row, _ = self._fresh((index,), {index: Poly.of(1)})
        self.facts += [lt(fresh_row[0], self._known(rows))]
        self._settle((index,), fresh_row)
        length = self._known(row.behind - row.first)
        if contents.steps is not None:
            self.facts.append(le(length, self._known(contents.steps)))
        if not factors:
            if not self.proves(le(length, 1)):
                raise NotDigits(f"{name} is the first of its row of {row.table.name} only")
            self.facts.append(ge(length, 1))
            return
        chain = self._chain(name, factors)
        self._not_zero(chain, ge(length, 1))
        fresh, total = self._fresh(chain.order, factors)
        self.facts += [*self._limits(chain, fresh, factors), lt(total, length)]
        self._settle(chain.order, fresh)

    def equal(self, name: str, poly: Poly, value: Poly) -> None:
        """The digits of a coordinate that has to be `value`."""
        factors, rest = self._taken_apart(name, poly)
        value = value - self._known(rest)
        if not factors:
            if not self.proves(eq(value, 0)):
                raise NotDigits(f"{name} is {self._engine.text(poly)} everywhere")
            return
        chain = self._chain(name, factors)
        if len(chain.order) == 1:
            self._settle(chain.order, [value])
            return
        if not self.proves(ge(value, 0)):
            raise NotDigits(f"{name}: {self._engine.text(value)} may be negative")
        self._not_zero(chain)
        fresh, total = self._fresh(chain.order, factors)
        self.facts += [*self._limits(chain, fresh, factors), eq(total, value)]
        self._settle(chain.order, fresh)

    def only_zero(self, variable: int) -> None:
        """A variable that no coordinate tells: it may have one value."""
        x = Poly.variable(variable)
        if not self._always(le(x, 0)):
            raise NotDigits(
                f"{self._engine.text(x)} tells no element from another: each is met several times"
            )
        self._settle((variable,), [Poly.of(0)])

    def each_of(self, program: Poly, count: int) -> None:
        """Each of `count` neighbouring programs meets all elements: which of them it is may be anything, and is given."""
        unknown = self._unknown.intersection(program.variables)
        for variable in range(len(self._space)) if unknown else ():
            its = self._space[variable].definition
            if isinstance(its, Remainder) and (its.dividend, its.divisor) == (
                program,
                Poly.of(count),
            ):
                given = self._engine.digit(f"{self._engine.text(Poly.variable(variable))}'given")
                self.facts.append(lt(given, count))
                self._settle((variable,), [given])
                return

    def choose_zero(self, variable: int) -> None:
        """A variable that no coordinate tells, where any value will do."""
        self._settle((variable,), [Poly.of(0)])

    def proves(self, goal: Formula) -> bool:
        """Whether `goal` holds for all values of the digits."""
        engine = self._engine
        if self.hints and (
            engine.soon_proves(goal, *self.facts)
            or engine.soon_proves(goal, *self.facts, *self.hints)
        ):
            return True
        return engine.proves(goal, *self.facts)

    def at(self, formula: Formula) -> Formula:
        """A condition of the program, at what was found."""
        return substitute_formula(self._space, formula, self.values)

    def learn(self, steps: Iterable[Formula]) -> None:
        """Adds to the hints what can be proved of conditions of the program, at what was found."""
        for step in map(self.at, steps):
            if self._engine.soon_proves(step, *self.facts):
                self.hints.append(step)

    # Taking apart.

    def _taken_apart(self, name: str, poly: Poly) -> tuple[dict[int, Poly], Poly]:
        """The digits in `poly` with their factors, and what is left."""
        rest, factors = self._space.concrete(poly), {}
        for variable in sorted(rest.variables):
            x = Poly.variable(variable)
            if variable in self._settled or not self._depends(x):
                continue
            if not self._is_digit(variable):
                raise NotDigits(f"{name} depends on {self._engine.text(x)}, which is no digit")
            if rest.degree(variable) > 1:
                raise NotDigits(f"{name} is not linear in {self._engine.text(x)}")
            factors[variable], rest = rest.split(variable)
        if len(factors) > MOST_DIGITS:
            raise NotDigits(f"{name} has {len(factors)} digits")
        if any(self._depends(self._seen(factor)) for factor in factors.values()):
            raise NotDigits(f"{name} multiplies digits: {self._engine.text(poly)}")
        self._drop_zeros(factors)
        return factors, rest

    def _drop_zeros(self, factors: dict[int, Poly]) -> None:
        """Of digits that count the same, those that are 0 wherever the program touches memory, like the only row of a tile."""
        counts = list(factors.values())
        for digit in [digit for digit, factor in factors.items() if counts.count(factor) > 1]:
            x = Poly.variable(digit)
            if self._always(conjunction(ge(x, 0), le(x, 0))):
                del factors[digit]
                self._settle((digit,), [Poly.of(0)])

    def _seen(self, poly: Poly) -> Poly:
        return poly.substitute(self._settled)

    def _depends(self, poly: Poly) -> bool:
        """Whether `poly` depends on what is still to be found."""
        return not self._unknown.isdisjoint(self._space.closure((poly,)))

    def _is_digit(self, variable: int) -> bool:
        definition = self._space[variable].definition
        if isinstance(definition, (Quotient, Remainder)):
            return not self._depends(definition.divisor)
        return variable in self._unknown

    def _chain(self, name: str, factors: Mapping[int, Poly]) -> Chain:
        """The digits from the lowest on. Where the program runs, no digit is negative and each is below its limit."""
        reason = None
        for chain in sorted(_chains(factors), key=lambda chain: chain.joins)[:MOST_CHAINS]:
            reason = self._fault(name, chain, factors)
            if reason is None:
                return chain
        if reason is None:
            shown = ", ".join(self._engine.text(factor) for factor in factors.values())
            reason = f"{name}: the factors {shown} are no chain of radices"
        raise NotDigits(reason)

    def _fault(self, name: str, chain: Chain, factors: Mapping[int, Poly]) -> str | None:
        """Why different digits might give the same number; None if they never do."""
        digits = [Poly.variable(digit) for digit in chain.order]
        for x in digits:
            if not self._always(ge(x, 0)):
                return f"{name}: {self._engine.text(x)} may be negative"
        for part, limit in chain.parts(digits, factors):
            if not self._always(lt(part, limit)):
                shown, end = self._engine.text(part), self._engine.text(limit)
                return f"{name}: {shown} may reach {end}, where the next digit begins"
        return None

    def _limits(
        self, chain: Chain, fresh: Sequence[Poly], factors: Mapping[int, Poly]
    ) -> Iterator[Formula]:
        """What is known of fresh digits."""
        known = {digit: self._known(factor) for digit, factor in factors.items()}
        for part, limit in chain.parts(fresh, known):
            yield lt(part, self._known(limit))

    def _not_zero(self, chain: Chain, *given: Formula) -> None:
        """No radix is 0, so every number has digits."""
        for radix in map(self._known, chain.radices):
            if not self._engine.proves(ge(radix, 1), *given, *self.facts):
                raise NotDigits(f"the radix {self._engine.text(radix)} may be 0")

    def _fresh(self, order: Sequence[int], factors: Mapping[int, Poly]) -> tuple[list[Poly], Poly]:
        """A fresh variable for each digit, and the number that they are. Another `Digits` may have the same ones, for
        all that is known of them is stated here."""
        fresh, total = [], Poly.of(0)
        for digit in order:
            shown = self._engine.text(Poly.variable(digit))
            y = self._engine.digit(f"{shown}'{self._count}")
            self._count += 1
            fresh.append(y)
            total = total + self._known(factors[digit]) * y
        return fresh, total

    # What was found.

    def _settle(self, digits: Sequence[int], values: Sequence[Poly]) -> None:
        for digit, value in zip(digits, values):
            self._settled[digit] = value
            if digit in self._unknown:
                self._unknown.discard(digit)
                self.values[digit] = value
        for digit in digits:
            self._recombine(digit)

    def _recombine(self, digit: int) -> None:
        """With both the quotient and the remainder of an expression, the expression is known."""
        definition = self._space[digit].definition
        if not isinstance(definition, (Quotient, Remainder)):
            return
        dividend, divisor = definition.dividend, definition.divisor
        parts: dict[type, Poly] = {}
        for other, value in self._settled.items():
            its = self._space[other].definition
            if (
                isinstance(its, (Quotient, Remainder))
                and its.dividend == dividend
                and its.divisor == divisor
            ):
                parts[type(its)] = value
        if len(parts) < 2 or not self._depends(dividend):
            return
        text, limit = self._engine.text(dividend), self._known(divisor)
        if not self._always(conjunction(ge(dividend, 0), ge(divisor, 1))):
            raise NotDigits(f"{text} may be negative where it is divided")
        if not self.proves(conjunction(ge(parts[Remainder], 0), lt(parts[Remainder], limit))):
            raise NotDigits(
                f"an element would need a remainder of {text} beyond {self._engine.text(limit)}"
            )
        if not self.proves(ge(parts[Quotient], 0)):
            raise NotDigits(f"an element would need a negative quotient of {text}")
        # found by rounding, which what comes next would have to find again
        self.facts.append(lt(parts[Remainder], limit))
        self.equal(text, dividend, limit * parts[Quotient] + parts[Remainder])

    def _always(self, goal: Formula) -> bool:
        """Whether `goal` holds wherever the program touches memory."""
        return self._engine.proves(goal, *self._given)

    def _known(self, poly: Poly) -> Poly:
        """`poly`, at what was found."""
        return substitute(self._space, self._seen(self._space.concrete(poly)), self.values)


def _chains(factors: Mapping[int, Poly]) -> Iterator[Chain]:
    """The orders in which digits may be those of one number: the lowest counts ones."""
    for order in itertools.permutations(factors):
        if factors[order[0]].constant == 1:
            steps = [_radix(factors[low], factors[high]) for low, high in itertools.pairwise(order)]
            radices = [step or factors[high] for step, high in zip(steps, order[1:])]
            if all(radix.constant != 1 for radix in radices):
                joined = frozenset(n for n, step in enumerate(steps) if step is None)
                yield Chain(order, tuple(radices), joined)


def _radix(low: Poly, high: Poly) -> Poly | None:
    """What `high` is to `low`; None if it is no multiple."""
    if len(low.terms) != 1:
        return None
    radix, rest = high.divide_by_term(low)
    return None if rest.terms or not radix.terms else radix
