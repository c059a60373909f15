"""Quotients and remainders.

A quotient obeys `quotient * divisor <= dividend < (quotient + 1) * divisor` only on its domain:
floor division needs a positive divisor, division toward zero a dividend that is not negative too.
Outside of it the definitions say nothing, whatever the value may be there.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from kgen.algebra.definition import Definition, Fact, IntervalOf, TruthOf, ValueOf
from kgen.algebra.formula import Formula, conjunction, ge
from kgen.algebra.interval import Interval
from kgen.algebra.poly import Poly


class Rounding(enum.StrEnum):
    """`floor` is `//` of Python and of kgen; `truncate` the division of Triton and C."""

    FLOOR = "floor"
    TRUNCATE = "truncate"


def divide(dividend: int, divisor: int, rounding: Rounding) -> int:
    """The quotient of two integers; the divisor is not zero."""
    if rounding is Rounding.FLOOR:
        return dividend // divisor
    magnitude = abs(dividend) // abs(divisor)
    return magnitude if (dividend < 0) == (divisor < 0) else -magnitude


@dataclass(frozen=True)
class Quotient(Definition):
    """`dividend` divided by `divisor`, rounded."""

    dividend: Poly
    divisor: Poly
    rounding: Rounding

    def facts(self, x: Poly) -> Iterator[Fact]:
        a, b = self.dividend, self.divisor
        domain = _domain(a, b, self.rounding)
        yield Fact(x, conjunction(ge(a, 0), domain))
        yield Fact(a - b * x, domain)
        yield Fact(b * x + b - 1 - a, domain)
        # follows from the one before, but only by rounding, which a product with something else loses
        yield Fact(x - 1, conjunction(ge(a, b), domain))

    def interval(self, of: IntervalOf) -> Interval:
        """For a positive divisor: it rises with the dividend and goes toward 0 with the divisor."""
        (low, high), (least, most) = of(self.dividend), of(self.divisor)
        if least is None or least < 1:
            return Interval()
        return Interval(
            _end(low, most if low is not None and low >= 0 else least, self.rounding),
            _end(high, least if high is not None and high >= 0 else most, self.rounding),
        )

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        a, b = value(self.dividend), value(self.divisor)
        return None if a is None or not b else divide(a, b, self.rounding)

    def arguments(self) -> Iterator[Poly]:
        yield from (self.dividend, self.divisor)


@dataclass(frozen=True)
class Remainder(Definition):
    """`dividend - divisor * quotient`, where `quotient` is theirs, rounded the same way."""

    dividend: Poly
    divisor: Poly
    quotient: Poly
    rounding: Rounding

    def facts(self, x: Poly) -> Iterator[Fact]:
        a, b = self.dividend, self.divisor
        domain = _domain(a, b, self.rounding)
        yield Fact(x, domain)
        yield Fact(b - 1 - x, domain)
        yield Fact(a - b * self.quotient - x, domain)
        yield Fact(x + b * self.quotient - a, domain)
        yield Fact(a - x, conjunction(ge(a, 0), domain))

    def interval(self, of: IntervalOf) -> Interval:
        """For a positive divisor: smaller than it, and at most a dividend that is not negative."""
        (low, high), (least, most) = of(self.dividend), of(self.divisor)
        if least is None or least < 1:
            return Interval()
        below = None if most is None else most - 1
        if low is not None and low >= 0:
            return Interval(0, min((end for end in (below, high) if end is not None), default=None))
        if self.rounding is Rounding.FLOOR:
            return Interval(0, below)
        return Interval(None if below is None else -below, below)

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        a, b = value(self.dividend), value(self.divisor)
        return None if a is None or not b else a - b * divide(a, b, self.rounding)

    def arguments(self) -> Iterator[Poly]:
        yield from (self.dividend, self.divisor, self.quotient)


def _domain(dividend: Poly, divisor: Poly, rounding: Rounding) -> Formula:
    positive = ge(divisor, 1)
    return positive if rounding is Rounding.FLOOR else conjunction(ge(dividend, 0), positive)


def _end(dividend: int | None, divisor: int | None, rounding: Rounding) -> int | None:
    """An end of a quotient's interval; None is infinite."""
    if dividend is None:
        return None
    if divisor is None:
        return -1 if dividend < 0 and rounding is Rounding.FLOOR else 0
    return divide(dividend, divisor, rounding)
