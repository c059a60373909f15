"""Immutable integer polynomials over numbered variables.

A polynomial maps monomials to nonzero integer coefficients; a monomial is the sorted tuple of its
variable numbers, one entry per power, so `x0**2 * x3` is `(0, 0, 3)` and the constant term is `()`.
Two polynomials are equal as functions on the integers exactly if they are equal as mappings, which
is what makes certificates checkable by comparison alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import gcd

Monomial = tuple[int, ...]


class Poly:
    """An integer polynomial. Supports `+ - * **` with polynomials and ints, `==` and `hash`.

    `terms` is the mapping from monomials to nonzero coefficients and must never be changed.
    """

    __slots__ = ("terms", "variables", "_hash")
    terms: Mapping[Monomial, int]
    variables: frozenset[int]
    """The numbers of the variables that occur; found when first asked for."""

    def __init__(self, terms: Mapping[Monomial, int]):
        object.__setattr__(self, "terms", terms)

    def __getattr__(self, name: str) -> frozenset[int]:
        if name != "variables":
            raise AttributeError(name)
        found: frozenset[int] = frozenset().union(*self.terms)
        object.__setattr__(self, "variables", found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a polynomial cannot be changed")

    @staticmethod
    def of(value: Poly | int) -> Poly:
        """`value` as a polynomial."""
        if isinstance(value, Poly):
            return value
        return Poly({(): int(value)}) if value else ZERO

    @staticmethod
    def variable(index: int) -> Poly:
        """The polynomial that is the variable with number `index`."""
        return Poly({(index,): 1})

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash(frozenset(self.terms.items()))
            object.__setattr__(self, "_hash", found)
            return found

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Poly) and self.terms == other.terms)

    def __repr__(self) -> str:
        terms = (f"{c}*{'*'.join(f'x{v}' for v in m) or '1'}" for m, c in self.sorted_terms())
        return f"Poly({' + '.join(terms) or '0'})"

    def __add__(self, other: Poly | int) -> Poly:
        terms = dict(self.terms)
        for monomial, coefficient in Poly.of(other).terms.items():
            _accumulate(terms, monomial, coefficient)
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __sub__(self, other: Poly | int) -> Poly:
        terms = dict(self.terms)
        if isinstance(other, int):
            _accumulate(terms, (), -other)
            return Poly(terms)
        for monomial, coefficient in other.terms.items():
            _accumulate(terms, monomial, -coefficient)
        return Poly(terms)

    def __rsub__(self, other: int) -> Poly:
        return Poly.of(other) - self

    def __mul__(self, other: Poly | int) -> Poly:
        other = Poly.of(other)
        scale = other.constant
        if scale is not None:
            return Poly({m: c * scale for m, c in self.terms.items()}) if scale else ZERO
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                product = tuple(sorted(left + right)) if left and right else left or right
                _accumulate(terms, product, a * b)
        return Poly(terms)

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Poly:
        if exponent < 0:
            raise ValueError("a polynomial has no negative powers")
        return reduce(lambda product, _: product * self, range(exponent), ONE)

    @property
    def constant(self) -> int | None:
        """The integer this polynomial is, or None if it has variables."""
        terms = self.terms
        return terms.get(()) if len(terms) == 1 else None if terms else 0

    @property
    def content(self) -> int:
        """The greatest common divisor of the coefficients; 0 for the zero polynomial."""
        return gcd(*self.terms.values())

    def tightened(self) -> Poly:
        """The simplest polynomial that is at least 0 exactly where this one is.

        `g*q + c >= 0` means `q >= -c/g`, and as `q` is an integer, `q + floor(c/g) >= 0`.
        """
        divisor = 0
        for monomial, coefficient in self.terms.items():
            if monomial:
                divisor = gcd(divisor, coefficient)
                if divisor == 1:
                    return self
        if divisor == 0:
            return self
        return Poly({m: c // divisor for m, c in self.terms.items() if c // divisor})

    def sorted_terms(self) -> list[tuple[Monomial, int]]:
        """Terms in an order of their own: by falling degree, then by variables."""
        return sorted(self.terms.items(), key=lambda term: (-len(term[0]), term[0]))

    def degree(self, variable: int) -> int:
        """The highest power of `variable`."""
        return max((monomial.count(variable) for monomial in self.terms), default=0)

    def split(self, variable: int) -> tuple[Poly, Poly]:
        """`(a, c)` with `self == a * variable + c`; `c`, and `a` for degree 1, is free of it."""
        factor: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            if variable in monomial:
                at = monomial.index(variable)
                factor[monomial[:at] + monomial[at + 1 :]] = coefficient
            else:
                rest[monomial] = coefficient
        return Poly(factor), Poly(rest)

    def powers(self, variable: int) -> dict[int, Poly]:
        """Coefficients by power of `variable`, each free of it."""
        parts: dict[int, dict[Monomial, int]] = {}
        for monomial, coefficient in self.terms.items():
            others = tuple(v for v in monomial if v != variable)
            parts.setdefault(len(monomial) - len(others), {})[others] = coefficient
        return {power: Poly(terms) for power, terms in parts.items()}

    def divide_by_term(self, term: Poly) -> tuple[Poly, Poly]:
        """`(q, r)` with `self == q * term + r`, dividing term by term, where `term` has exactly one
        term.

        A term that `term` does not divide over the integers goes to `r` whole.
        """
        ((divisor, scale),) = term.terms.items()
        quotient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            left = _without(monomial, divisor) if coefficient % scale == 0 else None
            if left is None:
                rest[monomial] = coefficient
            else:
                quotient[left] = coefficient // scale
        return Poly(quotient), Poly(rest)

    def common_term(self, other: Poly) -> Poly:
        """The greatest one-term polynomial, with a positive coefficient, that divides every term of
        both.

        Neither may be zero.
        """
        monomials = [*self.terms, *other.terms]
        common = monomials[0]
        for monomial in monomials[1:]:
            common = _intersection(common, monomial)
        return Poly({common: gcd(self.content, other.content)})

    def eliminated(self, scale: Poly, factor: Poly, fact: Poly) -> Poly:
        """`scale * self - factor * fact + scale - 1`, what a step of elimination leaves to prove."""
        times, less = scale.constant, factor.constant
        if times is None or less is None:
            return scale * self - factor * fact + scale - 1
        terms = dict(self.terms) if times == 1 else {m: c * times for m, c in self.terms.items()}
        for monomial, coefficient in fact.terms.items():
            _accumulate(terms, monomial, -less * coefficient)
        if times != 1:
            _accumulate(terms, (), times - 1)
        return Poly(terms)

    def substitute(self, values: Mapping[int, Poly]) -> Poly:
        """The polynomial with variables replaced by polynomials."""
        if self.variables.isdisjoint(values):
            return self
        total: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            product = Poly({tuple(v for v in monomial if v not in values): coefficient})
            for variable in monomial:
                if variable in values:
                    product = product * values[variable]
            for key, value in product.terms.items():
                _accumulate(total, key, value)
        return Poly(total)

    def evaluate(self, value: Callable[[int], int]) -> int:
        """The integer at the point where variable `i` is `value(i)`."""
        total = 0
        for monomial, product in self.terms.items():
            for variable in monomial:
                product *= value(variable)
            total += product
        return total


def _accumulate(terms: dict[Monomial, int], monomial: Monomial, coefficient: int) -> None:
    value = terms.get(monomial, 0) + coefficient
    if value:
        terms[monomial] = value
    else:
        terms.pop(monomial, None)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """`monomial / divisor`, or None where it does not divide."""
    left = list(monomial)
    for variable in divisor:
        if variable not in left:
            return None
        left.remove(variable)
    return tuple(left)


def _intersection(one: Monomial, other: Monomial) -> Monomial:
    return tuple(v for v in sorted(set(one)) for _ in range(min(one.count(v), other.count(v))))


ZERO = Poly({})
ONE = Poly({(): 1})
