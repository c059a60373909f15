"""Plan checks: what can be known of a file before it is rendered, each with a verdict and its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kgen.algebra import (
    LowerError,
    SpaceError,
    Status,
    Verdict,
    conjunction,
    contradictory,
    decide,
    find_point,
    lower_condition,
    space_of,
)
from kgen.diagnostics import Diagnostic, Severity
from kgen.expr import Expr, evaluate, fold, is_literal, names, parse
from kgen.expr.substitute import negated, substitute
from kgen.plan.domain import Range, Slice, declared
from kgen.plan.groups import chosen, contiguous_stride
from kgen.plan.model import Case, Plan, RegimePlan
from kgen.plan.statements import Statement, Variable, statements


@dataclass(frozen=True)
class Obligation:
    """One thing that was to be proved. `evidence` says how it was, or where it fails, or what is left open."""

    regime: str
    subject: str
    says: str
    status: Status
    evidence: str

    def as_json(self) -> dict[str, str]:
        """The obligation as plain data, for the manifest."""
        return {
            "regime": self.regime,
            "subject": self.subject,
            "says": self.says,
            "status": str(self.status),
            "evidence": self.evidence,
        }


@dataclass(frozen=True)
class Checked:
    """All obligations of a plan, and what a person should act on."""

    obligations: tuple[Obligation, ...]
    findings: tuple[Diagnostic, ...]

    @property
    def clean(self) -> bool:
        """Whether everything is proved and nothing is found, information aside."""
        return all(one.severity is Severity.INFO for one in self.findings) and all(
            one.status is Status.PROVED for one in self.obligations
        )


def check(plan: Plan) -> Checked:
    """Proves what can be proved of a plan without rendering it."""
    obligations: list[Obligation] = []
    findings: list[Diagnostic] = []
    for regime in plan.regimes:
        if regime.template is None:
            continue
        for statement in statements(plan, regime):
            obligation = _prove(plan, regime, statement)
            obligations.append(obligation)
            if obligation.status is not Status.PROVED:
                findings.append(_finding(plan, regime, statement, obligation))
        obligations.append(_strides(regime))
        findings += _never_aligned(plan, regime)
    for obligation, finding in _places(plan):
        obligations.append(obligation)
        findings += [finding] if finding else []
    return Checked(tuple(obligations), tuple(findings))


# ---------------------------------------------------------------- one statement


def _prove(plan: Plan, regime: RegimePlan, statement: Statement) -> Obligation:
    """The statement over every slice of the regime's domain; the worst verdict counts."""
    steps = 0
    for case, part in _slices(plan, regime):
        verdict = _decide(regime, statement, case, part)
        if verdict.status is not Status.PROVED:
            return Obligation(regime.name, statement.subject, statement.says, verdict.status, _where(case, part, verdict))
        steps += len(verdict.certificate.steps) if verdict.certificate else 0
    evidence = f"certificate of {steps} steps" if steps else "by evaluation"
    return Obligation(regime.name, statement.subject, statement.says, Status.PROVED, evidence)


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
    axes = [Variable(name, resolved(span.low), resolved(span.high)) for name, span in part.ranges.items()]
    counts = [Variable(name, parse("1"), resolved(parse(most))) for name, most in general.items()]
    own = [replace(one, low=resolved(one.low), high=resolved(one.high)) for one in statement.variables]
    conditions = [*part.conditions, *map(resolved, statement.given)]
    try:
        space, meanings = space_of([*axes, *counts, *own])
        given = conjunction(*(lower_condition(condition, space, meanings) for condition in conditions))
        return decide(space, lower_condition(goal, space, meanings), given)
    except (LowerError, SpaceError) as error:
        return Verdict(Status.UNKNOWN, str(error))


def _parts(regime: RegimePlan) -> Mapping[str, str]:
    """Derived values that stand for any number of parts, with the most there can be."""
    variant = regime.template.variant
    return {one.parts: one.most_parts for one in variant.tiling.values() if one.parts in variant.let}


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


def _finding(plan: Plan, regime: RegimePlan, statement: Statement, obligation: Obligation) -> Diagnostic:
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
        expr = substitute(expr, {name: parse(derived.value)})
    keys = [variant.parameters[name].key for name in variant.parameters if name in names(expr)]
    return f"change {', '.join(keys)}, or narrow the regime" if keys else "narrow the axes or the regime"


# ---------------------------------------------------------------- offsets and alignment


def _strides(regime: RegimePlan) -> Obligation:
    """Products with a stride are computed in 64 bits, because every stride argument is."""
    strides = [a for group in regime.groups for kernel in group.kernels for a in kernel.arguments if a.kind == "stride"]
    narrow = [a.name for a in strides if a.type != "i64"]
    return Obligation(
        regime.name,
        "64 bits where they are needed",
        "no product with a stride is computed in 32 bits",
        Status.REFUTED if narrow else Status.PROVED,
        f"{', '.join(narrow)} are not" if narrow else f"all {len({a.name for a in strides})} stride arguments are i64",
    )


def _never_aligned(plan: Plan, regime: RegimePlan) -> Iterator[Diagnostic]:
    """Information where a contiguous tensor can never meet the alignment that the regime asks for."""
    for group in regime.groups:
        for case in group.cases:
            for name in regime.aligned:
                extent = contiguous_stride(plan.tensor(name), case)
                if extent is not None and extent % 16:
                    yield plan.spec.diagnostic(
                        "KG422",
                        f"regime {regime.name} asks for rows that start at a multiple of 16 elements, and contiguous"
                        f" rows of {name} have {extent}",
                        "regimes",
                        regime.index,
                        hint="set launch.aligned: false where the variant has it; such tensors go to a later regime",
                        severity=Severity.INFO,
                    )


# ---------------------------------------------------------------- regimes among each other


def _places(plan: Plan) -> Iterator[tuple[Obligation, Diagnostic | None]]:
    """That regimes cover all axis values, that each gets some, and which ones overlap."""
    domain = declared(plan.spec.axes.values())
    named = {name: value for name, (value, _) in plan.constants.items()}
    earlier: list[RegimePlan] = []
    for regime in plan.regimes:
        if regime.when is None:
            says = "every axis value has a regime"
            yield Obligation(regime.name, "regimes cover", says, Status.PROVED, "the last one is `otherwise`"), None
            continue
        own = domain.where(regime.when, *(negated(one.when) for one in earlier))
        yield _reached(plan, regime, list(own.slices(named)))
        for one in earlier:
            both = domain.where(one.when, regime.when)
            point = _point(both.slices(named))
            if point:
                yield _overlap(plan, one, regime, point)
        earlier.append(regime)


def _reached(plan: Plan, regime: RegimePlan, slices: list[Slice]) -> tuple[Obligation, Diagnostic | None]:
    says = "some axis value gets here"
    point = _point(slices)
    if point:
        return Obligation(regime.name, "regimes are reached", says, Status.PROVED, f"for example {point}"), None
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
    return Obligation(regime.name, "regimes are reached", says, status, "no value of the axes"), finding


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
        space, meanings = space_of([Variable(name, span.low, span.high) for name, span in _bounded(part)])
        formula = conjunction(*(lower_condition(one, space, meanings) for one in part.conditions))
        found = find_point(space, formula)
        if found is not None:
            values = {**part.values, **found.values}
            return ", ".join(f"{name} = {'none' if value is None else value}" for name, value in values.items())
    return ""


def _contradictory(part: Slice) -> bool:
    space, meanings = space_of([Variable(name, span.low, span.high) for name, span in _bounded(part)])
    formula = conjunction(*(lower_condition(one, space, meanings) for one in part.conditions))
    return contradictory(space, formula) is not None


def _bounded(part: Slice) -> Iterator[tuple[str, Range]]:
    """The ranges of a slice with its listed values put in."""
    for name, span in part.ranges.items():
        yield name, Range(fold(span.low, part.values), fold(span.high, part.values))
