"""The expressions of a document: parsed, their names and kinds checked, constant parts computed.

It reads the document as written, so that a mistake elsewhere hides none in an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.diagnostics import Diagnostic
from kgen.expr import (
    KIND_WORDS,
    Binary,
    Call,
    EvalError,
    Expr,
    ExprError,
    Name,
    Number,
    Span,
    Truth,
    children,
    evaluate,
    kind,
    names,
    parse,
    suggestion,
)
from kgen.spec.common import Slot
from kgen.spec.nodes import Key
from kgen.spec.origin import Origin
from kgen.spec.regime import OTHERWISE
from kgen.spec.scope import DeclaredAxes, Refusal, Scope

_GIVES = {
    ("bool",): ("a condition", "compare something, such as `Q == 1`"),
    ("int",): ("an integer", "`//` and `ceil_div` divide integers; `/` and `sqrt` give reals"),
    ("int", "real"): ("a number", "write for example `1/sqrt(D)`"),
    ("row",): (
        "a row",
        "give every element of `x` a result, such as `x * rsqrt(mean(x * x) + EPS)`",
    ),
}
"""What an expression has to give, in words, and a hint for one that gives something else."""


class Expressions:
    """Every expression of a document: `trees` of those that are right, `problems` of the others."""

    def __init__(self, document: Mapping[str, object], slots: tuple[Slot, ...], origin: Origin):
        self.axes = DeclaredAxes(document)
        self.origin = origin
        self.trees: dict[Key, Expr] = {}
        self.problems: list[Diagnostic] = []
        everything, static = self.axes.everything(), self.axes.static()
        for name, bounds in self.axes.ranges().items():
            scope = everything if self.axes.is_runtime(name) else static
            for index, bound in enumerate(bounds):
                self._read(("axes", name, "range", index), bound, ("int",), scope)
        for index, condition in _conditions(document):
            self._read(("regimes", index, "when"), condition, ("bool",), static)
        for slot in slots:
            self._read(slot.key, _value(document, slot.key), slot.gives, self.axes.slot(slot))

    def _read(self, key: Key, value: object, gives: tuple[str, ...], scope: Scope) -> None:
        """Keep the tree of `value`, or what is wrong with it; the schema judges other types."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.trees[key] = Number(value, Span(0, len(str(value))))
        if not isinstance(value, str):
            return
        if value == OTHERWISE and key[-1] == "when":
            self.trees[key] = Truth(True, Span(0, len(value)))
            return
        try:
            tree = parse(value, functions=scope.functions)
            found = list(_wrong_names(tree, scope))
            if not found:
                _refuse_kind(tree, gives, scope)
                found = list(_without_value(tree, self.axes.constants))
        except ExprError as error:
            found = [error]
        if not found:
            self.trees[key] = tree
        for error in found:
            self.problems.append(
                self.origin.diagnostic(
                    error.code, error.message, *key, hint=error.hint, span=error.span
                )
            )


def _conditions(document: Mapping[str, object]) -> Iterator[tuple[int, object]]:
    """The condition of each regime, with its index."""
    regimes = document.get("regimes")
    for index, regime in enumerate(regimes if isinstance(regimes, tuple) else ()):
        if isinstance(regime, dict) and isinstance(regime.get("when"), str):
            yield index, regime["when"]


def _value(document: object, key: Key) -> object:
    """What the document has at `key`; None where it has nothing."""
    for part in key:
        document = document.get(part) if isinstance(document, dict) else None
    return document


def _wrong_names(tree: Expr, scope: Scope) -> Iterator[ExprError]:
    """An error for each name that may not stand in `tree`."""
    if isinstance(tree, Name):
        refusal = scope.refused.get(tree.id)
        if refusal is None and tree.id not in scope.kinds:
            refusal = _unknown(tree.id, scope)
        if refusal is not None:
            yield ExprError(refusal.message, tree.span, refusal.hint, refusal.code)
    for child in children(tree):
        yield from _wrong_names(child, scope)


def _unknown(name: str, scope: Scope) -> Refusal:
    if name == OTHERWISE:
        return Refusal(
            "KG302",
            "`otherwise` is a whole condition and no part of one",
            "write `when: otherwise`, in the last regime",
        )
    known = scope.kinds.keys() - scope.refused.keys()
    return Refusal("KG302", f"unknown name `{name}`", suggestion(name, known, "known names"))


def _refuse_kind(tree: Expr, gives: tuple[str, ...], scope: Scope) -> None:
    """Raise ExprError for kinds that do not go together, or another kind than those in `gives`."""
    found = kind(tree, scope.kinds, scope.functions)
    if found in (*gives, "unknown"):
        return
    wanted, hint = _GIVES[gives]
    if found == "int?":
        hint = "use an axis that is never `none`"
    raise ExprError(f"expected {wanted}, found {KIND_WORDS[found]}", tree.span, hint, "KG307")


def _without_value(tree: Expr, constants: Mapping[str, int]) -> Iterator[ExprError | EvalError]:
    """The parts of `tree` that have no value whatever the axes are, such as `B // 0`."""
    if names(tree) <= constants.keys():
        try:
            evaluate(tree, constants)
        except EvalError as error:
            yield error
        return
    found = [error for child in children(tree) for error in _without_value(child, constants)]
    yield from found
    divisor = _divisor(tree)
    if found or divisor is None or not names(divisor) <= constants.keys():
        return
    if evaluate(divisor, constants) == 0:
        yield EvalError("division by zero", tree.span)


def _divisor(tree: Expr) -> Expr | None:
    match tree:
        case Binary(op="/" | "//" | "%"):
            return tree.right
        case Call(function="ceil_div"):
            return tree.arguments[1]
    return None
