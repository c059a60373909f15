"""Formulas with sympy expressions in them: the language of the second opinion on certificates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Union

import sympy
from sympy import Expr, expand


@dataclass(frozen=True)
class NonNegative:
    """`value >= 0`: expanded, no number, and no divisor common to all coefficients."""

    value: Expr


@dataclass(frozen=True)
class All:
    """Every one of two or more claims."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True)
class Some:
    """At least one of two or more claims."""

    parts: tuple[Claim, ...]


@dataclass(frozen=True)
class Said:
    """An opaque condition, or its opposite."""

    reason: str
    arguments: tuple[Expr, ...]
    serial: int
    positive: bool


Claim = Union[bool, NonNegative, All, Some, Said]


@lru_cache(maxsize=1 << 16)
def nonnegative(value: Expr) -> Claim:
    value = expand(value)
    if value.is_Integer:
        return bool(value >= 0)
    number, terms = value.as_coeff_Add()
    divisor, primitive = terms.primitive()
    return NonNegative(primitive + number // divisor)


def equal(left: Expr, right: Expr) -> Claim:
    return every((nonnegative(right - left), nonnegative(left - right)))


def conjuncts_of(claim: Claim) -> tuple[Claim, ...]:
    if isinstance(claim, All):
        return claim.parts
    return () if claim is True else (claim,)


def alternatives_of(claim: Claim) -> tuple[Claim, ...]:
    if isinstance(claim, Some):
        return claim.parts
    return () if claim is False else (claim,)


def every(claims: Iterable[Claim]) -> Claim:
    flat = tuple(dict.fromkeys(part for claim in claims for part in conjuncts_of(claim)))
    if False in flat:
        return False
    return All(flat) if len(flat) > 1 else flat[0] if flat else True


def some(claims: Iterable[Claim]) -> Claim:
    flat = tuple(dict.fromkeys(part for claim in claims for part in alternatives_of(claim)))
    if True in flat:
        return True
    return Some(flat) if len(flat) > 1 else flat[0] if flat else False


def opposite(claim: Claim) -> Claim:
    match claim:
        case bool():
            return not claim
        case NonNegative(value):
            return nonnegative(-value - 1)
        case All(parts):
            return some(map(opposite, parts))
        case Some(parts):
            return every(map(opposite, parts))
    return replace(claim, positive=not claim.positive)


def put(claim: Claim, symbol: Expr, value: Expr) -> Claim:
    """`claim` with `value` for `symbol`."""
    match claim:
        case NonNegative(old):
            return nonnegative(old.xreplace({symbol: value}))
        case All(parts):
            return every(put(part, symbol, value) for part in parts)
        case Some(parts):
            return some(put(part, symbol, value) for part in parts)
        case Said(arguments=arguments):
            new = tuple(expand(argument.xreplace({symbol: value})) for argument in arguments)
            return replace(claim, arguments=new)
    return claim
