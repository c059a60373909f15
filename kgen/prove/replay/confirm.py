"""Replays what a proof attempt claims to go wrong."""

from __future__ import annotations

from collections.abc import Iterable

from kgen.prove.replay.model import Claim, Confirmation, Instance, Kind, Reads, Unsupported
from kgen.prove.replay.report import Finding, findings_of
from kgen.prove.replay.run import run_grid, run_program
from kgen.prove.replay.source import same_statement

_SINGLE: frozenset[Kind] = frozenset({"out of range", "wraps", "no value", "broken promise"})
"""Claims that one program shows alone, whatever the others do."""

FEW_STEPS = 30_000
"""Operations of a program that is run alone, where nothing else is tried."""
MOST_PROGRAMS = 4096
MOST_ELEMENTS = 1 << 24


def replay(
    source: str,
    instance: Instance,
    claim: Claim,
    reads: Iterable[Reads] = (),
    *,
    whole: bool = True,
) -> Confirmation | None:
    """What the claimed point really does, or None where nothing of the kind happens.

    A claim about a single access runs the program that it names, with scratch unwritten; where that
    shows nothing (the access may stand in a branch that only the last program enters) and for all
    other claims the whole instance runs, if `whole` allows that. `reads` are the elements that have to be read, for claims
    of the kind "read wrongly".

    Raises Unsupported where the source says something that has no meaning here, or where the
    instance is too large to run whole.
    """
    if claim.kind in _SINGLE and claim.program is not None:
        launch, steps = instance.launches[claim.launch], None if whole else FEW_STEPS
        trace = run_program(source, instance, launch, claim.program, most_steps=steps)
        found = _first(source, claim, findings_of(instance, claim.launch, trace))
        if found is not None:
            return found
    if not whole:
        return None
    _check_size(instance)
    return _first(source, claim, run_grid(source, instance).findings(reads))


def _first(source: str, claim: Claim, findings: Iterable[Finding]) -> Confirmation | None:
    """The first finding that is what the claim says, in its statement and of its tensor where it names them."""
    for finding in findings:
        if (
            finding.kind == claim.kind
            and finding.launch == claim.launch
            and claim.tensor in ("", finding.tensor)
            and (not claim.line or same_statement(source, claim.line, finding.line))
        ):
            return Confirmation(claim, finding.line, finding.program, finding.text)
    return None


def _check_size(instance: Instance) -> None:
    programs = sum(launch.programs for launch in instance.launches)
    elements = max(tensor.size for tensor in instance.tensors)
    if programs > MOST_PROGRAMS or elements > MOST_ELEMENTS:
        raise Unsupported(
            f"the instance has {programs} programs and a tensor of {elements} elements; at most "
            f"{MOST_PROGRAMS} and {MOST_ELEMENTS} are run whole: look for a smaller counterexample"
        )
