"""What receipts say of two files: how many times faster one is than the other, with what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from kgen.diff.model import Measured, Side
from kgen.evidence.analysis import Row
from kgen.evidence.intervals import Ratio, log_ratios, ratio
from kgen.evidence.ledger import UNSOUND, Entry, device_of
from kgen.evidence.plain import digest
from kgen.evidence.receipts import Receipt
from kgen.evidence.record import Candidate, Record, Shape
from kgen.render.hashes import core_sha256

Setting = tuple[str, str, str]
"""Device, problem module's hash and shape: what two runs have to share to be about the same calls."""


def measured(a: Side, b: Side, entries: Iterable[Entry]) -> tuple[Measured, ...]:
    """The ratios at each shape, in the order of receipts; a run that timed both needs numpy and scipy.

    Where no run timed both, two that compared them with one and the same baseline give the ratio of their ratios. Void
    runs, and files that a receipt calls flagged, failed or unchecked, are left out.
    """
    cores = core_sha256(a.text), core_sha256(b.text)
    known = [entry for entry in entries if _sound(entry.receipt)]
    together = [one for entry in known for one in _together(entry, cores)]
    done = {(one.device, one.shape) for one in together}
    apart = (one for one in _apart(known, cores) if (one.device, one.shape) not in done)
    return (*together, *apart)


def _sound(receipt: Receipt | None) -> bool:
    return receipt is not None and not receipt.analysis.void and isinstance(receipt.record, Record)


def _together(entry: Entry, cores: tuple[str, str]) -> Iterator[Measured]:
    """The ratios of a run that timed both."""
    record, rows = entry.receipt.record, _rows(entry.receipt)
    a, b = (_candidate(record, core) for core in cores)
    for shape in record.shapes if a and b else ():
        if (a.name, shape.name) in rows and (b.name, shape.name) in rows:
            found = _ratio(record, a, b, shape)
            if found is not None:
                numbers = found.point, found.low, found.high
                yield Measured(device_of(entry.receipt), shape.name, *numbers, (str(entry.path),))


def _rows(receipt: Receipt) -> Mapping[tuple[str, str], Row]:
    """The rows that may be concluded from, by candidate and shape; the baseline's second run is no file of its own."""
    return {
        (row.candidate, row.shape): row
        for row in receipt.analysis.rows
        if row.word not in UNSOUND and row.role != "again" and "fallback" not in row.marks
    }


def _candidate(record: Record, core: str) -> Candidate | None:
    """The candidate that computes what a side does."""
    own = (one for one in record.candidates if one.core_sha256 == core and one.role != "again")
    return next(own, None)


def _ratio(record: Record, a: Candidate, b: Candidate, shape: Shape) -> Ratio | None:
    """How many times faster B is; None without a round that timed both."""
    logs = log_ratios(*(_rounds(record, one, shape) for one in (a, b)))
    seed = "\n".join([digest(record.text()), b.name, a.name, shape.name])
    return ratio([logs], record.settings.floor, seed) if logs else None


def _rounds(record: Record, one: Candidate, shape: Shape) -> dict[int, float]:
    """Seconds a call of each round."""
    return {
        turn.round: median(turn.seconds)
        for turn in record.turns
        if (turn.candidate, turn.shape) == (one.name, shape.name)
    }


def _apart(entries: Iterable[Entry], cores: tuple[str, str]) -> Iterator[Measured]:
    """Ratios of ratios to the same baseline; the latest receipt of each side counts."""
    newest = sorted(entries, key=lambda entry: entry.receipt.record.started)
    a, b = ({k: v for entry in newest for k, v in _to_baseline(entry, core)} for core in cores)
    for (setting, baseline), (two, path) in b.items():
        if (setting, baseline) in a:
            one, before = a[setting, baseline]
            low = two.low / one.high if two.low and one.high else None
            high = two.high / one.low if two.high and one.low else None
            device, _, shape = setting
            yield Measured(device, shape, two.point / one.point, low, high, (before, path))


def _to_baseline(
    entry: Entry, core: str
) -> Iterator[tuple[tuple[Setting, str], tuple[Ratio, str]]]:
    """A side's ratios to the baseline of a run, by what was called and the baseline's core."""
    record = entry.receipt.record
    own, baseline = _candidate(record, core), record.of_role("baseline")
    if own is None or baseline is None:
        return
    for (name, shape), row in _rows(entry.receipt).items():
        if name == own.name and row.to_baseline is not None:
            setting = device_of(entry.receipt), record.problem.sha256, shape
            yield (setting, baseline.core_sha256), (row.to_baseline, str(entry.path))
