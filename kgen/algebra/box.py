"""Boxes: an interval for each variable, narrowed by inequalities.

Narrowing only ever drops values at which some inequality is false, so no solution is lost. It
guides the sampler; no proof rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.algebra.interval import Interval
from kgen.algebra.poly import Poly
from kgen.algebra.ranges import range_in

Box = dict[int, Interval]

ROUNDS = 4


@dataclass(frozen=True)
class _Bound:
    """`slope * variable + offset >= 0`."""

    variable: int
    slope: Poly
    offset: Poly


class Constraints:
    """Polynomials that are at least 0, prepared for narrowing boxes."""

    def __init__(self, facts: Iterable[Poly]):
        unique = dict.fromkeys(facts)
        self._impossible = any(f.constant is not None and f.constant < 0 for f in unique)
        self._bounds = [
            _Bound(variable, *fact.split(variable))
            for fact in unique
            for variable in sorted(fact.variables)
            if fact.degree(variable) == 1
        ]
        self._using: dict[int, list[int]] = {}
        for number, bound in enumerate(self._bounds):
            for variable in bound.slope.variables | bound.offset.variables:
                self._using.setdefault(variable, []).append(number)

    def narrow(self, box: Box, changed: int | None = None) -> bool:
        """Takes values out of `box` that some constraint excludes; False if none is left.

        Given `changed`, only the constraints are looked at that this variable's interval touches,
        directly or through others. Effort is bounded, so the result need not be the narrowest.
        """
        if self._impossible:
            return False
        waiting = dict.fromkeys(
            range(len(self._bounds)) if changed is None else self._using.get(changed, ())
        )
        for _ in range(ROUNDS * len(self._bounds)):
            if not waiting:
                break
            number = next(iter(waiting))
            del waiting[number]
            bound = self._bounds[number]
            old = box[bound.variable]
            new = _narrow(old, range_in(bound.slope, box), range_in(bound.offset, box))
            if new.low is not None and new.high is not None and new.low > new.high:
                return False
            if new != old:
                box[bound.variable] = new
                waiting.update(dict.fromkeys(self._using.get(bound.variable, ())))
        return True


def _narrow(x: Interval, slope: Interval, offset: Interval) -> Interval:
    """The members of `x` for which `slope * x + offset >= 0` is possible, for a slope of one sign.

    With a positive slope `s` and the offset at most `m`, `x >= -m / s`: the bound is lowest for the
    smallest slope where `m >= 0`, else for the largest.
    """
    most = offset.high
    if most is None or slope.low is None and slope.high is None:
        return x
    if slope.low is not None and slope.low > 0:
        steepest = slope.low if most >= 0 else slope.high
        low = 1 if steepest is None else -(most // steepest)
        return x if x.low is not None and x.low >= low else x._replace(low=low)
    if slope.high is not None and slope.high < 0:
        steepest = slope.high if most >= 0 else slope.low
        high = -1 if steepest is None else most // -steepest
        return x if x.high is not None and x.high <= high else x._replace(high=high)
    return x
