"""One statement over the whole domain of a regime: the verdict, and the finding that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Set
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
from kgen.expr import EvalError, evaluate, is_literal, names
from kgen.expr.substitute import substitute
from kgen.plan.instances import Instance, instances, part_counts, value_of
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.obligation import Obligation
from kgen.plan.statements import Statement
from kgen.plan.variant import expression

STEPS = 40_000
"""The effort for one statement. Most take a few dozen steps; parts of a window take the most."""


def prove(plan: Plan, regime: RegimePlan, statement: Statement) -> Obligation:
    """The statement over every slice of the regime's domain; the worst verdict counts.

    What is proved still has to be confirmed by sympy: `evidence` says that it is.
    """
    certificates = []
    named = (regime.name, statement.subject, statement.says)
    for instance in instances(plan, regime, statement):
        verdict = _decide(instance)
        if verdict.status is not Status.PROVED:
            evidence = _where(instance, verdict)
            if verdict.status is Status.REFUTED and not statement.exact:
                evidence = _reached(plan, regime, statement, instance) or evidence
            return Obligation(*named, verdict.status, evidence)
        if verdict.certificate is not None:
            certificates.append(verdict.certificate)
    steps = sum(len(one.steps) for one in certificates)
    evidence = f"certificate of {steps} steps, checked twice" if steps else "by evaluation"
    return Obligation(*named, Status.PROVED, evidence, certificates=tuple(certificates))


def _decide(instance: Instance) -> Verdict:
    goal = instance.goal
    if is_literal(goal):
        holds = bool(evaluate(goal, {}))
        return Verdict(Status.PROVED if holds else Status.REFUTED, "by evaluation")
    try:
        space, meanings = space_of(instance.variables)
        given = conjunction(
            *(lower_condition(condition, space, meanings) for condition in instance.conditions)
        )
        return decide_formula(space, lower_condition(goal, space, meanings), given, steps=STEPS)
    except (LowerError, SpaceError) as error:
        return Verdict(Status.UNKNOWN, str(error))


def _where(instance: Instance, verdict: Verdict) -> str:
    """The values at which a statement fails, or what is left open."""
    if verdict.status is Status.UNKNOWN:
        return verdict.text
    return f"false at {instance.shown(verdict.point.values if verdict.point else {})}"


def _reached(plan: Plan, regime: RegimePlan, statement: Statement, general: Instance) -> str:
    """The axes that lead to such a number of parts, where it stood for itself in the proof; empty where it did not."""
    parts = part_counts(regime) & names(general.goal)
    here = (general.case, general.part)
    for exact in instances(plan, regime, replace(statement, exact=True)) if parts else ():
        verdict = _decide(exact) if (exact.case, exact.part) == here else None
        if verdict is not None and verdict.status is Status.REFUTED and verdict.point is not None:
            return _where(exact, verdict) + _counts(parts, regime, exact, verdict.point.values)
    return ""


def _counts(parts: Set[str], regime: RegimePlan, exact: Instance, point: Mapping[str, int]) -> str:
    """How many parts these axes make; nothing where it does not matter, so that the point leaves it open."""
    try:
        counts = [f"{name} is {value_of(name, regime, exact, point)}" for name in sorted(parts)]
    except EvalError:
        return ""
    return f", where {' and '.join(counts)}"


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
