"""How names get their values in a regime.

Three layers: *named* constants (axes with one value, the family's constants, the device's SMs) keep their names in the
emitted file; parameters, the values of case axes and what follows from them become numbers; what is left is computed by
the launcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgen.expr import Expr, Name, evaluate, fold, is_literal
from kgen.expr.substitute import substitute, tidy
from kgen.families.model import Tensor, Value
from kgen.plan.domain import Domain
from kgen.plan.errors import PlanProblem
from kgen.plan.model import Case
from kgen.plan.variant import Derived, expression, Variant


@dataclass(frozen=True)
class Scope:
    """What is known where a regime's groups are made."""

    variant: Variant
    tensors: Mapping[str, Tensor]
    optional: frozenset[str]
    named: Mapping[str, Value]
    parameters: Mapping[str, int | bool]
    domain: Domain

    @property
    def constants(self) -> dict[str, Value]:
        return {**self.named, **self.parameters}


def resolved(scope: Scope, axes: Mapping[str, Value]) -> dict[str, Value]:
    """Everything that has a value once the case is chosen."""
    known = {**scope.constants, **axes}
    for name, derived in scope.variant.let.items():
        folded = fold(chosen(derived, known), known)
        if is_literal(folded):
            known[name] = evaluate(folded, {})
    return known


def chosen(derived: Derived, known: Mapping[str, Value]) -> Expr:
    """The definition of a derived value in one case."""
    if derived.when is None or evaluate(expression(derived.when), known):
        return expression(derived.value)
    return expression(derived.otherwise)


@dataclass(frozen=True)
class Layers:
    """What the cases of a group share: numbers, names that stand for a single other name, and values computed at launch."""

    numbers: Mapping[str, Value]
    inlined: Mapping[str, Expr]
    derived: tuple[tuple[str, Expr, str], ...]

    def __call__(self, text: str) -> Expr:
        """An expression as the launcher computes it."""
        return tidy(fold(substitute(expression(text), self.inlined), self.numbers))


def layers_of(scope: Scope, cases: tuple[Case, ...]) -> Layers:
    numbers: dict[str, Value] = dict(scope.parameters)
    for axis in scope.variant.cases:
        shared = {case.axes[axis] for case in cases}
        if len(shared) == 1 and axis not in scope.named:
            numbers[axis] = shared.pop()
    inlined: dict[str, Expr] = {}
    derived: list[tuple[str, Expr, str]] = []
    for name, declared in scope.variant.let.items():
        ways = {chosen(declared, case.constants) for case in cases}
        if len(ways) > 1:
            raise PlanProblem(
                "KG414",
                f"{name} of variant {scope.variant.variant} is computed in two ways within one kernel text",
                hint=f"add the condition of {name} to `labels`",
            )
        way = ways.pop()
        folded = tidy(fold(substitute(way, inlined), numbers))
        whole = fold(folded, scope.named)
        if isinstance(way, Name) and way.id in scope.named:
            inlined[name] = way
        elif is_literal(whole):
            numbers[name] = evaluate(whole, {})
        elif isinstance(folded, Name):
            inlined[name] = folded
        else:
            derived.append((name, folded, declared.doc))
    return Layers(numbers, inlined, tuple(derived))
