"""What a run shows: rows with ratios and words, aggregates, and whether anything may be concluded at all.

`measured` draws it from a record's samples, `imports` from what a remote judge returned; gates and tables read this alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kgen.evidence.intervals import Ratio

FASTER, SLOWER, INCONCLUSIVE = "faster", "slower", "inconclusive"
INCOMPLETE = "incomplete"
UNSOUND = frozenset({"flagged", "failed", "unchecked", "not run", "not measured", "void"})
"""Words of lines whose time shows nothing."""

FALLBACK, WARM, LESS_EXACT, OUT_OF_REACH = "fallback", "warm", "less exact", "above the ceiling"


@dataclass(frozen=True)
class Row:
    """One candidate at one shape.

    `seconds` is its median time of a call, null where it has none. `word` says what the ratio to the baseline shows, or
    why it shows nothing. Shares are of what the device reached in the same run. `alike` names the candidates from which
    it is not distinguishable, `marks` what else a reader should know.
    """

    candidate: str
    role: str
    shape: str
    seconds: float | None
    to_baseline: Ratio | None
    to_incumbent: Ratio | None
    read_share: float | None
    matmul_share: float | None
    word: str
    marks: tuple[str, ...]
    flags: tuple[str, ...]
    alike: tuple[str, ...]


@dataclass(frozen=True)
class Aggregate:
    """Geometric means over all shapes but those `missing`; they say nothing without the rows."""

    candidate: str
    role: str
    to_baseline: Ratio | None
    to_incumbent: Ratio | None
    missing: tuple[str, ...]
    word: str
    alike: tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """Rows in the order of shapes, then candidates.

    `void` says why nothing may be concluded, `incomplete` why something was not measured; empty otherwise. `unchecked`
    says what of the judged file's correctness was not shown, `held` what is held against it.
    """

    rows: tuple[Row, ...]
    aggregates: tuple[Aggregate, ...]
    void: str
    incomplete: str
    unchecked: tuple[str, ...]
    held: tuple[str, ...]

    def row(self, role: str, shape: str) -> Row | None:
        """The row at a shape of a role that only one can have."""
        return next((one for one in self.rows if (one.role, one.shape) == (role, shape)), None)

    def by_fallback(self, candidate: str) -> str:
        """How many shapes a candidate's fallback serves, in words; empty for none."""
        own = [row for row in self.rows if row.candidate == candidate]
        count = sum(FALLBACK in row.marks for row in own)
        return f"{count} of {len(own)} shapes by the fallback" if count else ""

    def rows_of(self, role: str) -> tuple[Row, ...]:
        """The rows of a role that only one can have, in the order of shapes."""
        return tuple(row for row in self.rows if row.role == role)

    def aggregate_of(self, role: str) -> Aggregate | None:
        """The aggregate of a role that only one can have."""
        return next((one for one in self.aggregates if one.role == role), None)


def verdict(to_baseline: Ratio | None) -> str:
    """What a ratio to the baseline shows."""
    if to_baseline is None:
        return "not measured"
    if to_baseline.low is None:
        return "no interval"
    if to_baseline.includes_one:
        return INCONCLUSIVE
    return FASTER if to_baseline.point > 1 else SLOWER


def share(amount: int | None, seconds: float | None, ceiling: float | None) -> float | None:
    """Of a ceiling, by what has to be moved or computed at least; None where something is not known."""
    if not amount or not seconds or not ceiling:
        return None
    return amount / seconds / ceiling


def unlike_itself(shape: str, again: Ratio | None) -> str:
    """Why a run is void by the baseline's ratio to itself; empty if it is not."""
    if again is None or again.low is None:
        return f"the baseline has no interval against itself at {shape}"
    if again.includes_one:
        return ""
    return (
        f"the baseline against itself is {again.point:.3f} at {shape}, "
        f"with an interval of {again.low:.3f} to {again.high:.3f} that leaves out 1"
    )


Line = TypeVar("Line", Row, Aggregate)


def with_alike(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Each line with the candidates whose interval overlaps its own; `lines` are about the same shapes."""
    return tuple(
        replace(one, alike=tuple(two.candidate for two in lines if _same(one, two)))
        for one in lines
    )


def _same(one: Line, two: Line) -> bool:
    concluded = {one.word, two.word} <= {FASTER, SLOWER, INCONCLUSIVE}
    compared = {one.role, two.role} <= {"candidate", "incumbent", "peer"}
    return one is not two and concluded and compared and one.to_baseline.overlaps(two.to_baseline)
