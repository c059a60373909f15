"""The kind of value an expression has, and a refusal of kinds that do not go together.

Kinds are words: `int`, `real`, `row` (one row of a tensor, in a norm's formula), `bool`, `none`,
`int?` (an integer or `none`, such as the axis of an optional window) and `unknown` (a name whose
declaration is itself wrong: nothing more is said about it).
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.expr.errors import ExprError
from kgen.expr.functions import SIZE_FUNCTIONS, Function
from kgen.expr.tree import (
    Binary,
    Call,
    Compare,
    Expr,
    Logic,
    Name,
    Nothing,
    Number,
    Truth,
    Unary,
)

Kinds = Mapping[str, str]

_WIDTH = {"int": 0, "real": 1, "row": 2}
KIND_WORDS = {
    "int": "an integer",
    "real": "a real",
    "row": "a row",
    "bool": "a condition",
    "none": "`none`",
    "int?": "an integer or `none`",
}


def kind(expr: Expr, kinds: Kinds, functions: Mapping[str, Function] = SIZE_FUNCTIONS) -> str:
    """The kind of `expr`, where `kinds` gives that of each name.

    A test for `none` counts: in `W != none and W > 8` the second `W` is an integer. Raises
    ExprError at the part that does not fit: arithmetic with `none` or conditions, a number as a
    condition, a real where an integer is needed. A name that is not in `kinds` is `unknown`.
    """
    return _Checker(functions).kind(expr, kinds)


class _Checker:
    """Kinds by induction over the tree."""

    def __init__(self, functions: Mapping[str, Function]):
        self.functions = functions

    def kind(self, expr: Expr, kinds: Kinds) -> str:
        match expr:
            case Number():
                return "int" if isinstance(expr.value, int) else "real"
            case Nothing():
                return "none"
            case Truth():
                return "bool"
            case Name():
                return kinds.get(expr.id, "unknown")
            case Unary(op="not"):
                self._condition(expr.operand, kinds)
                return "bool"
            case Unary():
                return self._number(expr.operand, kinds)
            case Binary():
                return self._binary(expr, kinds)
            case Compare():
                return self._compare(expr, kinds)
            case Logic():
                return self._logic(expr, kinds)
            case Call():
                return self._call(expr, kinds)

    def _binary(self, expr: Binary, kinds: Kinds) -> str:
        if expr.op in ("//", "%"):
            need = f"`{expr.op}`"
            found = {self._integer(side, kinds, need) for side in (expr.left, expr.right)}
        else:
            found = {self._number(side, kinds) for side in (expr.left, expr.right)}
        widest = _widest(found)
        return "real" if expr.op == "/" and widest == "int" else widest

    def _compare(self, expr: Compare, kinds: Kinds) -> str:
        if expr.op not in ("==", "!="):
            found = {self._number(side, kinds) for side in (expr.left, expr.right)}
        else:
            found = {self.kind(side, kinds) for side in (expr.left, expr.right)}
        if "row" in found:
            raise ExprError("a row cannot be compared", expr.span, code="KG307")
        if "bool" in found and not found <= {"bool", "unknown"}:
            raise ExprError(
                "a condition is compared with a value",
                expr.span,
                "write the condition itself, or `not` before it",
                "KG307",
            )
        return "bool"

    def _logic(self, expr: Logic, kinds: Kinds) -> str:
        for operand in expr.operands:
            self._condition(operand, kinds)
            present = _present(operand, expr.op == "and")
            kinds = {
                **kinds,
                **{name: "int" for name in present if kinds.get(name) in ("int?", "none")},
            }
        return "bool"

    def _call(self, expr: Call, kinds: Kinds) -> str:
        function = self.functions[expr.function]
        found = [self._argument(function, expr, part, kinds) for part in expr.arguments]
        if function.gives in ("int", "real", "bool"):
            return function.gives
        widest = _widest(set(found))
        return "real" if function.gives == "map" and widest == "int" else widest

    def _argument(self, function: Function, call: Call, argument: Expr, kinds: Kinds) -> str:
        if function.takes == "int":
            return self._integer(argument, kinds, f"`{call.function}`")
        found = self._number(argument, kinds)
        if function.takes == "row" and found not in ("row", "unknown"):
            raise ExprError(
                f"`{call.function}` reduces a row, and this is {KIND_WORDS[found]}",
                argument.span,
                f"write something of the row `x`, such as `{call.function}(x * x)`",
                "KG307",
            )
        return found

    def _condition(self, expr: Expr, kinds: Kinds) -> None:
        found = self.kind(expr, kinds)
        if found not in ("bool", "unknown"):
            raise ExprError(
                f"expected a condition, found {KIND_WORDS[found]}",
                expr.span,
                "compare it, such as `Q == 1` or `WINDOW != none`",
                "KG307",
            )

    def _number(self, expr: Expr, kinds: Kinds) -> str:
        found = self.kind(expr, kinds)
        if found in _WIDTH or found == "unknown":
            return found
        hint = ""
        if found == "int?" and isinstance(expr, Name):
            hint = f"test for it before: `{expr.id} != none and ...`"
        raise ExprError(f"expected a number, found {KIND_WORDS[found]}", expr.span, hint, "KG307")

    def _integer(self, expr: Expr, kinds: Kinds, need: str) -> str:
        found = self._number(expr, kinds)
        if found in ("real", "row"):
            raise ExprError(
                f"{need} takes integers, and this is {KIND_WORDS[found]}",
                expr.span,
                "`//` and `ceil_div` divide integers; `/` and `sqrt` give reals",
                "KG307",
            )
        return found


def _widest(found: set[str]) -> str:
    return "unknown" if "unknown" in found else max(found, key=_WIDTH.__getitem__)


def _present(expr: Expr, outcome: bool) -> frozenset[str]:
    """The names that cannot be `none` where `expr` is `outcome`."""
    match expr:
        case Compare(op=op) if op == ("!=" if outcome else "=="):
            sides = (expr.left, expr.right)
            if any(isinstance(side, Nothing) for side in sides):
                return frozenset(side.id for side in sides if isinstance(side, Name))
        case Logic(op=op) if op == ("and" if outcome else "or"):
            return frozenset().union(*(_present(operand, outcome) for operand in expr.operands))
        case Unary(op="not"):
            return _present(expr.operand, not outcome)
    return frozenset()
