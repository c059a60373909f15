"""Polynomials and formulas for people, simplified by sympy. Importing this module imports sympy."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from kgen.algebra.division import Quotient, Rounding
from kgen.algebra.formula import AtLeast, Formula
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space
from kgen.algebra.text import Printer


def show(space: Space, thing: Poly | Formula) -> str:
    """`thing` as briefly as sympy can say it.

    Polynomials are factored where that is shorter, `(a - 1) // b + 1` is `ceil_div(a, b)`, and two
    bounds of one variable make a chain such as `0 <= page < PAGES`.
    """
    printer = _SympyPrinter(space)
    return printer.poly(thing) if isinstance(thing, Poly) else printer.formula(thing)


class _SympyPrinter(Printer):
    def poly(self, poly: Poly) -> str:
        if len(poly.terms) == 1 and poly.variables and poly == Poly.variable(min(poly.variables)):
            return self.variable(min(poly.variables))
        forms = [form for start in self._starts(poly) for form in (start, sympy.factor(start))]
        return min(map(sympy.sstr, forms), key=len)

    def _starts(self, poly: Poly) -> Iterator[sympy.Expr]:
        """The polynomial with quotients rounded up instead of down, and as it stands."""
        symbols = {index: sympy.Symbol(self.name(index)) for index in poly.variables}
        raised = {index: value for index in poly.variables if (value := self._raised(index))}
        if raised:
            yield sympy.expand(_expression(poly, {**symbols, **raised}))
        yield _expression(poly, symbols)

    def _raised(self, index: int) -> sympy.Expr | None:
        """`(a - 1) // b` as `ceil_div(a, b) - 1`, where the variable is such a quotient."""
        definition = self._space[index].definition
        floor = isinstance(definition, Quotient) and definition.rounding is Rounding.FLOOR
        if not floor or self._depth == 0:
            return None
        inside = self._inside()
        dividend, divisor = inside.poly(definition.dividend + 1), inside.poly(definition.divisor)
        return sympy.Symbol(f"ceil_div({dividend}, {divisor})") - 1

    def _all_of(self, parts: tuple) -> list[str]:
        """Chains first, then what is in none of them."""
        texts, left = [], list(parts)
        for lower in parts:
            for upper in parts:
                chain = self._chain(lower, upper) if {lower, upper} <= set(left) else None
                if chain is not None:
                    texts.append(chain)
                    left = [part for part in left if part not in (lower, upper)]
        return texts + super()._all_of(tuple(left))

    def _chain(self, lower: Formula, upper: Formula) -> str | None:
        """`low <= x < high` where the one bounds a variable from below and the other from above."""
        if not (isinstance(lower, AtLeast) and isinstance(upper, AtLeast)):
            return None
        for index in sorted(lower.poly.variables & upper.poly.variables, reverse=True):
            x = Poly.variable(index)
            low, high = x - lower.poly, upper.poly + x
            if (
                low != high
                and index not in low.variables | high.variables
                and not self._absence(lower.poly)
            ):
                strict = high.terms.get((), 0) < 0
                end = f"< {self.poly(high + 1)}" if strict else f"<= {self.poly(high)}"
                return f"{self.poly(low)} <= {self.variable(index)} {end}"
        return None


def _expression(poly: Poly, symbols: dict[int, sympy.Expr]) -> sympy.Expr:
    terms = (
        sympy.Mul(coefficient, *(symbols[variable] for variable in monomial))
        for monomial, coefficient in poly.terms.items()
    )
    return sympy.Add(*terms)
