"""Knobs of a plan beside the integers that the environment sets in its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.algebra import Status
from kgen.plan.model import Plan
from kgen.plan.obligation import Obligation
from kgen.prove.host.terms import compare, name, number
from kgen.prove.host.trace import Known, Trace
from kgen.prove.host.values import Setting

SUBJECT = "knobs"


def known(settings: Mapping[str, Setting]) -> Iterator[Known]:
    """What holds of them wherever a function of the file runs."""
    for own, one in settings.items():
        for condition in (
            compare("<=", number(one.low), name(own)),
            compare("<=", name(own), number(one.high)),
        ):
            yield Known(condition, (one.line,))


def knobs(plan: Plan, trace: Trace) -> Iterator[Obligation]:
    """That each knob of the plan is read from its variable, with its default, and held within its range."""
    for own, knob in plan.knobs.items():
        says = f"{own} is {knob.default}, or what {knob.variable} holds, from {knob.low} to {knob.high}"
        found = trace.module.knobs.get(own)
        if found is None:
            evidence = f"no line is understood that reads {own}"
            yield Obligation("", SUBJECT, says, Status.UNKNOWN, evidence)
            continue
        wanted = (knob.variable, knob.default, knob.low, knob.high)
        same = (found.variable, found.default, found.low, found.high) == wanted
        evidence = f"line {found.line}: {found}"
        status = Status.PROVED if same else Status.REFUTED
        yield Obligation("", SUBJECT, says, status, evidence, found.line)
