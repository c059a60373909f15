"""The kinds of variables: free ones, constants, and those that stand for what is no polynomial."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from kgen.algebra.definition import Definition, Fact, IntervalOf, TruthOf, ValueOf
from kgen.algebra.formula import TRUE, Formula, conjunction, eq, ge, le, negate, polynomials
from kgen.algebra.interval import Interval
from kgen.algebra.poly import Poly


class Kind(enum.StrEnum):
    """What a free variable counts: for people and readers of kernels, of no weight in a proof."""

    AXIS = "axis"
    PROGRAM = "program"
    LANE = "lane"
    ITERATION = "iteration"


@dataclass(frozen=True)
class Free(Definition):
    """Any integer from `low` to `high`, both included, and one of `values` where these are given.

    `absent` is the value that stands for `none` on an axis that may be absent; it lies below every
    other value.
    """

    kind: Kind
    name: str
    low: Poly | None = None
    high: Poly | None = None
    values: tuple[int, ...] = ()
    absent: int | None = None

    def facts(self, x: Poly) -> Iterator[Fact]:
        if self.low is not None:
            yield Fact(x - self.low)
        if self.high is not None:
            yield Fact(self.high - x)

    def cases(self, x: Poly) -> tuple[Formula, ...]:
        return tuple(eq(x, value) for value in self.values)

    def interval(self, of: IntervalOf) -> Interval:
        low = None if self.low is None else of(self.low).low
        return Interval(low, None if self.high is None else of(self.high).high)

    def arguments(self) -> Iterator[Poly]:
        yield from (bound for bound in (self.low, self.high) if bound is not None)


@dataclass(frozen=True)
class Fixed(Definition):
    """A named constant. Polynomials keep its name, proofs put in its value."""

    name: str
    value: int

    def facts(self, x: Poly) -> Iterator[Fact]:
        yield Fact(x - self.value)
        yield Fact(self.value - x)

    def interval(self, of: IntervalOf) -> Interval:
        return Interval(self.value, self.value)

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int:
        return self.value


@dataclass(frozen=True)
class Minimum(Definition):
    """The smaller of two."""

    left: Poly
    right: Poly

    def facts(self, x: Poly) -> Iterator[Fact]:
        yield Fact(self.left - x)
        yield Fact(self.right - x)

    def cases(self, x: Poly) -> tuple[Formula, ...]:
        a, b = self.left, self.right
        return conjunction(eq(x, a), le(a, b)), conjunction(eq(x, b), le(b, a))

    def interval(self, of: IntervalOf) -> Interval:
        one, other = of(self.left), of(self.right)
        highs = (high for high in (one.high, other.high) if high is not None)
        return Interval(one.union(other).low, min(highs, default=None))

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        a, b = value(self.left), value(self.right)
        return None if a is None or b is None else min(a, b)

    def arguments(self) -> Iterator[Poly]:
        yield from (self.left, self.right)


@dataclass(frozen=True)
class Maximum(Definition):
    """The larger of two."""

    left: Poly
    right: Poly

    def facts(self, x: Poly) -> Iterator[Fact]:
        yield Fact(x - self.left)
        yield Fact(x - self.right)

    def cases(self, x: Poly) -> tuple[Formula, ...]:
        a, b = self.left, self.right
        return conjunction(eq(x, a), ge(a, b)), conjunction(eq(x, b), ge(b, a))

    def interval(self, of: IntervalOf) -> Interval:
        one, other = of(self.left), of(self.right)
        lows = (low for low in (one.low, other.low) if low is not None)
        return Interval(max(lows, default=None), one.union(other).high)

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        a, b = value(self.left), value(self.right)
        return None if a is None or b is None else max(a, b)

    def arguments(self) -> Iterator[Poly]:
        yield from (self.left, self.right)


@dataclass(frozen=True)
class Where(Definition):
    """`then` where the condition holds, else `otherwise`. All facts come from the two cases."""

    condition: Formula
    then: Poly
    otherwise: Poly

    def cases(self, x: Poly) -> tuple[Formula, ...]:
        return (
            conjunction(eq(x, self.then), self.condition),
            conjunction(eq(x, self.otherwise), negate(self.condition)),
        )

    def interval(self, of: IntervalOf) -> Interval:
        return of(self.then).union(of(self.otherwise))

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        holds = truth(self.condition)
        return None if holds is None else value(self.then if holds else self.otherwise)

    def arguments(self) -> Iterator[Poly]:
        yield from (self.then, self.otherwise, *polynomials(self.condition))


def power_of_two(n: int) -> int:
    """The least power of two that is at least `n`."""
    return 1 << max(n - 1, 0).bit_length()


@dataclass(frozen=True)
class PowerOfTwo(Definition):
    """The least power of two that is at least `operand`; 1 where the operand is below 1."""

    operand: Poly

    def facts(self, x: Poly) -> Iterator[Fact]:
        yield Fact(x - 1)
        yield Fact(x - self.operand)
        yield Fact(2 * self.operand - 1 - x, ge(self.operand, 1))

    def interval(self, of: IntervalOf) -> Interval:
        low, high = of(self.operand)
        least = 1 if low is None else power_of_two(low)
        return Interval(least, None if high is None else power_of_two(high))

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        n = value(self.operand)
        return None if n is None else power_of_two(n)

    def arguments(self) -> Iterator[Poly]:
        yield self.operand


def logarithm(n: int) -> int:
    """The logarithm of `n >= 1` to base 2, rounded down."""
    return n.bit_length() - 1


@dataclass(frozen=True)
class Logarithm(Definition):
    """The logarithm of `operand` to base 2, rounded down; undefined below 1."""

    operand: Poly

    def facts(self, x: Poly) -> Iterator[Fact]:
        domain = ge(self.operand, 1)
        yield Fact(x, domain)
        yield Fact(self.operand - 1 - x, domain)

    def interval(self, of: IntervalOf) -> Interval:
        low, high = of(self.operand)
        if low is None or low < 1:
            return Interval()
        return Interval(logarithm(low), None if high is None else logarithm(high))

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        n = value(self.operand)
        return None if n is None or n < 1 else logarithm(n)

    def arguments(self) -> Iterator[Poly]:
        yield self.operand


@dataclass(frozen=True)
class Table:
    """An integer table in memory: its entries lie from `low` to `high`, which its caller promises.

    `storage` holds every value of its type: all that is known of an entry that was not really
    loaded.
    """

    name: str
    low: Poly
    high: Poly
    storage: Interval


@dataclass(frozen=True)
class TableEntry(Definition):
    """The entry of `table` at `address` where `mask` holds, else `other` (any value if None).

    The promise of the table's range covers this entry only where `promised` holds; elsewhere it is
    any value of its type.
    """

    table: Table
    address: Poly
    mask: Formula
    other: Poly | None
    promised: Formula = TRUE

    def facts(self, x: Poly) -> Iterator[Fact]:
        covered = conjunction(self.mask, self.promised)
        yield Fact(x - self.table.low, covered)
        yield Fact(self.table.high - x, covered)
        if self.other is None:
            yield from _within(x, self.table.storage)
        elif self.promised != TRUE:
            yield from (Fact(fact.poly, self.mask) for fact in _within(x, self.table.storage))

    def cases(self, x: Poly) -> tuple[Formula, ...]:
        if self.other is None or self.mask == TRUE:
            return ()
        return self.mask, conjunction(eq(x, self.other), negate(self.mask))

    def interval(self, of: IntervalOf) -> Interval:
        loaded = self.table.storage
        if self.promised == TRUE:
            loaded = Interval(of(self.table.low).low, of(self.table.high).high)
        if self.mask == TRUE:
            return loaded
        return self.table.storage if self.other is None else loaded.union(of(self.other))

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        """Only the value of a lane that is masked off: what a table holds belongs to the point."""
        off = truth(self.mask) is False and self.other is not None
        return value(self.other) if off else None

    def arguments(self) -> Iterator[Poly]:
        yield from (self.address, self.table.low, self.table.high)
        yield from (*polynomials(self.mask), *polynomials(self.promised))
        yield from () if self.other is None else (self.other,)


@dataclass(frozen=True)
class Unknown(Definition):
    """A value that the engine cannot look into, bounded by its type; no point can hold it.

    `serial` tells apart two reads of one place in the source that may differ.
    """

    reason: str
    inputs: tuple[Poly, ...]
    serial: int
    bounds: Interval

    def facts(self, x: Poly) -> Iterator[Fact]:
        return _within(x, self.bounds)

    def interval(self, of: IntervalOf) -> Interval:
        return self.bounds

    def arguments(self) -> Iterator[Poly]:
        yield from self.inputs


def _within(x: Poly, bounds: Interval) -> Iterator[Fact]:
    if bounds.low is not None:
        yield Fact(x - bounds.low)
    if bounds.high is not None:
        yield Fact(bounds.high - x)
