"""Gates: what has to hold before a file replaces the best one so far, and the decision that follows.

Without an incumbent the gates are against the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kgen.evidence.analysis import FALLBACK, UNSOUND, Aggregate, Analysis, Row
from kgen.evidence.defaults import MAX_REGRESSION, MIN_GAIN
from kgen.evidence.intervals import Ratio

DIGITS = 9
"""Decimals that count in a comparison; what is beyond them comes from the logarithms."""


@dataclass(frozen=True)
class Requirements:
    """Shares: 0.03 is 3 %. The aggregate gains at least `min_gain`; no shape takes more than `max_regression` longer."""

    min_gain: float = MIN_GAIN
    max_regression: float = MAX_REGRESSION

    @property
    def senseless(self) -> str:
        """Which of them is no share, in words; empty if both are."""
        for name, value in (("min_gain", self.min_gain), ("max_regression", self.max_regression)):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value <= 1:
                return f"the gate {name} is {value!r}; it takes a share from 0 to 1, such as 0.03"
        return ""


@dataclass(frozen=True)
class Gate:
    """One gate with its numbers; `reason` says them in words. A number is null where there is none to compare."""

    name: Literal["run", "flags", "correct", "measured", "gain", "interval", "regression"]
    required: float | None
    found: float | None
    status: Literal["passed", "failed", "not applicable"]
    reason: str


@dataclass(frozen=True)
class Decision:
    """`promoted` if every gate passed, `rejected` if one failed, `closed` if nothing could be concluded.

    What is held against a file holds in a void run too; only times mean nothing there.
    """

    decision: Literal["promoted", "rejected", "closed"]
    reason: str


def requirements(
    manifest: Mapping[str, Any], min_gain: float | None = None, max_regression: float | None = None
) -> Requirements:
    """What a manifest's `gates` ask for, each replaced by what the command line says; defaults where neither does."""
    given = {"min_gain": min_gain, "max_regression": max_regression}
    own = manifest.get("gates", {})
    own = own if isinstance(own, Mapping) else {}
    known = {name: own[name] for name in given if name in own}
    return Requirements(**{**known, **{n: one for n, one in given.items() if one is not None}})


def judged(analysis: Analysis, requirements: Requirements) -> tuple[Gate, ...]:
    """Every gate, in the order in which they are shown."""
    if analysis.aggregate_of("candidate") is None:
        raise ValueError("there is no candidate to judge")
    return (
        _run(analysis),
        _none_of("flags", analysis.held, "nothing is held against it"),
        _none_of("correct", analysis.unchecked, "every check before and after timing passed"),
        _measured(analysis),
        *_speed(analysis, requirements),
    )


def decide(gates: tuple[Gate, ...]) -> Decision:
    """What follows from gates."""
    failed = [gate for gate in gates if gate.status == "failed"]
    names = {gate.name for gate in failed}
    if "run" in names and "flags" not in names:
        return Decision("closed", failed[0].reason)
    if failed:
        return Decision("rejected", "; ".join(f"{gate.name}: {gate.reason}" for gate in failed))
    return Decision("promoted", "every gate passed")


def _run(analysis: Analysis) -> Gate:
    reason = analysis.void and f"the run is void: {analysis.void}"
    if not reason and analysis.incomplete:
        reason = f"the run is incomplete: {analysis.incomplete}"
    if reason:
        return Gate("run", None, None, "failed", reason)
    if analysis.aggregate_of("again") is None:
        reason = "whether the baseline is as fast as itself was not told"
        return Gate("run", None, None, "not applicable", reason)
    return Gate("run", None, None, "passed", "the baseline is as fast as itself")


def _none_of(name: Literal["flags", "correct"], found: tuple[str, ...], none: str) -> Gate:
    if not found:
        return Gate(name, 0.0, 0.0, "passed", none)
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return Gate(name, 0.0, float(len(found)), "failed", found[0] + more)


def _measured(analysis: Analysis) -> Gate:
    """Whether every shape counts, for the candidate and for what it is compared with."""
    for one in (analysis.aggregate_of("candidate"), analysis.aggregate_of("incumbent")):
        if one is not None and (one.missing or one.to_baseline is None):
            told = ", ".join(one.missing[:3]) or "any shape"
            reason = f"{one.candidate} has no ratio at {told}"
            return Gate("measured", 0.0, float(max(1, len(one.missing))), "failed", reason)
    incumbent = analysis.aggregate_of("incumbent")
    if incumbent is not None and incumbent.word in UNSOUND:
        reason = (
            f"the incumbent {incumbent.candidate} is {incumbent.word}, so its times mean nothing"
        )
        return Gate("measured", 0.0, 1.0, "failed", reason)
    return Gate("measured", 0.0, 0.0, "passed", "every shape has a ratio")


def _speed(analysis: Analysis, required: Requirements) -> Iterator[Gate]:
    if analysis.void:
        for name in ("gain", "interval", "regression"):
            yield Gate(name, None, None, "not applicable", "nothing is concluded from a void run")
        return
    candidate, incumbent = map(analysis.aggregate_of, ("candidate", "incumbent"))
    against = "the incumbent" if incumbent else "the baseline"
    served = analysis.by_fallback(candidate.candidate)
    yield _gain(_compared(candidate, incumbent), required.min_gain, against, served)
    yield _interval(candidate, _rival(analysis), against)
    yield _regression(analysis, required.max_regression, bool(incumbent), against)


def _compared(one: Aggregate, incumbent: Aggregate | None) -> Ratio | None:
    return one.to_incumbent if incumbent else one.to_baseline


def _gain(found: Ratio | None, min_gain: float, against: str, served: str) -> Gate:
    required = 1 + min_gain
    if found is None:
        return Gate("gain", required, None, "failed", f"there is no ratio to {against}")
    held = round(found.point, DIGITS) >= round(required, DIGITS)
    word = "reaches" if held else "is below"
    number = f"{found.point:.4f} with {served}" if served else f"{found.point:.4f}"
    reason = f"the aggregate against {against}, {number}, {word} {required:.4f}"
    return Gate("gain", required, found.point, _status(held), reason)


def _rival(analysis: Analysis) -> Aggregate | None:
    """Whose interval has to be exceeded: the incumbent's, or the baseline's against itself.

    That is the interval of its second run; a remote judge tells none, and then it is what its own times' intervals make.
    """
    rivals = map(analysis.aggregate_of, ("incumbent", "again", "baseline"))
    return next((one for one in rivals if one is not None), None)


def _interval(candidate: Aggregate, other: Aggregate | None, against: str) -> Gate:
    """Whether the intervals of both, each against the baseline, lie apart."""
    mine, theirs = candidate.to_baseline, other and other.to_baseline
    if None in (mine, theirs) or mine.low is None or theirs.high is None:
        return Gate("interval", None, None, "failed", f"it or {against} has no interval")
    held = round(mine.low, DIGITS) > round(theirs.high, DIGITS)
    word = "above" if held else "not above"
    reason = f"its lower end {mine.low:.4f} is {word} the upper end {theirs.high:.4f} of {against}"
    if other.role == "baseline":
        reason += " to itself, by the intervals of its own times"
    return Gate("interval", theirs.high, mine.low, _status(held), reason)


def _regression(analysis: Analysis, allowed: float, incumbent: bool, against: str) -> Gate:
    rows = analysis.rows_of("candidate")
    ratios = [(row.to_incumbent if incumbent else row.to_baseline, row) for row in rows]
    required = 1 / (1 + allowed)
    missing = [row.shape for found, row in ratios if found is None]
    if missing or not ratios:
        reason = f"there is no ratio to {against} at {', '.join(missing[:3]) or 'any shape'}"
        return Gate("regression", required, None, "failed", reason)
    worst, row = min(((found.point, row) for found, row in ratios), key=lambda one: one[0])
    held = round(worst, DIGITS) >= round(required, DIGITS)
    lost = 1 / worst - 1
    took = f"takes {abs(lost):.2%} {'more' if lost > 0 else 'less'} time"
    if FALLBACK in row.marks:
        took = f"is served by the fallback: {_times(analysis, row, incumbent)}, and counts as the baseline, {worst:.3f}"
    reason = (
        f"the worst shape against {against}, {row.shape}, {took}; {allowed:.2%} more is allowed"
    )
    return Gate("regression", required, worst, _status(held), reason)


def _times(analysis: Analysis, row: Row, incumbent: bool) -> str:
    """What a row took, and what it is compared with there."""
    others = analysis.rows_of("incumbent" if incumbent else "baseline")
    other = next((one.seconds for one in others if one.shape == row.shape), None)
    told = (
        "an unknown time" if one is None else f"{one * 1e6:.2f} us" for one in (row.seconds, other)
    )
    return "it takes {} against {}".format(*told)


def _status(held: bool) -> Literal["passed", "failed"]:
    return "passed" if held else "failed"
