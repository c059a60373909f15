"""Plain text of polynomials and formulas, without sympy: for messages and the warm path."""

from __future__ import annotations

from typing import Self

from kgen.algebra.definitions import (
    Fixed,
    Free,
    Logarithm,
    Maximum,
    Minimum,
    PowerOfTwo,
    TableEntry,
    Unknown,
    Where,
)
from kgen.algebra.division import Quotient, Remainder
from kgen.algebra.formula import And, AtLeast, Formula, Not, Opaque, Or, Truth
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space

MAX_DEPTH = 8


def poly_text(space: Space, poly: Poly) -> str:
    """`poly` as in `2*N*B + N - 1`."""
    return Printer(space).poly(poly)


def formula_text(space: Space, formula: Formula) -> str:
    """`formula` as in `page < PAGES and Q == 1`."""
    return Printer(space).formula(formula)


class Printer:
    """Prints what is said in a space; definitions nested deeper than `depth` by number alone."""

    def __init__(self, space: Space, depth: int = MAX_DEPTH):
        self._space = space
        self._depth = depth

    def poly(self, poly: Poly) -> str:
        """A sum of products."""
        if _is_variable(poly):
            return self.variable(*poly.variables)
        text = ""
        for monomial, coefficient in poly.sorted_terms():
            factors = [self._power(v, monomial.count(v)) for v in dict.fromkeys(monomial)]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} " if text else sign.removeprefix("+")
            text += "*".join(factors)
        return text or "0"

    def formula(self, formula: Formula) -> str:
        """Inequalities with every term on the side where it is positive."""
        match formula:
            case Truth(value):
                return "true" if value else "false"
            case AtLeast(poly):
                return self._inequality(poly)
            case And(parts):
                return " and ".join(self._all_of(parts))
            case Or(parts):
                return " or ".join(self._any_of(parts))
            case Not(part):
                return f"not {self.formula(part)}"
            case Opaque(reason):
                return f"<{reason}>"

    def variable(self, index: int) -> str:
        """The name of a variable, or the expression that defines it."""
        definition = self._space[index].definition
        if isinstance(definition, (Free, Fixed)):
            return definition.name
        if self._depth == 0:
            return f"x{index}"
        inside = self._inside()
        match definition:
            case Quotient(a, b):
                return f"{inside.factor(a)} // {inside.factor(b)}"
            case Remainder(a, b):
                return f"{inside.factor(a)} % {inside.factor(b)}"
            case Minimum(a, b):
                return f"min({inside.poly(a)}, {inside.poly(b)})"
            case Maximum(a, b):
                return f"max({inside.poly(a)}, {inside.poly(b)})"
            case Where(condition, a, b):
                return f"where({inside.formula(condition)}, {inside.poly(a)}, {inside.poly(b)})"
            case PowerOfTwo(a):
                return f"next_pow2({inside.poly(a)})"
            case Logarithm(a):
                return f"log2({inside.poly(a)})"
            case TableEntry(table, address):
                return f"{table.name}[{inside.poly(address)}]"
            case Unknown(reason, serial=serial):
                return f"<{reason} {serial}>"

    def _power(self, index: int, exponent: int) -> str:
        return self.name(index) if exponent == 1 else f"{self.name(index)}**{exponent}"

    def name(self, index: int) -> str:
        """A variable as an operand: in parentheses where it is defined by an operator."""
        divided = isinstance(self._space[index].definition, (Quotient, Remainder))
        text = self.variable(index)
        return f"({text})" if divided and " " in text else text

    def factor(self, poly: Poly) -> str:
        """A polynomial as an operand: in parentheses unless it is one name or number."""
        if _is_variable(poly):
            return self.name(*poly.variables)
        value = poly.constant
        return self.poly(poly) if value is not None and value >= 0 else f"({self.poly(poly)})"

    def _inside(self) -> Self:
        return type(self)(self._space, self._depth - 1)

    def _operand(self, formula: Formula) -> str:
        text = self.formula(formula)
        return f"({text})" if " and " in text or " or " in text else text

    def _all_of(self, parts: tuple[Formula, ...]) -> list[str]:
        """The parts of a conjunction, with `a <= b` and `b <= a` as one `a == b`."""
        texts: list[str] = []
        for at, part in enumerate(parts):
            opposite = AtLeast(-part.poly) if isinstance(part, AtLeast) else None
            if opposite not in parts:
                texts.append(self._operand(part))
            elif at < parts.index(opposite):
                texts.append(self._relation(part.poly, "=="))
        return texts

    def _any_of(self, parts: tuple[Formula, ...]) -> list[str]:
        """The parts of a disjunction, with `a < b` or `b < a` as one `a != b`."""
        texts: list[str] = []
        for at, part in enumerate(parts):
            opposite = AtLeast(-part.poly - 2) if isinstance(part, AtLeast) else None
            if opposite not in parts:
                texts.append(self._operand(part))
            elif at < parts.index(opposite):
                texts.append(self._relation(part.poly + 1, "!="))
        return texts

    def _inequality(self, poly: Poly) -> str:
        absence = self._absence(poly)
        if absence is not None:
            return absence
        positive, negative, constant = _sides(poly)
        if not negative.terms:
            return f"{self.poly(positive)} >= {-constant}"
        if not positive.terms:
            return f"{self.poly(negative)} <= {constant}"
        if constant == -1:
            return f"{self.poly(negative)} < {self.poly(positive)}"
        if constant < 0:
            return f"{self.poly(negative - constant)} <= {self.poly(positive)}"
        return f"{self.poly(negative)} <= {self.poly(positive + constant)}"

    def _relation(self, poly: Poly, sign: str) -> str:
        """`poly == 0` or `poly != 0`, without a minus."""
        positive, negative, constant = _sides(poly)
        if not positive.terms or (constant > 0 and negative.terms):
            positive, negative, constant = negative, positive, -constant
        return f"{self.poly(positive)} {sign} {self.poly(negative - constant)}"

    def _absence(self, poly: Poly) -> str | None:
        """What `poly >= 0` says of an axis that may be none, if it says whether it is."""
        if len(poly.variables) != 1:
            return None
        (index,) = poly.variables
        definition = self._space[index].definition
        absent = definition.absent if isinstance(definition, Free) else None
        if absent is None:
            return None
        x, name = Poly.variable(index), definition.name
        return {x - absent - 1: f"{name} != none", absent - x: f"{name} == none"}.get(poly)


def _is_variable(poly: Poly) -> bool:
    return len(poly.variables) == 1 and poly == Poly.variable(*poly.variables)


def _sides(poly: Poly) -> tuple[Poly, Poly, int]:
    """Terms with positive coefficients, those with negative ones (negated), and the constant."""
    terms = {monomial: c for monomial, c in poly.terms.items() if monomial}
    positive = Poly({monomial: c for monomial, c in terms.items() if c > 0})
    negative = Poly({monomial: -c for monomial, c in terms.items() if c < 0})
    return positive, negative, poly.terms.get((), 0)
