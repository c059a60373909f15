"""Substitution that reaches into definitions.

A defined variable whose arguments change is another variable: it is made anew from its new
arguments, by the constructors of the space, and so says only what is true of those. Free variables
keep their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kgen.algebra.definition import Definition
from kgen.algebra.definitions import (
    Logarithm,
    Maximum,
    Minimum,
    PowerOfTwo,
    TableEntry,
    Unknown,
    Where,
)
from kgen.algebra.division import Quotient, Remainder
from kgen.algebra.formula import Formula, polynomials, transform
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space


def substitute(space: Space, poly: Poly, values: Mapping[int, Poly]) -> Poly:
    """`poly` with variables replaced, all at once, inside definitions too."""
    return poly.substitute(_replacements(space, space.closure((poly,)), values))


def substitute_formula(space: Space, formula: Formula, values: Mapping[int, Poly]) -> Formula:
    """`formula` with variables replaced, all at once, inside definitions too."""
    made = _replacements(space, space.closure(polynomials(formula)), values)
    return transform(formula, lambda poly: poly.substitute(made))


def _replacements(
    space: Space, closure: Iterable[int], values: Mapping[int, Poly]
) -> Mapping[int, Poly]:
    """What stands for each variable of `closure`, where arguments come before what they define."""
    made: dict[int, Poly] = dict(values)
    for index in closure:
        if index not in made:
            remade = _remade(space, space[index].definition, lambda poly: poly.substitute(made))
            made[index] = Poly.variable(index) if remade is None else remade
    return made


def _remade(space: Space, definition: Definition, new: Callable[[Poly], Poly]) -> Poly | None:
    """The value of `definition` with `new` arguments; None for a free variable or a constant."""
    match definition:
        case Quotient(a, b, rounding):
            return space.quotient(new(a), new(b), rounding)
        case Remainder(a, b, _, rounding):
            return space.remainder(new(a), new(b), rounding)
        case Minimum(a, b):
            return space.minimum(new(a), new(b))
        case Maximum(a, b):
            return space.maximum(new(a), new(b))
        case Where(condition, a, b):
            return space.where(transform(condition, new), new(a), new(b))
        case PowerOfTwo(a):
            return space.power_of_two(new(a))
        case Logarithm(a):
            return space.logarithm(new(a))
        case TableEntry(table, address, mask, other, promised):
            other = None if other is None else new(other)
            mask, promised = transform(mask, new), transform(promised, new)
            return space.entry(table, new(address), mask, other, promised)
        case Unknown(reason, inputs, serial, bounds):
            return space.unknown(reason, map(new, inputs), serial, bounds)
    return None
