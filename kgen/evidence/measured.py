"""The analysis of a record, from its raw samples.

A candidate's time of a round is the median of its turn, its time at a shape the median over rounds. Where its fallback
serves a shape it stands for the baseline: its ratio to the baseline is 1 by definition, whatever was measured, and its
ratio to the incumbent is the baseline's.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from kgen.evidence import analysis
from kgen.evidence.analysis import Aggregate, Analysis, Row, share, verdict, with_alike
from kgen.evidence.intervals import LEVEL, Ratio, log_ratios, ratio, simultaneous
from kgen.evidence.plain import digest
from kgen.evidence.record import Candidate, Record, Shape

BY_DEFINITION = Ratio(1.0, 1.0, 1.0, 0)
"""The ratio of two that both stand for the baseline."""

ABOVE = 1.05
"""A share of the measured read ceiling that nothing reaches which reads its inputs from memory."""


def analyse(record: Record) -> Analysis:
    """What a record shows; it depends on the record alone. Needs numpy and scipy."""
    samples = _Samples(record)
    void = _void(record, samples)
    rows: list[Row] = []
    for shape in record.shapes:
        rows += with_alike([_row(samples, one, shape, void) for one in record.candidates])
    aggregates = with_alike([_aggregate(samples, one, void) for one in record.candidates])
    judged = record.of_role("candidate")
    return Analysis(
        tuple(rows),
        aggregates,
        void,
        record.incomplete,
        tuple(_unchecked(record, judged)) if judged else (),
        tuple(_held(record, judged)) if judged else (),
    )


class _Samples:
    """The times of a record by candidate, shape and round, and their ratios."""

    def __init__(self, record: Record):
        self.record = record
        self._seed = digest(record.text())
        self._rounds: dict[tuple[str, str], dict[int, float]] = {}
        for turn in record.turns:
            rounds = self._rounds.setdefault((turn.candidate, turn.shape), {})
            rounds[turn.round] = median(turn.seconds)

    def seconds(self, name: str, shape: Shape) -> float | None:
        """The median time of a call; None if there is none."""
        rounds = self._rounds.get((name, shape.name))
        return median(rounds.values()) if rounds else None

    def ratio(self, one: Candidate, other: Candidate | None, *shapes: Shape) -> Ratio | None:
        """How many times faster `one` is than `other` over shapes; None where a shape has no pairs."""
        if other is None or one == other or not shapes:
            return None
        logs = [self._logs(one, other, shape) for shape in shapes]
        told = [found for found in logs if found is not None]
        if not all(told):
            return None
        if not told:
            return BY_DEFINITION
        level = LEVEL
        if one.role == "again" and len(shapes) == 1:
            # one of many shapes would leave out 1 by chance, and one is enough to void the run
            level = simultaneous(len(self.record.shapes))
        seed = "\n".join([self._seed, one.name, other.name, *(shape.name for shape in shapes)])
        ones = len(logs) - len(told)
        return ratio(told, self.record.settings.floor, seed, level, ones)

    def comparable(self, one: Candidate, other: Candidate | None, shape: Shape) -> bool:
        """Whether there is a ratio at a shape."""
        return other is not None and self._logs(one, other, shape) != []

    def _logs(self, one: Candidate, other: Candidate, shape: Shape) -> list[float] | None:
        """log(other / one) of each round; None where both stand for the baseline."""
        mine, theirs = self._stand_in(one, shape), self._stand_in(other, shape)
        if mine == theirs:
            return None
        rounds = [self._rounds.get((name, shape.name), {}) for name in (theirs, mine)]
        return log_ratios(*rounds)

    def _stand_in(self, one: Candidate, shape: Shape) -> str:
        """The name of the candidate whose times count for `one`."""
        baseline = self.record.of_role("baseline")
        return baseline.name if baseline and one.name in shape.fallback else one.name


def _row(samples: _Samples, one: Candidate, shape: Shape, void: str) -> Row:
    record = samples.record
    seconds = samples.seconds(one.name, shape)
    to_baseline = samples.ratio(one, record.of_role("baseline"), shape)
    read = share(shape.bytes, seconds, record.limits.read_bytes_per_s)
    return Row(
        one.name,
        one.role,
        shape.name,
        seconds,
        to_baseline,
        samples.ratio(one, record.of_role("incumbent"), shape),
        read,
        share(shape.operations, seconds, record.limits.matmul_flops_per_s),
        _row_word(samples, one, shape, void) or verdict(to_baseline),
        tuple(_marks(record, one, shape, read)),
        _flags(record, one, shape),
        (),
    )


def _row_word(samples: _Samples, one: Candidate, shape: Shape, void: str) -> str:
    """Why a row has no verdict of its own; empty if it has one."""
    record = samples.record
    if one.unavailable:
        return "not run"
    if _flags(record, one, shape):
        return "flagged"
    if any(f.candidate == one.name and f.shape in ("", shape.name) for f in record.failures):
        return "failed"
    fallback = one.name in shape.fallback
    if samples.seconds(one.name, shape) is None and not fallback:
        return "not measured"
    if any(_unchecked(record, one, shape)):
        return "unchecked"
    if fallback:
        return analysis.FALLBACK
    return one.role if one.role in ("baseline", "again") else void and "void"


def _aggregate(samples: _Samples, one: Candidate, void: str) -> Aggregate:
    record = samples.record
    baseline = record.of_role("baseline")
    counted = [
        shape
        for shape in record.shapes
        if one == baseline or samples.comparable(one, baseline, shape)
    ]
    to_baseline = samples.ratio(one, baseline, *counted)
    return Aggregate(
        one.name,
        one.role,
        to_baseline,
        samples.ratio(one, record.of_role("incumbent"), *counted),
        tuple(shape.name for shape in record.shapes if shape not in counted),
        _word(record, one, void) or verdict(to_baseline),
        (),
    )


def _word(record: Record, one: Candidate, void: str) -> str:
    """Why an aggregate has no verdict of its own; empty if it has one."""
    if one.unavailable:
        return "not run"
    if _flags(record, one):
        return "flagged"
    if any(failure.candidate == one.name for failure in record.failures):
        return "failed"
    if any(_unchecked(record, one)):
        return "unchecked"
    if one.role in ("baseline", "again"):
        return one.role
    return void and "void" or record.incomplete and analysis.INCOMPLETE


def _void(record: Record, samples: _Samples) -> str:
    """Why nothing may be concluded; empty if something may be."""
    baseline, again = record.of_role("baseline"), record.of_role("again")
    if baseline is None:
        return "there is no baseline"
    if baseline.unavailable:
        return f"the baseline could not run: {baseline.unavailable}"
    reasons = [*_held(record, baseline), *_unchecked(record, baseline)]
    if reasons:
        return f"the baseline is not sound: {reasons[0]}"
    if again is None:
        return "the baseline was not run a second time"
    reasons = [*_held(record, again), *_unchecked(record, again)]
    if reasons:
        return f"the baseline is not sound in its second run: {reasons[0]}"
    timed = [shape for shape in record.shapes if samples.seconds(baseline.name, shape)]
    if not timed:
        return "the baseline has no times"
    for name, shapes in (*((one.name, (one,)) for one in timed), ("all shapes together", timed)):
        reason = analysis.unlike_itself(name, samples.ratio(again, baseline, *shapes))
        if reason:
            return reason
    return ""


def _flags(record: Record, one: Candidate, shape: Shape | None = None) -> tuple[str, ...]:
    """Flags of a candidate, at one shape or anywhere, each once."""
    return tuple(
        dict.fromkeys(
            found.flag
            for found in record.flags
            if found.candidate == one.name and (shape is None or found.shape in ("", shape.name))
        )
    )


def _held(record: Record, one: Candidate) -> Iterator[str]:
    """What is held against a candidate, in words."""
    for flag in record.flags:
        if flag.candidate == one.name:
            yield f"{flag.flag} at {flag.shape or 'all shapes'}: {flag.message}"
    for failure in record.failures:
        if failure.candidate == one.name:
            yield f"{failure.what} at {failure.shape or 'all shapes'}: {failure.message}"


def _unchecked(record: Record, one: Candidate, shape: Shape | None = None) -> Iterator[str]:
    """What of a candidate's correctness was not shown, at one shape or at all.

    The judged file has to be right at every shape, the others where they have times. One that is only compared with may
    be as inexact as it declares, beyond that it is flagged; and not every probe can be run of one whose arguments are
    objects of a library.
    """
    needed = {turn.shape for turn in record.turns if turn.candidate == one.name}
    if one.role == "candidate":
        needed = {found.name for found in record.shapes}
    compared = one.role not in ("candidate", "incumbent")
    enough = {"passed"} | ({"failed"} if compared and one.tolerance is not None else set())
    for name in (found.name for found in record.shapes if found.name in needed):
        if shape is not None and name != shape.name:
            continue
        for when in ("before", "after"):
            statuses = _statuses(record, one, name, when)
            if compared and statuses & enough:
                statuses = statuses - {"not run"}
            if not statuses or not statuses <= enough:
                told = ", ".join(sorted(statuses - {"passed"})) or "not run"
                yield f"the check {when} timing at {name}: {told}"


def _statuses(record: Record, one: Candidate, shape: str, *when: str) -> set[str]:
    return {
        check.status
        for check in record.checks
        if (check.candidate, check.shape) == (one.name, shape) and check.when in when
    }


def _marks(record: Record, one: Candidate, shape: Shape, read: float | None) -> Iterator[str]:
    if one.name in shape.fallback:
        yield analysis.FALLBACK
    if not shape.cold:
        yield analysis.WARM
    if "failed" in _statuses(record, one, shape.name, "before", "after"):
        yield analysis.LESS_EXACT
    if shape.cold and read is not None and read > ABOVE:
        yield analysis.OUT_OF_REACH
