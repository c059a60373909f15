"""CUDA-graph safety of host code, as obligations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.algebra import Status
from kgen.plan.obligation import Obligation
from kgen.prove.host.findings import Finding, Rule
from kgen.prove.host.trace import Trace

SUBJECT = "graph safety"

_MAY_DO_ANYTHING = frozenset({Rule.UNDERSTOOD, Rule.FOREIGN})
_MAY_WAIT = _MAY_DO_ANYTHING | {Rule.OPERATION}
_HIDING = dict.fromkeys(Rule, _MAY_DO_ANYTHING) | dict.fromkeys(
    (Rule.HOST_READ, Rule.ALLOCATION, Rule.CONTROL), _MAY_WAIT
)
"""What a finding under another rule leaves open: an operation of torch may allocate and wait."""


def safety(trace: Trace, launchers: Sequence[str]) -> Iterator[Obligation]:
    """An obligation for each rule: of the entry and its helpers as regime "", and each launcher."""
    others = set(trace.counted) | {one.function for one in trace.findings} | {""}
    yield from _judged(trace, "", others - set(launchers))
    for launcher in launchers:
        yield from _judged(trace, launcher, {launcher})


def _judged(trace: Trace, regime: str, functions: set[str]) -> Iterator[Obligation]:
    findings = trace.of(functions)
    expressions = sum(len(trace.counted.get(one, ())) for one in functions)
    for rule in Rule:
        status, evidence, line = _verdict(rule, findings, expressions)
        yield Obligation(regime, SUBJECT, rule.value, status, evidence, line)


def _verdict(rule: Rule, findings: list[Finding], expressions: int) -> tuple[Status, str, int]:
    """A statement without a rule may do anything, so that nothing is proved beside it."""
    for status in (Status.REFUTED, Status.UNKNOWN):
        found = [one for one in findings if one.rule is rule and one.status is status]
        if found:
            return status, "; ".join(map(str, found)), found[0].line
    hidden = [one for one in findings if one.rule in _HIDING[rule]]
    if hidden:
        return Status.UNKNOWN, str(hidden[0]), hidden[0].line
    if not expressions:
        return Status.UNKNOWN, "the entry never gets there", 0
    return Status.PROVED, f"by a walk through {expressions} expressions", 0
