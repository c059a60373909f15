"""What variables mean, said a second time, in sympy: for the second opinion on certificates.

Only the arguments of the definitions are taken from `kgen.algebra.definitions` and
`kgen.algebra.division`; facts, cases, bounds and values are stated here anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr, Integer, oo

from kgen.algebra import definitions as defs
from kgen.algebra import formula as logic
from kgen.algebra.division import Quotient, Remainder
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space
from kgen.algebra.sympy_claims import Claim, Said, every, equal, nonnegative, opposite, put, some

Range = tuple[Expr, Expr]


class Meaning:
    """Sympy's view of a space: what variables, formulas and definitions say."""

    def __init__(self, space: Space):
        self._space = space
        self._ranges: dict[int, Range] = {}
        self._reached: dict[Expr, Range] = {}
        self._exprs: dict[Poly, Expr] = {}
        self._claims: dict[logic.Formula, Claim] = {}
        self._facts: dict[int, list[tuple[Expr, Claim]]] = {}

    def symbol(self, index: int) -> Expr:
        return sympy.Symbol(f"x{index}")

    def _factor(self, index: int) -> Expr:
        """The symbol of a variable, or the value of a named constant."""
        definition = self._space[index].definition if self.knows(index) else None
        constant = isinstance(definition, defs.Fixed)
        return Integer(definition.value) if constant else self.symbol(index)

    def knows(self, index: int) -> bool:
        return 0 <= index < len(self._space)

    def expr(self, poly: Poly) -> Expr:
        """A polynomial, with the values of named constants."""
        if poly not in self._exprs:
            products = [
                sympy.Mul(coefficient, *map(self._factor, monomial))
                for monomial, coefficient in poly.terms.items()
            ]
            # a sum of products of symbols is expanded as it stands
            self._exprs[poly] = sympy.Add(*products)
        return self._exprs[poly]

    def claim(self, formula: logic.Formula) -> Claim:
        if formula not in self._claims:
            self._claims[formula] = self._claim(formula)
        return self._claims[formula]

    def _claim(self, formula: logic.Formula) -> Claim:
        match formula:
            case logic.Truth(value):
                return value
            case logic.AtLeast(poly):
                return nonnegative(self.expr(poly))
            case logic.And(parts):
                return every(map(self.claim, parts))
            case logic.Or(parts):
                return some(map(self.claim, parts))
            case logic.Opaque(reason, arguments, serial):
                return Said(reason, tuple(map(self.expr, arguments)), serial, True)
        return opposite(self.claim(formula.part))

    def facts(self, index: int) -> list[tuple[Expr, Claim]]:
        """What the definition says is at least 0, each with its condition, in its order."""
        if index not in self._facts:
            self._facts[index] = self._stated(index)
        return self._facts[index]

    def _stated(self, index: int) -> list[tuple[Expr, Claim]]:
        x, new, definition = self.symbol(index), self.expr, self._space[index].definition
        match definition:
            case defs.Fixed(value=value):
                return [(x - value, True), (value - x, True)]
            case defs.Free(low=low, high=high):
                ends = [] if low is None else [x - new(low)]
                ends += [] if high is None else [new(high) - x]
                return [(end, True) for end in ends]
            case defs.Minimum(a, b):
                return [(new(a) - x, True), (new(b) - x, True)]
            case defs.Maximum(a, b):
                return [(x - new(a), True), (x - new(b), True)]
            case Quotient() | Remainder():
                return self._division_facts(x, definition)
            case defs.PowerOfTwo(operand):
                n = new(operand)
                return [(x - 1, True), (x - n, True), (2 * n - 1 - x, nonnegative(n - 1))]
            case defs.Logarithm(operand):
                n = new(operand)
                return [(x, nonnegative(n - 1)), (n - 1 - x, nonnegative(n - 1))]
            case defs.TableEntry(table, _, mask, other, promised):
                loaded = self.claim(mask)
                known = every((loaded, self.claim(promised)))
                facts = [(x - new(table.low), known), (new(table.high) - x, known)]
                stored = [end for end, _ in _within(x, *table.storage)]
                if other is None:
                    return facts + [(end, True) for end in stored]
                return facts + [(end, loaded) for end in stored if promised != logic.TRUE]
            case defs.Unknown(bounds=bounds):
                return _within(x, *bounds)
        return []

    def _division_facts(
        self, x: Expr, definition: Quotient | Remainder
    ) -> list[tuple[Expr, Claim]]:
        a, b = self.expr(definition.dividend), self.expr(definition.divisor)
        positive, from_zero = nonnegative(b - 1), nonnegative(a)
        both = every((from_zero, positive))
        domain = positive if definition.rounding == "floor" else both
        if isinstance(definition, Quotient):
            once = every((nonnegative(a - b), domain))
            return [(x, both), (a - b * x, domain), (b * (x + 1) - 1 - a, domain), (x - 1, once)]
        product = b * self.expr(definition.quotient)
        return [
            (x, domain),
            (b - 1 - x, domain),
            (a - product - x, domain),
            (x - a + product, domain),
            (a - x, both),
        ]

    def cases(self, index: int) -> list[Claim]:
        """Claims of which the definition says that one holds."""
        x, new = self.symbol(index), self.expr
        match self._space[index].definition:
            case defs.Free(values=values):
                return [equal(x, Integer(value)) for value in values]
            case defs.Minimum(a, b):
                a, b = new(a), new(b)
                pairs = ((a, b - a), (b, a - b))
                return [every((equal(x, end), nonnegative(gap))) for end, gap in pairs]
            case defs.Maximum(a, b):
                a, b = new(a), new(b)
                pairs = ((a, a - b), (b, b - a))
                return [every((equal(x, end), nonnegative(gap))) for end, gap in pairs]
            case defs.Where(condition, then, otherwise):
                test = self.claim(condition)
                return [
                    every((equal(x, new(then)), test)),
                    every((equal(x, new(otherwise)), opposite(test))),
                ]
            case defs.TableEntry(mask=mask, other=Poly() as other) if mask != logic.TRUE:
                loaded = self.claim(mask)
                return [loaded, every((equal(x, new(other)), opposite(loaded)))]
        return []

    def value(self, index: int, known: dict[Expr, Expr]) -> Expr | None:
        """The number that the definition gives where symbols have the `known` values."""

        def number(poly: Poly) -> Expr:
            return self.expr(poly).xreplace(known)

        definition = self._space[index].definition
        if isinstance(definition, (defs.Where, defs.TableEntry)):
            return self._chosen_value(definition, known)
        arguments = [number(poly) for poly in definition.arguments()]
        if not arguments or not all(argument.is_Integer for argument in arguments):
            return None
        match definition:
            case defs.Minimum() | defs.Maximum():
                return min(arguments) if isinstance(definition, defs.Minimum) else max(arguments)
            case Quotient() | Remainder() if arguments[1] != 0:
                ratio = arguments[0] / arguments[1]
                down = definition.rounding == "floor" or ratio >= 0
                whole = sympy.floor(ratio) if down else sympy.ceiling(ratio)
                quotient = isinstance(definition, Quotient)
                return whole if quotient else arguments[0] - arguments[1] * whole
            case defs.PowerOfTwo():
                return _next_power(arguments[0])
            case defs.Logarithm() if arguments[0] >= 1:
                return _whole_log(arguments[0])
        return None

    def _chosen_value(
        self, definition: defs.Where | defs.TableEntry, known: dict[Expr, Expr]
    ) -> Expr | None:
        """The branch that a decided condition takes; a table's own entry is no known number."""
        entry = isinstance(definition, defs.TableEntry)
        test = self.claim(definition.mask if entry else definition.condition)
        for symbol, number in known.items():
            test = put(test, symbol, number)
        if not isinstance(test, bool):
            return None
        if entry:
            poly = None if test else definition.other
        else:
            poly = definition.then if test else definition.otherwise
        value = None if poly is None else self.expr(poly).xreplace(known)
        return value if value is not None and value.is_Integer else None

    def range(self, value: Expr) -> Range:
        """Constant bounds of a polynomial, from those of its variables."""
        if value not in self._reached:
            self._reached[value] = self._sum(value)
        return self._reached[value]

    def _sum(self, value: Expr) -> Range:
        low = high = Integer(0)
        for term in sympy.Add.make_args(value):
            ends: Range = (Integer(1), Integer(1))
            for factor, power in term.as_powers_dict().items():
                known = (factor, factor) if factor.is_Number else self._variable_range(factor)
                for _ in range(int(power)):
                    ends = _product(ends, known)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _variable_range(self, symbol: Expr) -> Range:
        index = int(symbol.name[1:])
        if index not in self._ranges:
            self._ranges[index] = self._definition_range(index)
        return self._ranges[index]

    def _definition_range(self, index: int) -> Range:
        definition = self._space[index].definition
        arguments = [self.range(self.expr(poly)) for poly in definition.arguments()]
        match definition:
            case defs.Free(low=low, high=high):
                return (
                    -oo if low is None else self.range(self.expr(low))[0],
                    oo if high is None else self.range(self.expr(high))[1],
                )
            case defs.Minimum():
                return tuple(min(pair) for pair in zip(*arguments))
            case defs.Maximum():
                return tuple(max(pair) for pair in zip(*arguments))
            case defs.Where():
                return _hull(arguments[:2])
            case Quotient() | Remainder():
                return _division_range(definition, *arguments[:2])
            case defs.PowerOfTwo():
                low, high = arguments[0]
                return _next_power(low), _next_power(high)
            case defs.Logarithm():
                low, high = arguments[0]
                return (_whole_log(low), _whole_log(high)) if low >= 1 else (-oo, oo)
            case defs.TableEntry(table, _, mask, other, promised):
                loaded = (self.range(self.expr(table.low))[0], self.range(self.expr(table.high))[1])
                if promised != logic.TRUE:
                    loaded = _ends(*table.storage)
                if mask == logic.TRUE:
                    return loaded
                if other is None:
                    return _ends(*table.storage)
                return _hull([loaded, self.range(self.expr(other))])
            case defs.Unknown(bounds=bounds):
                return _ends(*bounds)
        return -oo, oo


def _within(x: Expr, low: int | None, high: int | None) -> list[tuple[Expr, Claim]]:
    facts = [] if low is None else [(x - low, True)]
    return facts + ([] if high is None else [(high - x, True)])


def _ends(low: int | None, high: int | None) -> Range:
    return (-oo if low is None else Integer(low)), (oo if high is None else Integer(high))


def _hull(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _product(one: Range, other: Range) -> Range:
    corners = [Integer(0) if 0 in (a, b) else a * b for a in one for b in other]
    return min(corners), max(corners)


def _division_range(definition: Quotient | Remainder, dividend: Range, divisor: Range) -> Range:
    """Bounds of a quotient or remainder where the divisor is certainly positive, else none."""
    if divisor[0] < 1:
        return -oo, oo
    down = definition.rounding == "floor"
    if isinstance(definition, Quotient):
        corners = [_rounded(a, b, down) for a in dividend for b in divisor]
        return min(corners), max(corners)
    if dividend[0] >= 0:
        return Integer(0), min(divisor[1] - 1, dividend[1])
    return (Integer(0) if down else 1 - divisor[1]), divisor[1] - 1


def _rounded(dividend: Expr, divisor: Expr, down: bool) -> Expr:
    """A quotient of bounds, either of which may be infinite."""
    if not dividend.is_finite:
        return dividend
    if divisor == oo:
        return Integer(-1 if dividend < 0 and down else 0)
    ratio = dividend / divisor
    return sympy.floor(ratio) if down or ratio >= 0 else sympy.ceiling(ratio)


def _next_power(n: Expr) -> Expr:
    if n == oo:
        return oo
    return Integer(2) ** sympy.ceiling(sympy.log(n, 2)) if n > 1 else Integer(1)


def _whole_log(n: Expr) -> Expr:
    return oo if n == oo else sympy.floor(sympy.log(n, 2))
