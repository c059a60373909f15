"""Bounds by a minimum or maximum, as bounds by both operands: `x <= min(a, b)` is `x <= a and x <= b`.

The two say the same; the second needs no case split, and searches for proofs find it sooner. Operands that are minima
or maxima themselves are left alone: they are quantities in their own right, such as a length that is clamped.
"""

from __future__ import annotations

from kgen.algebra.definitions import Maximum, Minimum
from kgen.algebra.formula import And, AtLeast, Formula, Or, at_least_zero, conjunction, disjunction
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space


def opened(space: Space, formula: Formula) -> Formula:
    """`formula` with every minimum that is to be at least something, and every maximum that is to be at most something,
    taken apart.
    """
    match formula:
        case AtLeast(poly):
            return _opened(space, space.concrete(poly))
        case And(parts):
            return conjunction(*(opened(space, part) for part in parts))
        case Or(parts):
            return disjunction(*(opened(space, part) for part in parts))
    return formula


def _opened(space: Space, poly: Poly) -> Formula:
    for variable in sorted(poly.variables, reverse=True):
        definition = space[variable].definition
        if not isinstance(definition, (Minimum, Maximum)) or poly.degree(variable) != 1:
            continue
        factor = poly.split(variable)[0].constant
        if factor is not None and (factor > 0) == isinstance(definition, Minimum):
            operands = (definition.left, definition.right)
            return conjunction(*(at_least_zero(poly.substitute({variable: x})) for x in operands))
    return at_least_zero(poly)
