"""Addresses as coordinates: a flat offset, taken apart by a tensor's strides.

An offset that is the sum of c * stride, each c within its dimension, is the address of the element with coordinates c.
So whoever proves the ranges of the coordinates has proved the address, and more: that a row does not run into the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.algebra import Poly, Space
from kgen.prove.facts import TensorFacts


def coordinates(space: Space, offset: Poly, tensor: TensorFacts) -> tuple[Poly, ...] | None:
    """Coordinates of an offset, one for each dimension; None where its terms do not divide by the strides.

    The largest strides take their terms first, and dimensions of one element nothing. Named constants tell strides
    apart that are equal as numbers, so names are tried before numbers; a name that the offset does not have is a number
    there.
    """
    named = _divided(offset, _named_as(space, offset, tensor.strides), range(len(tensor.strides)))
    if named is not None:
        return tuple(map(space.concrete, named))
    wide = [n for n, extent in enumerate(tensor.extents) if space.concrete(extent).constant != 1]
    found = _divided(space.concrete(offset), [space.concrete(s) for s in tensor.strides], wide)
    return None if found is None else tuple(found)


def _named_as(space: Space, offset: Poly, strides: Sequence[Poly]) -> list[Poly]:
    """The strides with those constants as numbers that the offset does not name."""
    silent = frozenset().union(*(one.variables for one in strides)) - offset.variables
    numbers = {name: space.concrete(Poly.variable(name)) for name in silent}
    return [one.substitute(numbers) for one in strides]


def _divided(rest: Poly, strides: Sequence[Poly], taking: Iterable[int]) -> list[Poly] | None:
    """`rest` as a sum of multiples of the strides of the dimensions in `taking`."""
    found = [Poly.of(0)] * len(strides)
    for n in sorted(taking, key=lambda n: _size(strides[n]), reverse=True):
        if len(strides[n].terms) != 1:
            return None
        found[n], rest = rest.divide_by_term(strides[n])
    return None if rest.terms else found


def _size(stride: Poly) -> tuple[int, int]:
    """An order in which a product comes before its factors."""
    ((monomial, coefficient),) = tuple(stride.terms.items())[:1] or (((), 0),)
    return len(monomial), abs(coefficient)
