"""Expressions of specs and variants, stated to the proof engine.

`lower` gives the integer an expression means as a polynomial, `lower_condition` the condition it
means as a formula, `defined` the formula that says where it can be computed at all. All three agree
with `kgen.expr.evaluate`: `//` and `%` floor, `and` and `or` stop at the operand that decides,
`none` equals nothing but `none`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Union

from kgen.algebra.formula import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Formula,
    Not,
    Opaque,
    Or,
    Truth,
    conjunction,
    conjuncts,
    disjunction,
    eq,
    ge,
    gt,
    iff,
    implies,
    le,
    lt,
    ne,
    negate,
)
from kgen.algebra.poly import Poly
from kgen.algebra.space import Maybe, Space
from kgen.expr import tree
from kgen.expr.errors import ExprError

Meaning = Union[Poly, int, None, Maybe, Formula]
"""What a name stands for: an integer, `none`, an axis that may be `none`, or a condition."""

MAX_TERMS = 4096
MAX_EXPONENT = 64

_FORMULAS = (Truth, AtLeast, And, Or, Opaque, Not)
_COMPARISONS: Mapping[str, Callable[[Poly, Poly], Formula]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "==": eq,
    "!=": ne,
}


class LowerError(ExprError):
    """The expression is no statement about integers; `span` is the part at fault."""

    def __init__(self, message: str, span: tree.Span, hint: str = ""):
        super().__init__(message, span, hint, code="KG490")


def lower(expr: tree.Expr, space: Space, names: Mapping[str, Meaning]) -> Poly:
    """The integer that `expr` means, where `names` gives the meaning of each name.

    Raises LowerError where it is real, a condition, or `none`; where a name has no meaning; and
    where an axis that may be `none` is used without a test before it.
    """
    return _Lowering(space, names).integer(expr, TRUE)


def lower_condition(expr: tree.Expr, space: Space, names: Mapping[str, Meaning]) -> Formula:
    """The condition that `expr` means. Raises LowerError as `lower` does, and for what is none."""
    return _Lowering(space, names).condition(expr, TRUE)


def defined(expr: tree.Expr, space: Space, names: Mapping[str, Meaning]) -> Formula:
    """Where `expr` has a value: no divisor is 0, and `log2` is taken of powers of two only.

    Operands that an `and` or `or` never reaches do not count. The formula of a condition says
    nothing of this, because a part without a value may cancel (`x // y * 0`): to know that a
    dispatcher never fails, prove this formula. Raises LowerError as `lower` does.
    """
    lowering = _Lowering(space, names)
    if lowering.is_condition(expr):
        lowering.condition(expr, TRUE)
    else:
        lowering.integer(expr, TRUE)
    return conjunction(*lowering.needs)


class _Lowering:
    """One walk over a tree. `known` is what holds wherever the part at hand is reached."""

    def __init__(self, space: Space, names: Mapping[str, Meaning]):
        self._space = space
        self._names = names
        self.needs: list[Formula] = []

    # Conditions.

    def condition(self, expr: tree.Expr, known: Formula) -> Formula:
        match expr:
            case tree.Truth(value):
                return Truth(value)
            case tree.Name():
                meaning = self._meaning(expr)
                if isinstance(meaning, _FORMULAS):
                    return meaning
            case tree.Unary("not", operand):
                return negate(self.condition(operand, known))
            case tree.Logic():
                return self._logic(expr, known)
            case tree.Compare():
                return self._compare(expr, known)
            case tree.Call("is_pow2", (operand,)):
                return self._is_power_of_two(self.integer(operand, known))
        raise LowerError("a condition has to stand here", expr.span, "compare it, such as `Q == 1`")

    def is_condition(self, expr: tree.Expr) -> bool:
        """Whether `expr` is true or false rather than a number or `none`."""
        match expr:
            case tree.Truth() | tree.Logic() | tree.Compare() | tree.Unary("not"):
                return True
            case tree.Call(function):
                return function == "is_pow2"
            case tree.Name(name):
                return isinstance(self._names.get(name), _FORMULAS)
        return False

    def _logic(self, expr: tree.Logic, known: Formula) -> Formula:
        """Each operand is reached only where those before it do not decide."""
        both = expr.op == "and"
        parts: list[Formula] = []
        for operand in expr.operands:
            part = self.condition(operand, known)
            parts.append(part)
            known = conjunction(known, part if both else negate(part))
            if part == Truth(not both):
                break
        return conjunction(*parts) if both else disjunction(*parts)

    def _compare(self, expr: tree.Compare, known: Formula) -> Formula:
        if expr.op not in ("==", "!="):
            sides = self.integer(expr.left, known), self.integer(expr.right, known)
            return _COMPARISONS[expr.op](*sides)
        conditions = [self.is_condition(side) for side in (expr.left, expr.right)]
        if all(conditions):
            equal = iff(self.condition(expr.left, known), self.condition(expr.right, known))
        elif any(conditions):
            raise LowerError("a condition is compared with a value", expr.span)
        else:
            equal = _equal(self._value(expr.left, known), self._value(expr.right, known))
        return equal if expr.op == "==" else negate(equal)

    def _is_power_of_two(self, operand: Poly) -> Formula:
        return conjunction(ge(operand, 1), ge(operand, self._space.power_of_two(operand)))

    # Integers.

    def integer(self, expr: tree.Expr, known: Formula) -> Poly:
        match expr:
            case tree.Number(int() as value):
                return Poly.of(value)
            case tree.Number(value):
                raise _real(f"{value} is a real number", expr.span)
            case tree.Unary("-", operand):
                return -self.integer(operand, known)
            case tree.Binary():
                return self._binary(expr, known)
            case tree.Call():
                return self._call(expr, known)
            case tree.Name() | tree.Nothing():
                value = self._value(expr, known)
                if isinstance(value, Poly):
                    return value
                raise _maybe_none(expr, value)
        raise LowerError("a condition stands where an integer is needed", expr.span)

    def _value(self, expr: tree.Expr, known: Formula) -> Poly | Maybe | None:
        """An integer, `none`, or what may be either as far as `known` tells."""
        if isinstance(expr, tree.Nothing):
            return None
        if not isinstance(expr, tree.Name):
            return self.integer(expr, known)
        meaning = self._meaning(expr)
        if isinstance(meaning, _FORMULAS):
            raise LowerError(f"`{expr.id}` is a condition, and a number is needed", expr.span)
        if isinstance(meaning, int):
            return Poly.of(meaning)
        if isinstance(meaning, Maybe) and _present(meaning) in conjuncts(known):
            return meaning.value
        return meaning

    def _meaning(self, name: tree.Name) -> Meaning:
        if name.id not in self._names:
            listed = ", ".join(sorted(self._names))
            raise LowerError(f"`{name.id}` has no meaning here", name.span, f"known are: {listed}")
        meaning = self._names[name.id]
        return Truth(meaning) if isinstance(meaning, bool) else meaning

    def _binary(self, expr: tree.Binary, known: Formula) -> Poly:
        if expr.op == "/":
            raise _real("`/` gives a real number", expr.span)
        left, right = self.integer(expr.left, known), self.integer(expr.right, known)
        match expr.op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return _product(left, right, expr.span)
            case "**":
                return _power(left, right, expr.span)
        self._need(known, ne(right, 0))
        divide = self._space.quotient if expr.op == "//" else self._space.remainder
        return divide(left, right)

    def _call(self, expr: tree.Call, known: Formula) -> Poly:
        if expr.function == "sqrt":
            raise _real("`sqrt` gives a real number", expr.span)
        arguments = [self.integer(argument, known) for argument in expr.arguments]
        space = self._space
        match expr.function, arguments:
            case "min", [_, _, *_]:
                return reduce(space.minimum, arguments)
            case "max", [_, _, *_]:
                return reduce(space.maximum, arguments)
            case "clamp", [x, low, high]:
                return space.minimum(space.maximum(x, low), high)
            case "ceil_div", [a, b]:
                self._need(known, ne(b, 0))
                return space.ceiling_quotient(a, b)
            case "next_pow2", [x]:
                return space.power_of_two(x)
            case "log2", [x]:
                self._need(known, self._is_power_of_two(x))
                return space.logarithm(x)
        raise LowerError(
            f"`{expr.function}` of {len(arguments)} arguments has no integer value", expr.span
        )

    def _need(self, known: Formula, condition: Formula) -> None:
        self.needs.append(implies(known, condition))


def _equal(left: Poly | Maybe | None, right: Poly | Maybe | None) -> Formula:
    """Equality where `none` equals `none` only."""
    if isinstance(left, Poly) and isinstance(right, Poly):
        return eq(left, right)
    absent = conjunction(_absent(left), _absent(right))
    if left is None or right is None:
        return absent
    values = [side.value if isinstance(side, Maybe) else side for side in (left, right)]
    present = [negate(_absent(side)) for side in (left, right)]
    return disjunction(absent, conjunction(*present, eq(*values)))


def _absent(value: Poly | Maybe | None) -> Formula:
    if isinstance(value, Maybe):
        return le(value.value, value.absent)
    return Truth(value is None)


def _present(value: Maybe) -> Formula:
    return negate(_absent(value))


def _product(left: Poly, right: Poly, span: tree.Span) -> Poly:
    if len(left.terms) * len(right.terms) > MAX_TERMS:
        raise LowerError("the product has too many terms to be proved about", span)
    return left * right


def _power(base: Poly, exponent: Poly, span: tree.Span) -> Poly:
    times = exponent.constant
    if times is None or not 0 <= times <= MAX_EXPONENT:
        hint = f"write an exponent that is a number from 0 to {MAX_EXPONENT}, or next_pow2"
        raise LowerError("this power is no polynomial", span, hint)
    return reduce(lambda product, _: _product(product, base, span), range(times), Poly.of(1))


def _real(message: str, span: tree.Span) -> LowerError:
    hint = "write `//` or `ceil_div` for a size; real numbers are for scales only"
    return LowerError(f"{message}, and sizes and conditions are proved about integers", span, hint)


def _maybe_none(expr: tree.Expr, value: Maybe | None) -> LowerError:
    if isinstance(expr, tree.Name) and value is not None:
        hint = f"test for it before: `{expr.id} != none and ...`"
        return LowerError(
            f"`{expr.id}` may be `none` here, and a number is needed", expr.span, hint
        )
    return LowerError("`none` stands where a number is needed", expr.span)
