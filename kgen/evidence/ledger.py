"""What receipts say together: which verify, what is best, what was tried.

Everything is derived from the files every time, so that branches with other receipts merge by adding files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgen.evidence.analysis import UNSOUND, Row
from kgen.evidence.intervals import Ratio
from kgen.evidence.plain import Misfit, ReadingError, parse
from kgen.evidence.receipts import Receipt, parse_receipt
from kgen.evidence.record import Record
from kgen.evidence.sources import file_bytes, is_stale, stale, subject


@dataclass(frozen=True)
class Entry:
    """One file of the ledger: a receipt, a test receipt as plain data, or why it is none.

    `text` is None where the file can't be read.
    """

    path: Path
    text: str | None
    receipt: Receipt | None = None
    test: dict[str, Any] | None = None
    unreadable: ReadingError | None = None


def entries(places: Iterable[Path]) -> list[Entry]:
    """Every receipt in folders, at any depth, and in files; in the order of their paths, each once."""
    files: set[Path] = set()
    for place in places:
        found = place.rglob("*.json") if place.is_dir() else [place]
        files.update(found)
    return [_entry(path) for path in sorted(files)]


def _entry(path: Path) -> Entry:
    try:
        text = file_bytes(path).decode(errors="surrogateescape")
    except OSError as error:
        misfit = Misfit("", f"a file that cannot be read ({error.strerror})", "a receipt")
        return Entry(path, None, unreadable=ReadingError([misfit]))
    try:
        data = parse(text)
        if isinstance(data, dict) and data.get("kind") == "test":
            return Entry(path, text, test=data)
        return Entry(path, text, receipt=parse_receipt(text))
    except ReadingError as error:
        return Entry(path, text, unreadable=error)


@dataclass(frozen=True)
class Attempt:
    """One line of the log."""

    started: str
    path: str
    problem: str
    device: str
    candidate: str
    to_baseline: Ratio | None
    to_incumbent: Ratio | None
    decision: str
    reason: str
    stale: bool


def log(found: Iterable[Entry], root: Path) -> list[Attempt]:
    """Every attempt, in the order of time: promoted, rejected, void, failed and imported."""
    attempts = [_attempt(one, root) for one in found if one.receipt]
    return sorted(attempts, key=lambda one: (one.started, one.path))


def _attempt(entry: Entry, root: Path) -> Attempt:
    receipt = entry.receipt
    record, aggregate = receipt.record, receipt.analysis.aggregate_of(subject(receipt))
    decision = receipt.decision
    void = receipt.analysis.void and f"void: {receipt.analysis.void}"
    incomplete = receipt.analysis.incomplete and f"incomplete: {receipt.analysis.incomplete}"
    return Attempt(
        record.started,
        str(entry.path),
        problem_of(receipt),
        device_of(receipt),
        aggregate.candidate if aggregate else "",
        aggregate and aggregate.to_baseline,
        aggregate and aggregate.to_incumbent,
        decision.decision if decision else "measured",
        decision.reason if decision else void or incomplete,
        is_stale(receipt, root),
    )


@dataclass(frozen=True)
class Best:
    """The fastest file that a receipt shows for a shape on a device."""

    problem: str
    shape: str
    device: str
    candidate: str
    role: str
    marks: tuple[str, ...]
    seconds: float
    to_baseline: Ratio | None
    path: str


def best(found: Iterable[Entry], root: Path) -> list[Best]:
    """The fastest at each shape on each device, by time of a call.

    It takes no row of a void or an incomplete run, none that is flagged, failed, unchecked or not measured, none of a stale
    receipt, and none whose own file has changed since. What a reader should know of a row stays with it in `marks`.
    Times of other runs were taken at other moments: a close second may be as fast.
    """
    fastest: dict[tuple[str, str, str], Best] = {}
    for one in (one for entry in found if entry.receipt for one in _sound(entry, root)):
        key = (one.problem, one.shape, one.device)
        if key not in fastest or one.seconds < fastest[key].seconds:
            fastest[key] = one
    return [fastest[key] for key in sorted(fastest)]


def _sound(entry: Entry, root: Path) -> Iterator[Best]:
    receipt = entry.receipt
    found = receipt.analysis
    if found.void or found.incomplete or is_stale(receipt, root):
        return
    changed = stale(receipt, root)
    for row in receipt.analysis.rows:
        sound = row.word not in UNSOUND and row.candidate not in changed
        if sound and row.role != "again" and row.seconds is not None:
            yield _best(receipt, row, str(entry.path))


def _best(receipt: Receipt, row: Row, path: str) -> Best:
    return Best(
        problem_of(receipt),
        row.shape,
        device_of(receipt),
        row.candidate,
        row.role,
        row.marks,
        row.seconds,
        row.to_baseline,
        path,
    )


def problem_of(receipt: Receipt) -> str:
    """The name of what is computed; also that of the receipts' folder."""
    record = receipt.record
    return record.problem.name if isinstance(record, Record) else record.problem


def device_of(receipt: Receipt) -> str:
    """The GPU's name."""
    record = receipt.record
    return record.environment.device if isinstance(record, Record) else record.device
