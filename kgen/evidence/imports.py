"""Results that a remote judge returned as JSON, read through a mapping that says where in it each thing stands.

A judge tells medians, at best with intervals, and no samples. So ratios are those of medians, and their intervals combine
the two that were told; where a judge tells none there is no interval, and no gate that needs one passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from kgen.evidence.analysis import Aggregate, Analysis, Row, verdict, with_alike
from kgen.evidence.intervals import Ratio, widened
from kgen.evidence.plain import Misfit, digest, read, require
from kgen.evidence.record import plausible

SCHEMA = 1
UNITS: Mapping[str, float] = MappingProxyType({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9})
"""Seconds in a unit of time."""

ROLES = ("candidate", "baseline", "incumbent")


@dataclass(frozen=True)
class Time:
    """Seconds a call, with the judge's own interval; null where it tells none."""

    seconds: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ImportedShape:
    """A row of the judge's table; what it does not time is null."""

    name: str
    candidate: Time | None
    baseline: Time | None
    incumbent: Time | None


@dataclass(frozen=True)
class ImportedCase:
    """A correctness case in the judge's words."""

    name: str
    status: str
    passed: bool


@dataclass(frozen=True)
class Imported:
    """One answer of a remote judge.

    `evaluator` is who judged, `mode` whether the answer counts: a `check` of correctness has no times that count.
    `quota_left` is how many more answers the judge gives, null if it does not say. `file` is the judged file as it was
    sent, its text among `sources`; `result_sha256` and `mapping_sha256` are those of the texts it was read from.
    """

    kind: Literal["import"]
    schema: int
    kgen: str
    started: str
    problem: str
    device: str
    job: str
    evaluator: str
    mode: Literal["check", "scored"]
    quota_left: int | None
    floor: float
    file: str
    bytes_sha256: str
    core_sha256: str
    sources: Mapping[str, str]
    result_sha256: str
    mapping_sha256: str
    shapes: tuple[ImportedShape, ...]
    cases: tuple[ImportedCase, ...]
    flags: tuple[str, ...]


def read_import(data: Any, key: str = "") -> Imported:
    """An import from plain data, checked in itself. Raises `ReadingError` with every misfit."""
    found = read(Imported, data, key)
    require(lambda: _misfits(found, f"{key}." if key else ""))
    return found


def _misfits(found: Imported, key: str) -> Iterator[Misfit]:
    if found.schema != SCHEMA:
        yield Misfit(f"{key}schema", f"the number {found.schema}", str(SCHEMA))
    for sha, text in found.sources.items():
        if digest(text) != sha:
            yield Misfit(f"{key}sources[{sha!r}]", "a text with another hash", "that hash's text")
    if found.bytes_sha256 not in found.sources:
        yield Misfit(f"{key}sources", "no text of the judged file", "the file as it was sent")
    if not 0 <= found.floor < 1:
        yield Misfit(f"{key}floor", f"the number {found.floor}", "a share below 1")
    names = [shape.name for shape in found.shapes]
    for index, shape in enumerate(found.shapes):
        at = f"{key}shapes[{index}]"
        if names.count(shape.name) > 1:
            yield Misfit(f"{at}.name", f"{shape.name!r} once more", "a name of its own")
        for role in ROLES:
            time = getattr(shape, role)
            if time is not None and not _ordered(time):
                found_here = f"{time.seconds} s in [{time.low}, {time.high}]"
                wanted = "low <= seconds <= high, from a picosecond to a day,"
                yield Misfit(f"{at}.{role}", found_here, wanted)


def _ordered(time: Time) -> bool:
    if (time.low is None) != (time.high is None):
        return False
    low, high = (time.seconds, time.seconds) if time.low is None else (time.low, time.high)
    return plausible(low) and plausible(high) and low <= time.seconds <= high


def analyse_import(found: Imported) -> Analysis:
    """What a judge's answer shows."""
    void = _void(found)
    wrong = tuple(f"case {one.name}: {one.status}" for one in found.cases if not one.passed)
    unchecked = () if found.cases else ("the judge tells no case",)
    held = (*found.flags, *wrong)
    word = "flagged" if held else "unchecked" if unchecked else void and "void"
    roles = ["candidate"]
    roles += [role for role in ROLES[1:] if any(getattr(one, role) for one in found.shapes)]
    rows: list[Row] = []
    for shape in found.shapes:
        rows += with_alike([_row(found, shape, role, word) for role in roles])
    aggregates = with_alike([_aggregate(found, role, word) for role in roles])
    return Analysis(tuple(rows), aggregates, void, "", unchecked, held)


def _void(found: Imported) -> str:
    if found.mode != "scored":
        return "the judge only checked the file; no time of it counts"
    if any(shape.baseline for shape in found.shapes):
        return ""
    if any(shape.incumbent for shape in found.shapes):
        return "the judge tells no baseline; let the mapping call the incumbent `baseline`"
    return "the judge tells no baseline"


def _row(found: Imported, shape: ImportedShape, role: str, word: str) -> Row:
    time = getattr(shape, role)
    to_baseline = _ratio(found, role, "baseline", [shape])
    return Row(
        role,
        role,
        shape.name,
        time.seconds if time else None,
        to_baseline,
        _ratio(found, role, "incumbent", [shape]),
        None,
        None,
        _word(role, word, to_baseline, _void(found)),
        (),
        found.flags if role == "candidate" else (),
        (),
    )


def _word(role: str, word: str, to_baseline: Ratio | None, void: str) -> str:
    """What a line says: of the judged file its own word, if it has one."""
    if role == "baseline":
        return role
    return (word if role == "candidate" else void and "void") or verdict(to_baseline)


def _aggregate(found: Imported, role: str, word: str) -> Aggregate:
    counted = [one for one in found.shapes if getattr(one, role) and one.baseline]
    to_baseline = _mean(found, role, "baseline", counted)
    own = _word(role, word, to_baseline, _void(found))
    missing = tuple(shape.name for shape in found.shapes if shape not in counted)
    to_incumbent = _ratio(found, role, "incumbent", counted)
    return Aggregate(role, role, to_baseline, to_incumbent, missing, own, ())


def _ratio(found: Imported, role: str, other: str, shapes: Sequence[ImportedShape]) -> Ratio | None:
    """A role's ratio to another; None to itself."""
    return None if role == other else _mean(found, role, other, shapes)


def _mean(found: Imported, role: str, other: str, shapes: Sequence[ImportedShape]) -> Ratio | None:
    """The geometric mean of a role's ratios to another; independent errors add in squares.

    Of a role to itself it is what two runs with these intervals would tell of each other: 1, and an interval.
    """
    pairs = [(getattr(shape, other), getattr(shape, role)) for shape in shapes]
    if not pairs or any(None in pair for pair in pairs):
        return None
    middle = sum(math.log(theirs.seconds / mine.seconds) for theirs, mine in pairs) / len(pairs)
    point = math.exp(middle)
    if any(time.low is None for pair in pairs for time in pair):
        return Ratio(point, None, None, 0)
    below = [(t.seconds / t.low, m.high / m.seconds) for t, m in pairs]
    above = [(t.high / t.seconds, m.seconds / m.low) for t, m in pairs]
    low, high = (math.sqrt(_squares(sides)) / len(pairs) for sides in (below, above))
    return widened(point, point * math.exp(-low), point * math.exp(high), 0, found.floor)


def _squares(sides: Sequence[tuple[float, float]]) -> float:
    return sum(math.log(factor) ** 2 for pair in sides for factor in pair)
