"""Regimes among each other: they cover every axis value, each gets some, and overlaps are said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgen.algebra import (
    Formula,
    LowerError,
    Space,
    SpaceError,
    Status,
    conjunction,
    contradictory,
    decide,
    defined,
    find_point,
    lower_condition,
    space_of,
)
from kgen.diagnostics import Diagnostic, Severity
from kgen.expr import Expr, fold, is_literal
from kgen.expr.substitute import negated
from kgen.plan.domain import Range, Slice, declared
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.obligation import Obligation
from kgen.plan.statements import Variable


def places(plan: Plan) -> Iterator[tuple[Obligation, Diagnostic | None]]:
    """That regimes cover all axis values, that each gets some, and which ones overlap."""
    domain = declared(plan.spec.axes.values())
    named = {name: value for name, (value, _) in plan.constants.items()}
    earlier: list[RegimePlan] = []
    for regime in plan.regimes:
        if regime.when is None:
            says = "every axis value has a regime"
            evidence = "the last one is `otherwise`"
            if regime.aligned:
                evidence += ", which refuses tensors that are not aligned"
            yield Obligation(regime.name, "regimes cover", says, Status.PROVED, evidence), None
            if not regime.fallback and plan.spec.document.interface.outside == "fallback":
                yield _refusing(plan, regime)
            continue
        yield _has_value(plan, regime, list(domain.slices(named)))
        own = domain.where(regime.when, *(negated(one.when) for one in earlier))
        yield _reached(plan, regime, list(own.slices(named)))
        for one in earlier:
            both = domain.where(one.when, regime.when)
            point = _point(both.slices(named))
            if point:
                yield _overlap(plan, one, regime, point)
        earlier.append(regime)


def _has_value(
    plan: Plan, regime: RegimePlan, slices: list[Slice]
) -> tuple[Obligation, Diagnostic | None]:
    """That the condition can be computed at every axis value: the dispatcher computes it there."""
    says = "its condition has a value everywhere"
    for part in slices:
        status, evidence = _defined(fold(regime.when, part.values), part)
        if status is not Status.PROVED:
            finding = plan.spec.diagnostic(
                "KG429",
                f"the condition of regime {regime.name} has no value at {evidence}",
                "regimes",
                regime.index,
                "when",
                hint="test for it before: `B > 1 and 64 // (B - 1) >= 1`",
                severity=Severity.FINDING,
            )
            return Obligation(regime.name, "regimes are reached", says, status, evidence), finding
    return (
        Obligation(regime.name, "regimes are reached", says, Status.PROVED, "no divisor is 0"),
        None,
    )


def _defined(condition: Expr, part: Slice) -> tuple[Status, str]:
    if is_literal(condition):
        return Status.PROVED, ""
    try:
        variables = [Variable(name, span.low, span.high) for name, span in _bounded(part)]
        space, meanings = space_of(variables)
        verdict = decide(space, defined(condition, space, meanings))
    except (LowerError, SpaceError) as error:
        return Status.UNKNOWN, f"some axis value: {error}"
    values = {**part.values, **(verdict.point.values if verdict.point else {})}
    shown = ", ".join(f"{name} = {'none' if v is None else v}" for name, v in values.items())
    return verdict.status, shown


def _refusing(plan: Plan, regime: RegimePlan) -> tuple[Obligation, Diagnostic]:
    finding = plan.spec.diagnostic(
        "KG425",
        f"nothing serves what lies outside the declared axes: the last regime, {regime.name}, is no fallback",
        "regimes",
        regime.index,
        hint="end with a regime that has fallback: generic, or write outside: raise, which is what happens",
        severity=Severity.INFO,
    )
    says = "calls outside the declared axes are refused"
    return Obligation(regime.name, "regimes cover", says, Status.PROVED, "no fallback"), finding


def _reached(
    plan: Plan, regime: RegimePlan, slices: list[Slice]
) -> tuple[Obligation, Diagnostic | None]:
    says = "some axis value gets here"
    point = _point(slices)
    if point:
        return (
            Obligation(
                regime.name, "regimes are reached", says, Status.PROVED, f"for example {point}"
            ),
            None,
        )
    impossible = all(_contradictory(part) for part in slices)
    status = Status.REFUTED if impossible else Status.UNKNOWN
    message = "no axis value gets to" if impossible else "no axis value was found that gets to"
    finding = plan.spec.diagnostic(
        "KG423",
        f"{message} regime {regime.name}: earlier regimes or the axes leave it nothing",
        "regimes",
        regime.index,
        "when",
        hint="move it up, or remove it",
        severity=Severity.FINDING,
    )
    return (
        Obligation(regime.name, "regimes are reached", says, status, "no value of the axes"),
        finding,
    )


def _overlap(
    plan: Plan, first: RegimePlan, second: RegimePlan, point: str
) -> tuple[Obligation, Diagnostic | None]:
    finding = plan.spec.diagnostic(
        "KG424",
        f"regimes {first.name} and {second.name} both match {point}; {first.name} comes first and wins",
        "regimes",
        second.index,
        "when",
        severity=Severity.INFO,
    )
    says = f"where {first.name} matches too, it wins"
    return Obligation(second.name, "regimes overlap", says, Status.PROVED, point), finding


def _point(slices: Iterable[Slice]) -> str:
    """Axis values inside one of the slices, or nothing."""
    for part in slices:
        try:
            space, formula = _stated(part)
        except (LowerError, SpaceError):
            continue
        found = find_point(space, formula)
        if found is not None:
            values = {**part.values, **found.values}
            return ", ".join(
                f"{name} = {'none' if value is None else value}" for name, value in values.items()
            )
    return ""


def _contradictory(part: Slice) -> bool:
    try:
        return contradictory(*_stated(part)) is not None
    except (LowerError, SpaceError):
        return False


def _stated(part: Slice) -> tuple[Space, Formula]:
    """The slice's ranges as a space, and its conditions as a formula."""
    space, meanings = space_of(
        [Variable(name, span.low, span.high) for name, span in _bounded(part)]
    )
    return space, conjunction(*(lower_condition(one, space, meanings) for one in part.conditions))


def _bounded(part: Slice) -> Iterator[tuple[str, Range]]:
    """The ranges of a slice with its listed values put in."""
    for name, span in part.ranges.items():
        yield name, Range(fold(span.low, part.values), fold(span.high, part.values))
