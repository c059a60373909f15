"""Constant bounds of polynomials from those of their variables. Every search asks for these first, so they are quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.algebra.interval import Interval
from kgen.algebra.poly import Monomial, Poly

Ranges = Mapping[int, Interval] | Sequence[Interval]
"""By variable."""


def range_in(poly: Poly, ranges: Ranges) -> Interval:
    """Bounds of `poly` wherever every variable is in its range; they need not be the narrowest."""
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in poly.terms.items():
        least, most = _product(monomial, ranges)
        if coefficient < 0:
            least, most = most, least
        low = None if low is None or least is None else low + coefficient * least
        high = None if high is None or most is None else high + coefficient * most
    return Interval(low, high)


def _product(monomial: Monomial, ranges: Ranges) -> Interval | tuple[int, int]:
    if not monomial:
        return 1, 1
    found = ranges[monomial[0]]
    for variable in monomial[1:]:
        found = found.times(ranges[variable])
    return found
