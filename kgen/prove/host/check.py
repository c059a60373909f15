"""All that is proved about the host code of an emitted file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.algebra import Status
from kgen.judges import profile
from kgen.plan.model import Plan
from kgen.plan.obligation import Obligation
from kgen.prove.host.closing import Closing
from kgen.prove.host.facts import Enforced
from kgen.prove.host.facts import enforced as enforced_facts
from kgen.prove.host.knobs import knobs
from kgen.prove.host.launches import launches, returns
from kgen.prove.host.safety import safety
from kgen.prove.host.statements import walk
from kgen.prove.host.trace import Trace
from kgen.render.model import Launcher

FACTS = "facts are enforced"


@dataclass(frozen=True)
class HostProof:
    """Obligations, and for each launcher the facts that its kernels' proofs may assume."""

    obligations: tuple[Obligation, ...]
    enforced: Mapping[str, tuple[Enforced, ...]]


def prove_host(source: str, plan: Plan, launchers: Sequence[Launcher]) -> HostProof:
    """Checks the text of an emitted file against the plan that it was made from.

    Raises SyntaxError for what is no Python, and LookupError where it has no entry with the plan's
    arguments.
    """
    trace = _trace(source, plan)
    closing = Closing(plan)
    found = list(safety(trace, [one.function for one in launchers]))
    found += returns(plan, launchers, closing, trace)
    found += knobs(plan, trace)
    kept: dict[str, tuple[Enforced, ...]] = {}
    for launcher in launchers:
        found += launches(plan, launcher, closing, trace)
        kept[launcher.function] = enforced_facts(plan, launcher, closing, trace)
        found += [_as_obligation(launcher.function, one) for one in kept[launcher.function]]
    entry = profile(plan.judge).entry
    return HostProof(tuple(_placed(one, trace, entry) for one in found), kept)


def enforced(
    source: str, plan: Plan, launchers: Sequence[Launcher]
) -> Mapping[str, tuple[Enforced, ...]]:
    """For each launcher, every fact that proofs assume, with the line of the entry that enforces
    it.

    Raises what `prove_host` raises.
    """
    trace = _trace(source, plan)
    closing = Closing(plan)
    return {one.function: enforced_facts(plan, one, closing, trace) for one in launchers}


def _trace(source: str, plan: Plan) -> Trace:
    return walk(source, profile(plan.judge).entry, plan.arguments, plan.scalars)


def _as_obligation(launcher: str, one: Enforced) -> Obligation:
    where = f"line {one.line}: " if one.line else ""
    evidence = f"{where}{one.evidence}"
    return Obligation(
        launcher, FACTS, one.fact.says, one.status, evidence, certificates=one.certificates
    )


def _placed(one: Obligation, trace: Trace, entry: str) -> Obligation:
    """What is open needs a line to look at: where the entry calls the launcher, or where the entry begins."""
    if one.status is Status.PROVED or one.line:
        return one
    calls = trace.calls(one.regime)
    defined = trace.module.functions
    if calls:
        line = calls[0][0].lines[0]
    else:
        line = defined[one.regime if one.regime in defined else entry].lineno
    return replace(one, line=line)
