"""The axes of a spec as variables of a space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kgen.algebra.lower import Meaning, lower
from kgen.algebra.space import Space, SpaceError
from kgen.expr.tree import Expr, names


class Axis(Protocol):
    """A constant, a range between two expressions, or a list of values."""

    @property
    def name(self) -> str: ...
    @property
    def const(self) -> int | None: ...
    @property
    def low(self) -> Expr | None: ...
    @property
    def high(self) -> Expr | None: ...
    @property
    def values(self) -> tuple[int | None, ...] | None: ...


def space_of(axes: Iterable[Axis]) -> tuple[Space, dict[str, Meaning]]:
    """A space with one variable for each axis, and what each axis's name means in it.

    Axes may bound each other in any order, but not in a circle. Raises SpaceError for a circle or
    an empty range, and LowerError for a bound that is no integer.
    """
    waiting = {axis.name: axis for axis in axes}
    space, meanings = Space(), {}
    while waiting:
        ready = [axis for axis in waiting.values() if not waiting.keys() & _needs(axis)]
        if not ready:
            circle = ", ".join(waiting)
            raise SpaceError(f"the ranges of these axes depend on each other in a circle: {circle}")
        for axis in ready:
            meanings[axis.name] = _declare(axis, space, meanings)
            del waiting[axis.name]
    return space, meanings


def _needs(axis: Axis) -> frozenset[str]:
    bounds = (bound for bound in (axis.low, axis.high) if bound is not None)
    return frozenset().union(*map(names, bounds))


def _declare(axis: Axis, space: Space, meanings: dict[str, Meaning]) -> Meaning:
    if axis.const is not None:
        return space.fixed(axis.name, axis.const)
    if axis.values is not None:
        return space.choice(axis.name, axis.values)
    low, high = (
        None if end is None else lower(end, space, meanings) for end in (axis.low, axis.high)
    )
    return space.axis(axis.name, low, high)
