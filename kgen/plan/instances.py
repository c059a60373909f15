"""A statement about a regime in one case and one slice of its domain: what is left of it when their values are put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kgen.expr import Expr, evaluate, fold
from kgen.expr.substitute import substitute
from kgen.plan.domain import Slice
from kgen.plan.model import Case, Plan, RegimePlan
from kgen.plan.scope import chosen
from kgen.plan.statements import Statement, Variable
from kgen.plan.variant import expression


@dataclass(frozen=True)
class Instance:
    """`goal` for every value of `variables`, in their order, where all `conditions` hold."""

    case: Case
    part: Slice
    goal: Expr
    variables: tuple[Variable, ...]
    conditions: tuple[Expr, ...]

    def shown(self, point: Mapping[str, int]) -> str:
        """Where a point of the instance lies, in words."""
        axes = {**self.part.values, **point}
        return ", ".join(f"{name} = {'none' if v is None else v}" for name, v in axes.items())


def instances(plan: Plan, regime: RegimePlan, statement: Statement) -> Iterator[Instance]:
    """The statement in every case and slice of the regime's domain."""
    for case, part in _slices(plan, regime):
        yield _instance(regime, statement, case, part)


def _slices(plan: Plan, regime: RegimePlan) -> Iterator[tuple[Case, Slice]]:
    named = {name: value for name, (value, _) in plan.constants.items()}
    cases = [case for group in regime.groups for case in group.cases]
    for part in regime.domain.slices(named):
        values = {**named, **part.values}
        for case in cases:
            if all(values[axis] == value for axis, value in case.axes.items()):
                yield case, part


def _instance(regime: RegimePlan, statement: Statement, case: Case, part: Slice) -> Instance:
    constants = {**case.constants, **part.values}
    general = {} if statement.exact else _parts(regime)

    def resolved(expr: Expr) -> Expr:
        return fold(_defined(expr, regime, case, general), constants)

    axes = [
        Variable(name, resolved(span.low), resolved(span.high))
        for name, span in part.ranges.items()
    ]
    counts = [
        Variable(name, expression("1"), resolved(expression(most)))
        for name, most in general.items()
    ]
    own = [
        replace(one, low=resolved(one.low), high=resolved(one.high)) for one in statement.variables
    ]
    return Instance(
        case,
        part,
        resolved(statement.goal),
        (*axes, *counts, *own),
        (*part.conditions, *map(resolved, statement.given)),
    )


def part_counts(regime: RegimePlan) -> frozenset[str]:
    """The derived values that stand for any number of parts in a statement that is not exact."""
    return frozenset(_parts(regime))


def value_of(name: str, regime: RegimePlan, instance: Instance, point: Mapping[str, int]) -> object:
    """A derived value where the axes of an instance are those of a point."""
    constants = {**instance.case.constants, **instance.part.values}
    return evaluate(fold(_defined(expression(name), regime, instance.case, {}), constants), point)


def _parts(regime: RegimePlan) -> Mapping[str, str]:
    """Derived values that stand for any number of parts, with the most there can be."""
    variant = regime.template.variant
    return {
        one.parts: one.most_parts for one in variant.tiling.values() if one.parts in variant.let
    }


def _defined(expr: Expr, regime: RegimePlan, case: Case, general: Mapping[str, str]) -> Expr:
    """`expr` with derived values replaced by their definitions, those in `general` left as they are."""
    for name, derived in reversed(regime.template.variant.let.items()):
        if name not in general:
            expr = substitute(expr, {name: chosen(derived, case.constants)})
    return expr
