"""Formulas: statements about integer variables, kept in negation normal form.

Every comparison of integers becomes `p >= 0` for a polynomial `p`, because `a < b` is `b - a - 1 >=
0` over the integers. The constructors fold constants and flatten, so that equal statements are
mostly equal objects. Formulas say nothing of where they hold; `kgen.algebra.space` gives variables
their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Union

from kgen.algebra.poly import Poly


@dataclass(frozen=True)
class Truth:
    """Always true or always false."""

    value: bool


@dataclass(frozen=True)
class AtLeast:
    """`poly >= 0`, as `at_least_zero` makes it: no number, and as tight as integers allow."""

    poly: Poly


@dataclass(frozen=True)
class And:
    """All of two or more parts, none of which is an `And` or a `Truth`."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Or:
    """At least one of two or more parts, none of which is an `Or` or a `Truth`."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Opaque:
    """A condition that the engine cannot look into, such as a comparison of floats.

    Two opaque conditions are the same exactly if all fields are equal; `serial` tells apart two
    reads of one place in the source that may give different results.
    """

    reason: str
    arguments: tuple[Poly, ...] = ()
    serial: int = 0


@dataclass(frozen=True)
class Not:
    """The opposite of an opaque condition; every other negation is pushed inwards."""

    part: Opaque


Formula = Union[Truth, AtLeast, And, Or, Opaque, Not]

TRUE = Truth(True)
FALSE = Truth(False)


def at_least_zero(poly: Poly) -> Formula:
    """`poly >= 0`, folded where `poly` is a number, and as tight as integers allow."""
    value = poly.constant
    return AtLeast(poly.tightened()) if value is None else Truth(value >= 0)


def ge(left: Poly | int, right: Poly | int) -> Formula:
    """`left >= right`."""
    return at_least_zero(Poly.of(left) - right)


def gt(left: Poly | int, right: Poly | int) -> Formula:
    """`left > right`."""
    return at_least_zero(Poly.of(left) - right - 1)


def le(left: Poly | int, right: Poly | int) -> Formula:
    """`left <= right`."""
    return ge(right, left)


def lt(left: Poly | int, right: Poly | int) -> Formula:
    """`left < right`."""
    return gt(right, left)


def eq(left: Poly | int, right: Poly | int) -> Formula:
    """`left == right`, as two inequalities."""
    return conjunction(le(left, right), ge(left, right))


def ne(left: Poly | int, right: Poly | int) -> Formula:
    """`left != right`, as a choice of two inequalities."""
    return negate(eq(left, right))


def conjunction(*parts: Formula) -> Formula:
    """All of `parts`."""
    flat = dict.fromkeys(part for formula in parts for part in conjuncts(formula))
    if FALSE in flat:
        return FALSE
    if len(flat) < 2:
        return next(iter(flat), TRUE)
    return And(tuple(flat))


def disjunction(*parts: Formula) -> Formula:
    """At least one of `parts`."""
    flat = dict.fromkeys(part for formula in parts for part in disjuncts(formula))
    if TRUE in flat:
        return TRUE
    if len(flat) < 2:
        return next(iter(flat), FALSE)
    return Or(tuple(flat))


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """Formulas that together say the same; none for `TRUE`."""
    if isinstance(formula, And):
        return formula.parts
    return () if formula == TRUE else (formula,)


def disjuncts(formula: Formula) -> tuple[Formula, ...]:
    """Formulas of which at least one holds exactly if `formula` does; none for `FALSE`."""
    if isinstance(formula, Or):
        return formula.parts
    return () if formula == FALSE else (formula,)


def negate(formula: Formula) -> Formula:
    """The opposite. `not p >= 0` is `-p - 1 >= 0`, because polynomials take integer values only."""
    match formula:
        case Truth(value):
            return Truth(not value)
        case AtLeast(poly):
            return at_least_zero(-poly - 1)
        case And(parts):
            return disjunction(*map(negate, parts))
        case Or(parts):
            return conjunction(*map(negate, parts))
        case Not(part):
            return part
    return Not(formula)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """`premise` is false or `conclusion` is true."""
    return disjunction(negate(premise), conclusion)


def iff(left: Formula, right: Formula) -> Formula:
    """Both hold or neither does."""
    return conjunction(implies(left, right), implies(right, left))


def polynomials(formula: Formula) -> Iterator[Poly]:
    """Every polynomial that `formula` mentions, the arguments of opaque conditions included."""
    match formula:
        case AtLeast(poly):
            yield poly
        case And(parts) | Or(parts):
            for part in parts:
                yield from polynomials(part)
        case Not(part):
            yield from polynomials(part)
        case Opaque(arguments=arguments):
            yield from arguments


def opaques(formula: Formula) -> Iterator[Opaque]:
    """Every opaque condition in `formula`."""
    match formula:
        case Opaque():
            yield formula
        case And(parts) | Or(parts):
            for part in parts:
                yield from opaques(part)
        case Not(part):
            yield part


def transform(formula: Formula, change: Callable[[Poly], Poly]) -> Formula:
    """The formula with `change` applied to every polynomial."""
    match formula:
        case AtLeast(poly):
            return at_least_zero(change(poly))
        case And(parts):
            return conjunction(*(transform(part, change) for part in parts))
        case Or(parts):
            return disjunction(*(transform(part, change) for part in parts))
        case Not(part):
            return negate(transform(part, change))
        case Opaque(reason, arguments, serial):
            return Opaque(reason, tuple(map(change, arguments)), serial)
    return formula
