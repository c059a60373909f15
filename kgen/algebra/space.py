"""A space: the variables of one problem, each with its meaning.

Variables are numbered in the order of their making, so a defined variable always comes after its
arguments. The same definition gives the same variable, so equal expressions are equal polynomials.
Constants keep their names in the polynomials that a caller sees; inside definitions, and in proofs,
their values stand.

The constructors simplify where constant intervals already decide (`min(x, y)` where `x <= y`
always); each such rule is stated beside its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgen.algebra.definition import Definition, Fact
from kgen.algebra.definitions import (
    Fixed,
    Free,
    Kind,
    Logarithm,
    Maximum,
    Minimum,
    PowerOfTwo,
    Table,
    TableEntry,
    Unknown,
    Where,
    logarithm,
    power_of_two,
)
from kgen.algebra.division import Quotient, Remainder, Rounding, divide
from kgen.algebra.formula import FALSE, TRUE, Formula, le, transform
from kgen.algebra.interval import Interval
from kgen.algebra.poly import ONE, ZERO, Poly
from kgen.algebra.ranges import range_in


class SpaceError(ValueError):
    """A wrong declaration: a name used twice, or a range that is empty whatever the others are."""


@dataclass(frozen=True)
class Variable:
    """A numbered variable with everything that its definition says about it."""

    index: int
    definition: Definition
    facts: tuple[Fact, ...]
    cases: tuple[Formula, ...]
    interval: Interval


@dataclass(frozen=True)
class Maybe:
    """An axis that may be `none`: an integer variable whose value `absent` stands for `none`."""

    value: Poly
    absent: int


class Space:
    """Variables by number. They are only ever added, so what was proved in a space stays proved."""

    def __init__(self) -> None:
        self._variables: list[Variable] = []
        self._by_definition: dict[Definition, int] = {}
        self._by_name: dict[str, int] = {}
        self._constants: dict[int, Poly] = {}
        self._intervals: dict[Poly, Interval] = {}
        self._ranges: list[Interval] = []

    def __len__(self) -> int:
        return len(self._variables)

    def __getitem__(self, index: int) -> Variable:
        return self._variables[index]

    def named(self, name: str) -> Poly:
        """The free variable or constant of that name; raises KeyError."""
        return Poly.variable(self._by_name[name])

    # Free variables and constants.

    def fixed(self, name: str, value: int) -> Poly:
        """A constant that keeps its name in what is printed and in strides."""
        constant = self._declare(Fixed(name, value))
        (index,) = constant.variables
        self._constants[index] = Poly.of(value)
        return constant

    def axis(
        self,
        name: str,
        low: Poly | int | None = None,
        high: Poly | int | None = None,
        kind: Kind = Kind.AXIS,
    ) -> Poly:
        """Any integer from `low` to `high`, both included; None is no bound.

        Bounds may be polynomials in variables that were made before. Raises SpaceError where no
        value is left.
        """
        low, high = self._bound(low), self._bound(high)
        if low is not None and high is not None and (self.interval(high - low).high or 0) < 0:
            raise SpaceError(f"{name} has an empty range: its lower bound is above its upper bound")
        return self._declare(Free(kind, name, low, high))

    def choice(self, name: str, values: Iterable[int | None]) -> Poly | Maybe | None:
        """One of `values`.

        With `None` among them the result is a `Maybe`, and just None where nothing else is.
        Raises SpaceError without values.
        """
        wanted = list(values)
        numbers = sorted({value for value in wanted if value is not None})
        optional = None in wanted
        if not numbers:
            if not optional:
                raise SpaceError(f"{name} has no values")
            return None
        absent = numbers[0] - 1 if optional else None
        members = tuple(numbers) if absent is None else (absent, *numbers)
        free = Free(Kind.AXIS, name, Poly.of(members[0]), Poly.of(members[-1]), members, absent)
        variable = self._declare(free)
        return variable if absent is None else Maybe(variable, absent)

    def program(self, axis: int, extent: Poly | int) -> Poly:
        """`program_id(axis)`, from 0 to `extent - 1`; there is none where the extent is 0."""
        return self.axis(f"pid{axis}", 0, Poly.of(extent) - 1, Kind.PROGRAM)

    def lane(self, axis: int, size: int) -> Poly:
        """An index along an axis of tensors, from 0 to `size - 1`; one for each axis and size."""
        return self._define(Free(Kind.LANE, f"lane{axis}_{size}", ZERO, Poly.of(size - 1)))

    def iteration(self, name: str) -> Poly:
        """The turns a loop has done, from 0; that the loop still runs is a fact of the path."""
        return self.axis(name, 0, None, Kind.ITERATION)

    # Defined variables.

    def quotient(self, dividend: Poly, divisor: Poly, rounding: Rounding = Rounding.FLOOR) -> Poly:
        """`dividend` divided by `divisor`.

        For a divisor `b >= 1`: `(b*u + r) // b` is `u + r // b`, and `r // b` is 0 for `0 <= r < b`
        and -1 for `-b <= r < 0`. Rounding toward zero agrees with this only where both dividends
        are at least 0.
        """
        a, b = self.concrete(dividend), self.concrete(divisor)
        if a.constant is not None and b.constant:
            return Poly.of(divide(a.constant, b.constant, rounding))
        if b == ONE:
            return a
        if not self._at_least(b, 1):
            return self._define(Quotient(a, b, rounding))
        whole, rest = self._extract(a, b)
        floor = rounding is Rounding.FLOOR
        if not floor and not (self._at_least(a, 0) and self._at_least(rest, 0)):
            return self._define(Quotient(a, b, rounding))
        if self._at_least(rest, 0) and self._at_least(b - rest, 1):
            return whole
        if floor and self._at_least(b + rest, 0) and self._at_least(-rest, 1):
            return whole - 1
        # rounding toward zero is rounding down here, and is called that: one value, one variable
        return whole + self._define(Quotient(rest, b, Rounding.FLOOR))

    def ceiling_quotient(self, dividend: Poly, divisor: Poly) -> Poly:
        """`dividend` divided by `divisor`, rounded up.

        `(a + b - 1) // b` where `b >= 1` is certain, as kernels write it; else `-(-a // b)`, which
        is right for every divisor.
        """
        if self._at_least(self.concrete(divisor), 1):
            return self.quotient(dividend + divisor - 1, divisor)
        return -self.quotient(-dividend, divisor)

    def remainder(self, dividend: Poly, divisor: Poly, rounding: Rounding = Rounding.FLOOR) -> Poly:
        """`dividend - divisor * quotient`; multiples of the divisor come out as in `quotient`."""
        a, b = self.concrete(dividend), self.concrete(divisor)
        if a.constant is not None and b.constant:
            return Poly.of(a.constant - b.constant * divide(a.constant, b.constant, rounding))
        if self._at_least(b, 1):
            rest = self._extract(a, b)[1]
            if rounding is Rounding.FLOOR or (self._at_least(a, 0) and self._at_least(rest, 0)):
                a, rounding = rest, Rounding.FLOOR
            if b == ONE or (self._at_least(a, 0) and self._at_least(b - a, 1)):
                return ZERO if b == ONE else a
        return self._define(Remainder(a, b, self.quotient(a, b, rounding), rounding))

    def minimum(self, left: Poly, right: Poly) -> Poly:
        """The smaller; one of the two itself where their difference has a constant sign."""
        a, b = sorted(map(self.concrete, (left, right)), key=Poly.sorted_terms)
        if self._at_least(b - a, 0):
            return a
        return b if self._at_least(a - b, 0) else self._define(Minimum(a, b))

    def maximum(self, left: Poly, right: Poly) -> Poly:
        """The larger; one of the two itself where their difference has a constant sign."""
        a, b = sorted(map(self.concrete, (left, right)), key=Poly.sorted_terms)
        if self._at_least(b - a, 0):
            return b
        return a if self._at_least(a - b, 0) else self._define(Maximum(a, b))

    def where(self, condition: Formula, then: Poly, otherwise: Poly) -> Poly:
        """`then` where the condition holds, else `otherwise`."""
        condition = self.concrete_formula(condition)
        a, b = self.concrete(then), self.concrete(otherwise)
        if condition == TRUE or a == b:
            return a
        return b if condition == FALSE else self._define(Where(condition, a, b))

    def power_of_two(self, operand: Poly) -> Poly:
        """The least power of two that is at least `operand`.

        Powers of two and products of them are that already, and the function is monotonic, so it
        goes inside minimum and maximum.
        """
        a = self.concrete(operand)
        if a.constant is not None:
            return Poly.of(power_of_two(a.constant))
        if self._is_power_of_two(a):
            return a
        match self._single(a):
            case Minimum(x, y):
                return self.minimum(self.power_of_two(x), self.power_of_two(y))
            case Maximum(x, y):
                return self.maximum(self.power_of_two(x), self.power_of_two(y))
        return self._define(PowerOfTwo(a))

    def logarithm(self, operand: Poly) -> Poly:
        """The logarithm of `operand` to base 2, rounded down."""
        a = self.concrete(operand)
        if a.constant is not None and a.constant >= 1:
            return Poly.of(logarithm(a.constant))
        return self._define(Logarithm(a))

    def table(self, name: str, low: Poly | int, high: Poly | int, storage: Interval) -> Table:
        """A table whose entries lie from `low` to `high`: its caller's promise."""
        return Table(name, self._bound(low), self._bound(high), storage)

    def entry(
        self,
        table: Table,
        address: Poly,
        mask: Formula = TRUE,
        other: Poly | None = None,
        promised: Formula = TRUE,
    ) -> Poly:
        """A table entry as loaded under `mask`, with `other` in the lanes that are masked off.

        The table's range is promised for it where `promised` holds.
        """
        mask, promised = self.concrete_formula(mask), self.concrete_formula(promised)
        other = None if other is None else self.concrete(other)
        if mask == FALSE and other is not None:
            return other
        return self._define(TableEntry(table, self.concrete(address), mask, other, promised))

    def unknown(
        self, reason: str, inputs: Iterable[Poly], serial: int, bounds: Interval = Interval()
    ) -> Poly:
        """A value that cannot be looked into, the same for equal arguments."""
        return self._define(Unknown(reason, tuple(map(self.concrete, inputs)), serial, bounds))

    # What is known at once.

    def interval(self, poly: Poly) -> Interval:
        """Constant bounds of `poly` that hold at every point of the space."""
        known = self._intervals.get(poly)
        if known is None:
            known = self._intervals[poly] = range_in(poly, self._ranges)
        return known

    def concrete(self, poly: Poly) -> Poly:
        """`poly` with the values of the named constants."""
        return poly.substitute(self._constants)

    def concrete_formula(self, formula: Formula) -> Formula:
        """`formula` with the values of the named constants."""
        return transform(formula, self.concrete)

    def closure(self, polys: Iterable[Poly]) -> list[int]:
        """Every variable that `polys` depend on, definitions included, in ascending order."""
        seen: set[int] = set()
        waiting = [variable for poly in polys for variable in poly.variables]
        while waiting:
            index = waiting.pop()
            if index not in seen:
                seen.add(index)
                for argument in self[index].definition.arguments():
                    waiting.extend(argument.variables)
        return sorted(seen)

    def ranges(self) -> Iterator[tuple[str, Formula]]:
        """For each free variable with two bounds: that its range is not empty."""
        for variable in self._variables:
            match variable.definition:
                case Free(name=name, low=Poly() as low, high=Poly() as high):
                    yield name, le(low, high)

    # Making.

    def _bound(self, bound: Poly | int | None) -> Poly | None:
        return None if bound is None else self.concrete(Poly.of(bound))

    def _declare(self, definition: Free | Fixed) -> Poly:
        if definition.name in self._by_name:
            raise SpaceError(f"the name {definition.name} is taken already")
        return self._define(definition)

    def _define(self, definition: Definition) -> Poly:
        index = self._by_definition.get(definition)
        if index is None:
            index = len(self._variables)
            x = Poly.variable(index)
            interval = definition.interval(self.interval)
            self._ranges.append(interval)
            facts = tuple(definition.facts(x))
            self._variables.append(
                Variable(index, definition, facts, definition.cases(x), interval)
            )
            self._by_definition[definition] = index
            if isinstance(definition, (Free, Fixed)):
                self._by_name[definition.name] = index
        return Poly.variable(index)

    def _at_least(self, poly: Poly, bound: int) -> bool:
        low = self.interval(poly).low
        return low is not None and low >= bound

    def _single(self, poly: Poly) -> Definition | None:
        """The definition of the variable that `poly` is, if it is one."""
        if len(poly.variables) != 1:
            return None
        (index,) = poly.variables
        return self[index].definition if poly == Poly.variable(index) else None

    def _is_power_of_two(self, poly: Poly) -> bool:
        """Whether `poly` is a product of powers of two by its form."""
        if len(poly.terms) != 1:
            return False
        ((monomial, coefficient),) = poly.terms.items()
        powers = (isinstance(self[variable].definition, PowerOfTwo) for variable in monomial)
        return coefficient > 0 and coefficient & (coefficient - 1) == 0 and all(powers)

    def _extract(self, dividend: Poly, divisor: Poly) -> tuple[Poly, Poly]:
        """`(u, r)` with `dividend == divisor * u + r`, taking out what divides term by term."""
        if len(divisor.terms) != 1:
            return ZERO, dividend
        whole, rest = dividend.divide_by_term(divisor)
        if divisor.constant is not None and () in rest.terms:
            turns = rest.terms[()] // divisor.constant
            whole, rest = whole + turns, rest - turns * divisor.constant
        return whole, rest
