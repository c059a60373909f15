"""Plan checks: what can be known of a file before it is rendered, each with a verdict and its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from kgen.algebra import Certificate, Status
from kgen.algebra.second import Confirm, at_once
from kgen.diagnostics import Diagnostic, Severity
from kgen.plan.decide import finding, prove
from kgen.plan.kernels import contiguous_stride
from kgen.plan.knobs import unused
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.obligation import Obligation
from kgen.plan.places import places
from kgen.plan.statements import Statement, statements

DISPUTED = "one checker accepts the certificate and sympy does not: a mistake in kgen"
Proved = tuple[RegimePlan, Statement, Obligation]


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
    return begin(plan, at_once)()


def begin(plan: Plan, confirm: Confirm) -> Callable[[], Checked]:
    """The same, while sympy's confirmation, which `confirm` asks for, is on its way: what is returned waits for it."""
    proved = [
        (regime, statement, prove(plan, regime, statement))
        for regime in plan.regimes
        if regime.template is not None
        for statement in statements(plan, regime)
    ]
    answer = confirm([one for _, _, obligation in proved for one in obligation.certificates])
    return lambda: _checked(plan, proved, frozenset(answer.result()))


def _checked(plan: Plan, proved: Iterable[Proved], refused: frozenset[Certificate]) -> Checked:
    """Everything of a plan, where sympy does not confirm the certificates `refused`."""
    obligations: list[Obligation] = []
    findings: list[Diagnostic] = []
    for regime, group in groupby(proved, key=lambda one: one[0]):
        for _, statement, obligation in group:
            if not refused.isdisjoint(obligation.certificates):
                obligation = replace(obligation, status=Status.UNKNOWN, evidence=DISPUTED)
            obligations.append(obligation)
            if obligation.status is not Status.PROVED:
                findings.append(finding(plan, regime, statement, obligation))
        obligations.append(_strides(regime))
        findings += never_aligned(plan, regime)
    findings += unused(plan.spec, plan.knobs.keys())
    for obligation, found in places(plan):
        obligations.append(obligation)
        findings += [found] if found else []
    return Checked(tuple(obligations), tuple(findings))


def _strides(regime: RegimePlan) -> Obligation:
    """Products with a stride are computed in 64 bits, because every stride argument is."""
    strides = [
        a
        for group in regime.groups
        for kernel in group.kernels
        for a in kernel.arguments
        if a.kind == "stride"
    ]
    narrow = [a.name for a in strides if a.type != "i64"]
    return Obligation(
        regime.name,
        "64 bits where they are needed",
        "no product with a stride is computed in 32 bits",
        Status.REFUTED if narrow else Status.PROVED,
        (
            f"{', '.join(narrow)} are not"
            if narrow
            else f"all {len({a.name for a in strides})} stride arguments are i64"
        ),
    )


def never_aligned(plan: Plan, regime: RegimePlan) -> Iterator[Diagnostic]:
    """Where a contiguous tensor can never meet the alignment that the regime asks for.

    It is information where a later regime takes such tensors, and a finding where there is none.
    """
    last = regime is plan.regimes[-1]
    for group in regime.groups:
        for case in group.cases:
            for name in regime.aligned:
                extent = contiguous_stride(plan.tensor(name), case)
                if extent is not None and extent % 16:
                    yield plan.spec.diagnostic(
                        "KG422",
                        f"regime {regime.name} asks for rows that start at a multiple of 16 elements, and contiguous"
                        f" rows of {name} have {extent}"
                        + ("; no later regime takes them" if last else ""),
                        "regimes",
                        regime.index,
                        hint=(
                            "set launch.aligned: false where the variant has it, or end with fallback: generic"
                            if last
                            else "set launch.aligned: false where the variant has it; a later regime takes them"
                        ),
                        severity=Severity.FINDING if last else Severity.INFO,
                    )
