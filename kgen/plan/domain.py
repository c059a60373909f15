"""Domains: the values that the axes can have where a regime runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kgen.expr import Expr, Number, Truth, fold
from kgen.families.model import Value
from kgen.plan.variant import expression
from kgen.spec import Axis


@dataclass(frozen=True)
class Range:
    """Integers from `low` to `high`, both included; either may depend on other axes."""

    low: Expr
    high: Expr


@dataclass(frozen=True)
class Slice:
    """A part of a domain in which every axis with listed values has one of them.

    `conditions` have to hold besides, over the axes in `ranges`; none of them is known to be false.
    """

    values: Mapping[str, Value]
    ranges: Mapping[str, Range]
    conditions: tuple[Expr, ...]


@dataclass(frozen=True)
class Domain:
    """Axes with constants or listed values, axes with ranges, and conditions over all of them."""

    values: Mapping[str, tuple[Value, ...]]
    ranges: Mapping[str, Range]
    conditions: tuple[Expr, ...] = ()

    def where(self, *conditions: Expr) -> Domain:
        """The part of the domain in which `conditions` hold too."""
        return Domain(self.values, self.ranges, (*self.conditions, *conditions))

    def widened(self, limits: Mapping[str, tuple[int, int]]) -> Domain:
        """The domain with each axis that is no constant as wide as `limits` has it, or up to its own end where that is beyond."""
        values = {
            name: found
            for name, found in self.values.items()
            if len(found) == 1 or name not in limits
        }
        ranges = dict(self.ranges)
        for name, (low, high) in limits.items():
            if name in self.ranges or (name in self.values and name not in values):
                most = max([high, *self._largest(name)])
                ranges[name] = Range(expression(str(low)), expression(str(most)))
        return Domain(values, ranges, self.conditions)

    def _largest(self, name: str) -> list[int]:
        """The largest number that an axis has by itself."""
        if name in self.values:
            return [value for value in self.values[name] if isinstance(value, int)]
        high = fold(self.ranges[name].high, {})
        return [int(high.value)] if isinstance(high, Number) else []

    def slices(self, constants: Mapping[str, Value] = {}) -> Iterator[Slice]:
        """One slice for each combination of listed values that the conditions do not rule out at once."""
        names = list(self.values)
        for chosen in itertools.product(*self.values.values()):
            values = dict(zip(names, chosen))
            folded = [fold(condition, {**constants, **values}) for condition in self.conditions]
            if not any(condition == _FALSE for condition in folded):
                yield Slice(values, self.ranges, tuple(c for c in folded if c != _TRUE))


_TRUE, _FALSE = expression("true"), expression("false")


def declared(axes: Iterable[Axis]) -> Domain:
    """All values that a spec declares for its axes, run-time axes left out."""
    values: dict[str, tuple[Value, ...]] = {}
    ranges: dict[str, Range] = {}
    for axis in axes:
        if axis.runtime:
            continue
        if axis.const is not None:
            values[axis.name] = (axis.const,)
        elif axis.values is not None:
            values[axis.name] = axis.values
        else:
            ranges[axis.name] = Range(axis.low, axis.high)
    return Domain(values, ranges)


def is_true(condition: Expr) -> bool:
    """Whether a folded condition is the literal `true`."""
    return isinstance(condition, Truth) and condition.value
