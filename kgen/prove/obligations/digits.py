"""From elements back to programs, turns and lanes: coordinates as numbers in mixed radix.

A coordinate such as `first + s * chunk + 64 * t + n` is `first` plus a number with the digits n, t and s in the radices
64 and chunk / 64. If each digit but the last is below its radix, different digits give different numbers; and every
number from 0 on has digits if no radix is 0. So, with the digits as fresh variables that know no more than that, whoever
proves that they obey what the program demands (grid, loop guards, masks) has proved that the element is reached.

The quotient and the remainder of one expression count as two digits, which together are that expression.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

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
from kgen.algebra.division import Quotient, Remainder
from kgen.prove.obligations.engine import Engine

MOST_DIGITS = 5


class NotDigits(Exception):
    """Why the variables of a program cannot be told from its coordinates."""


class Digits:
    """Finds the variables of a program from its coordinates, one coordinate after the other.

    `unknown` are the variables to be found; `given` holds where the program touches memory. What is found lies in
    `values`, as polynomials over fresh digits; `facts` are all that is known of these.
    """

    def __init__(self, engine: Engine, unknown: Iterable[int], given: Sequence[Formula]):
        self._engine, self._space = engine, engine.space
        self._unknown = set(unknown)
        self._given = tuple(given)
        self._settled: dict[int, Poly] = {}
        self._count = 0
        self.values: dict[int, Poly] = {}
        self.facts: list[Formula] = []

    @property
    def missing(self) -> list[int]:
        """The variables that no coordinate has told."""
        return sorted(self._unknown)

    def any(self, name: str, poly: Poly, low: Poly, high: Poly) -> None:
        """The digits of a coordinate that may have every value from `low` to `high - 1`."""
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
        order, radices = self._chain(name, factors)
        self._not_zero(radices, ge(size, 1))
        fresh, total = self._fresh(order, factors)
        self.facts += [*map(lt, fresh, radices), lt(total, size)]
        self._settle(order, fresh)

    def equal(self, name: str, poly: Poly, value: Poly) -> None:
        """The digits of a coordinate that has to be `value`."""
        factors, rest = self._taken_apart(name, poly)
        value = value - self._known(rest)
        if not factors:
            if not self.proves(eq(value, 0)):
                raise NotDigits(f"{name} is {self._engine.text(poly)} everywhere")
            return
        order, radices = self._chain(name, factors)
        if len(order) == 1:
            self._settle(order, [value])
            return
        if not self.proves(ge(value, 0)):
            raise NotDigits(f"{name}: {self._engine.text(value)} may be negative")
        self._not_zero(radices)
        fresh, total = self._fresh(order, factors)
        self.facts += [*map(lt, fresh, radices), eq(total, value)]
        self._settle(order, fresh)

    def only_zero(self, variable: int) -> None:
        """A variable that no coordinate tells: it may have one value."""
        x = Poly.variable(variable)
        if not self._always(le(x, 0)):
            raise NotDigits(
                f"{self._engine.text(x)} tells no element from another: each is met several times"
            )
        self._settle((variable,), [Poly.of(0)])

    def choose_zero(self, variable: int) -> None:
        """A variable that no coordinate tells, where any value will do."""
        self._settle((variable,), [Poly.of(0)])

    def proves(self, goal: Formula) -> bool:
        """Whether `goal` holds for all values of the digits."""
        return self._engine.proves(goal, *self.facts)

    def at(self, formula: Formula) -> Formula:
        """A condition of the program, at what was found."""
        return substitute_formula(self._space, formula, self.values)

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
        return factors, rest

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

    def _chain(self, name: str, factors: Mapping[int, Poly]) -> tuple[tuple[int, ...], list[Poly]]:
        """The digits from the lowest on, and the radix of each but the last, for what is found so far.

        Where the program runs, no digit is negative and each is below its radix: different digits, different numbers.
        """
        for order in itertools.permutations(factors):
            radices = _radices([factors[digit] for digit in order])
            if radices is not None:
                break
        else:
            shown = ", ".join(self._engine.text(factor) for factor in factors.values())
            raise NotDigits(f"{name}: the factors {shown} are no chain of radices")
        for digit, radix in itertools.zip_longest(order, radices):
            x = Poly.variable(digit)
            if not self._always(ge(x, 0)):
                raise NotDigits(f"{name}: {self._engine.text(x)} may be negative")
            if radix is not None and not self._always(lt(x, radix)):
                shown, limit = self._engine.text(x), self._engine.text(radix)
                raise NotDigits(f"{name}: {shown} may reach {limit}, where the next digit begins")
        return order, list(map(self._known, radices))

    def _not_zero(self, radices: Iterable[Poly], *given: Formula) -> None:
        """No radix is 0, so every number has digits."""
        for radix in radices:
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
        self.equal(text, dividend, limit * parts[Quotient] + parts[Remainder])

    def _always(self, goal: Formula) -> bool:
        """Whether `goal` holds wherever the program touches memory."""
        return self._engine.proves(goal, *self._given)

    def _known(self, poly: Poly) -> Poly:
        """`poly`, at what was found."""
        return substitute(self._space, self._seen(self._space.concrete(poly)), self.values)


def _radices(factors: Sequence[Poly]) -> list[Poly] | None:
    """What each factor is to the one before it; None if they are no chain from 1 on."""
    if factors[0].constant != 1:
        return None
    radices = []
    for small, large in itertools.pairwise(factors):
        if len(small.terms) != 1:
            return None
        radix, rest = large.divide_by_term(small)
        if rest.terms or not radix.terms or radix.constant == 1:
            return None
        radices.append(radix)
    return radices
