"""One statement over the whole domain of a regime: the verdict, and the finding that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kgen.algebra import (
    LowerError,
    SpaceError,
    Status,
    Verdict,
    conjunction,
    lower_condition,
    space_of,
)
from kgen.algebra import decide as decide_formula
from kgen.diagnostics import Diagnostic, Severity
from kgen.expr import Expr, evaluate, fold, is_literal, names
from kgen.expr.substitute import substitute
from kgen.plan.domain import Slice
from kgen.plan.model import Case, Plan, RegimePlan
from kgen.plan.obligation import Obligation
from kgen.plan.scope import chosen
from kgen.plan.statements import Statement, Variable
from kgen.plan.variant import expression

STEPS = 40_000
"""The effort for one statement. Most take a few dozen steps; parts of a window take the most."""


def prove(plan: Plan, regime: RegimePlan, statement: Statement) -> Obligation:
    """The statement over every slice of the regime's domain; the worst verdict counts.

    What is proved still has to be confirmed by sympy: `evidence` says that it is.
    """
    certificates = []
    named = (regime.name, statement.subject, statement.says)
    for case, part in _slices(plan, regime):
        verdict = _decide(regime, statement, case, part)
        if verdict.status is not Status.PROVED:
            return Obligation(*named, verdict.status, _where(case, part, verdict))
        if verdict.certificate is not None:
            certificates.append(verdict.certificate)
    steps = sum(len(one.steps) for one in certificates)
    evidence = f"certificate of {steps} steps, checked twice" if steps else "by evaluation"
    return Obligation(*named, Status.PROVED, evidence, certificates=tuple(certificates))


def _slices(plan: Plan, regime: RegimePlan) -> Iterator[tuple[Case, Slice]]:
    named = {name: value for name, (value, _) in plan.constants.items()}
    cases = [case for group in regime.groups for case in group.cases]
    for part in regime.domain.slices(named):
        values = {**named, **part.values}
        for case in cases:
            if all(values[axis] == value for axis, value in case.axes.items()):
                yield case, part


def _decide(regime: RegimePlan, statement: Statement, case: Case, part: Slice) -> Verdict:
    constants = {**case.constants, **part.values}
    general = {} if statement.exact else _parts(regime)

    def resolved(expr: Expr) -> Expr:
        return fold(_defined(expr, regime, case, general), constants)

    goal = resolved(statement.goal)
    if is_literal(goal):
        holds = bool(evaluate(goal, {}))
        return Verdict(Status.PROVED if holds else Status.REFUTED, "by evaluation")
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
    conditions = [*part.conditions, *map(resolved, statement.given)]
    try:
        space, meanings = space_of([*axes, *counts, *own])
        given = conjunction(
            *(lower_condition(condition, space, meanings) for condition in conditions)
        )
        return decide_formula(space, lower_condition(goal, space, meanings), given, steps=STEPS)
    except (LowerError, SpaceError) as error:
        return Verdict(Status.UNKNOWN, str(error))


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


def _where(case: Case, part: Slice, verdict: Verdict) -> str:
    """The values at which a statement fails, or what is left open."""
    if verdict.status is Status.UNKNOWN:
        return verdict.text
    axes = {**part.values, **(verdict.point.values if verdict.point else {})}
    shown = [f"{name} = {'none' if value is None else value}" for name, value in axes.items()]
    return f"false at {', '.join(shown)}"


def finding(
    plan: Plan, regime: RegimePlan, statement: Statement, obligation: Obligation
) -> Diagnostic:
    """The finding for a statement that was not proved."""
    refuted = obligation.status is Status.REFUTED
    verb = "is" if refuted else "could not be proved:"
    why = f" ({statement.why})" if statement.why else ""
    return plan.spec.diagnostic(
        "KG420" if refuted else "KG421",
        f"regime {regime.name}: {statement.says} {verb} {obligation.evidence}{why}",
        "regimes",
        regime.index,
        hint=_advice(regime, statement, refuted),
        severity=Severity.FINDING,
    )


def _advice(regime: RegimePlan, statement: Statement, refuted: bool) -> str:
    """The parameters of the regime that the statement depends on."""
    if not refuted:
        return "nothing is known to be wrong; a narrower axis range may make it provable"
    variant = regime.template.variant
    expr = statement.goal
    for name, derived in reversed(variant.let.items()):
        expr = substitute(expr, {name: expression(derived.value)})
    keys = [variant.parameters[name].key for name in variant.parameters if name in names(expr)]
    return (
        f"change {', '.join(keys)}, or narrow the regime"
        if keys
        else "narrow the axes or the regime"
    )
