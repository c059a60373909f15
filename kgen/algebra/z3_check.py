"""Another judge of what was proved, by z3: it is told the statement, and never sees the proof.

The opposite of a claim is stated to z3 over the integers, with every definition said a third time, and z3 looks for
values. It shares with the engine and its two checkers the plain data alone: polynomials, formulas, and the arguments of
definitions. Products of variables are where z3 gives up, which is no answer, and never agreement.

Where kgen knows no value (a division by zero, a table's entry, what cannot be looked into) z3 may choose one, so it
agrees only with what holds for each. This module needs z3, which kgen itself does not.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import z3

from kgen.algebra import definitions as defs
from kgen.algebra import formula as logic
from kgen.algebra.division import Quotient, Remainder
from kgen.algebra.point import Point
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space
from kgen.algebra.valuation import Valuation

EFFORT = 400_000
"""Of z3's own units of work: its answer does not depend on how fast the machine is."""
MOST_BITS = 63
"""Powers of two up to this exponent are told one by one."""


class Answer(enum.StrEnum):
    """What z3 says of a claim. Only `agrees` is agreement.

    A claim is `disputed` where z3 found values against it and kgen's evaluation does not find it false there: one of the
    two is wrong, or the claim speaks of what has no value.
    """

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    DISPUTED = "disputed"
    NONE = "no answer"


@dataclass(frozen=True)
class Opinion:
    """An answer, and the values that z3 found against the claim."""

    answer: Answer
    point: Point | None = None


def ask(
    space: Space, goal: logic.Formula, given: logic.Formula = logic.TRUE, *, effort: int = EFFORT
) -> Opinion:
    """What z3 says of `goal` at every point of `space` where `given` holds."""
    claim = _Claim(space, goal, given)
    solver = z3.Solver(ctx=claim.context)
    solver.set("rlimit", effort)
    solver.add(*claim.statements())
    found = solver.check()
    if found == z3.unsat:
        return Opinion(Answer.AGREES)
    if found != z3.sat:
        return Opinion(Answer.NONE)
    values, tables = claim.values(solver.model())
    answer = Answer.CONTRADICTS if claim.is_false(values, tables) else Answer.DISPUTED
    return Opinion(answer, claim.point(values, tables))


class _Claim:
    """A claim in z3's terms. Each has a context of its own, so that no answer depends on an earlier question."""

    def __init__(self, space: Space, goal: logic.Formula, given: logic.Formula):
        self.context = z3.Context()
        self._space, self._goal, self._given = space, goal, given
        self._indices = space.closure([*logic.polynomials(goal), *logic.polynomials(given)])
        self._conditions: dict[logic.Opaque, z3.BoolRef] = {}

    def statements(self) -> Iterator[z3.BoolRef]:
        """What holds together exactly where the claim is false."""
        yield self._said(self._given)
        yield z3.Not(self._said(self._goal))
        for index in self._indices:
            yield from self._meaning(index)

    def values(self, model: z3.ModelRef) -> tuple[dict[int, int], dict[tuple[str, int], int]]:
        """What a model gives to each free variable by number, and to the entries of tables."""

        def number(term: z3.ArithRef) -> int:
            return model.eval(term, model_completion=True).as_long()

        free: dict[int, int] = {}
        tables: dict[tuple[str, int], int] = {}
        for index in self._indices:
            match self._space[index].definition:
                case defs.Free():
                    free[index] = number(self._variable(index))
                case defs.TableEntry(table=table, address=address):
                    place = (table.name, number(self._number(address)))
                    tables.setdefault(place, number(self._variable(index)))
        return free, tables

    def is_false(self, values: Mapping[int, int], tables: Mapping[tuple[str, int], int]) -> bool:
        """Whether kgen's own exact evaluation finds the claim false at these values."""
        at = Valuation(self._space, values, tables)
        reached = at.in_range(self._indices) and at.formula(self._given)
        return reached is True and at.formula(self._goal) is False

    def point(self, values: Mapping[int, int], tables: Mapping[tuple[str, int], int]) -> Point:
        """The values with names."""
        named = {self._space[index].definition: value for index, value in values.items()}
        return Point(
            {one.name: None if value == one.absent else value for one, value in named.items()},
            tables,
        )

    # Terms.

    def _variable(self, index: int) -> z3.ArithRef:
        return z3.Int(f"x{index}", self.context)

    def _number(self, poly: Poly) -> z3.ArithRef:
        total = z3.IntVal(0, self.context)
        for monomial, coefficient in poly.terms.items():
            product = z3.IntVal(coefficient, self.context)
            for index in monomial:
                product = product * self._variable(index)
            total = total + product
        return z3.simplify(total)

    def _said(self, formula: logic.Formula) -> z3.BoolRef:
        match formula:
            case logic.Truth(value):
                return z3.BoolVal(value, self.context)
            case logic.AtLeast(poly):
                return self._number(poly) >= 0
            case logic.And(parts):
                return z3.And(*map(self._said, parts))
            case logic.Or(parts):
                return z3.Or(*map(self._said, parts))
            case logic.Not(part):
                return z3.Not(self._said(part))
        if formula not in self._conditions:
            name = f"c{len(self._conditions)}"
            self._conditions[formula] = z3.Bool(name, self.context)
        return self._conditions[formula]

    # Definitions.

    def _meaning(self, index: int) -> Iterator[z3.BoolRef]:
        """What is true of a variable, always; all of it where kgen can compute it."""
        x, number = self._variable(index), self._number
        match self._space[index].definition:
            case defs.Fixed(value=value):
                yield x == value
            case defs.Free(low=low, high=high, values=values):
                if low is not None:
                    yield x >= number(low)
                if high is not None:
                    yield x <= number(high)
                if values:
                    yield z3.Or(*(x == value for value in values))
            case defs.Minimum(left, right):
                a, b = number(left), number(right)
                yield x == z3.If(a < b, a, b)
            case defs.Maximum(left, right):
                a, b = number(left), number(right)
                yield x == z3.If(a < b, b, a)
            case defs.Where(condition, then, otherwise):
                yield x == z3.If(self._said(condition), number(then), number(otherwise))
            case Quotient(dividend, divisor, rounding):
                yield _divided(number(dividend), number(divisor), x, rounding)
            case Remainder(dividend, divisor, quotient, rounding):
                a, b, q = number(dividend), number(divisor), number(quotient)
                yield z3.Implies(b != 0, x == a - b * q)
                yield _divided(a, b, q, rounding)
            case defs.PowerOfTwo(operand):
                yield from _power_of_two(number(operand), x)
            case defs.Logarithm(operand):
                yield from _logarithm(number(operand), x)
            case defs.TableEntry():
                yield from self._entry(x, self._space[index].definition)
            case defs.Unknown(bounds=bounds):
                yield from _stored(x, *bounds)
            case unknown:
                raise NotImplementedError(f"z3 is not told what {type(unknown).__name__} means")

    def _entry(self, x: z3.ArithRef, entry: defs.TableEntry) -> Iterator[z3.BoolRef]:
        """An entry that is loaded is one of its type, and in the promised range where that is promised."""
        loaded, promised = self._said(entry.mask), self._said(entry.promised)
        low, high = self._number(entry.table.low), self._number(entry.table.high)
        if entry.other is not None:
            yield z3.Implies(z3.Not(loaded), x == self._number(entry.other))
        for end in _stored(x, *entry.table.storage):
            yield end if entry.other is None else z3.Implies(loaded, end)
        yield z3.Implies(z3.And(loaded, promised), z3.And(low <= x, x <= high))


def _divided(a: z3.ArithRef, b: z3.ArithRef, q: z3.ArithRef, rounding: str) -> z3.BoolRef:
    """That `q` is `a` divided by `b`: what is left is smaller than `b`, and has the sign of `b` where quotients are
    rounded down, of `a` where toward zero. A quotient by zero may be anything.
    """
    rest = a - b * q
    up, down = z3.And(0 <= rest, rest < b), z3.And(b < rest, rest <= 0)
    if rounding == "floor":
        return z3.And(z3.Implies(b > 0, up), z3.Implies(b < 0, down))
    size = z3.If(b < 0, -b, b)
    natural, negative = z3.And(0 <= rest, rest < size), z3.And(-size < rest, rest <= 0)
    return z3.Implies(b != 0, z3.If(a < 0, negative, natural))


def _power_of_two(n: z3.ArithRef, x: z3.ArithRef) -> Iterator[z3.BoolRef]:
    """That `x` is the least power of two from `n` on; of huge ones only between which numbers they lie."""
    yield z3.And(x >= 1, x >= n, z3.Implies(n >= 1, x < 2 * n))
    yield z3.Or(x > 2**MOST_BITS, *(x == 2**exponent for exponent in range(MOST_BITS + 1)))
    yield z3.Implies(n < 1, x == 1)


def _logarithm(n: z3.ArithRef, x: z3.ArithRef) -> Iterator[z3.BoolRef]:
    """That `x` is the logarithm of `n >= 1`; of huge numbers only between which numbers it lies."""
    yield z3.Implies(n >= 1, z3.And(x >= 0, x < n))
    for exponent in range(MOST_BITS):
        between = z3.And(n >= 2**exponent, n < 2 ** (exponent + 1))
        yield between == z3.And(n >= 1, x == exponent)


def _stored(x: z3.ArithRef, low: int | None, high: int | None) -> Iterator[z3.BoolRef]:
    if low is not None:
        yield x >= low
    if high is not None:
        yield x <= high
