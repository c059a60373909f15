"""What a sweep found, as the text that a person reads and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kgen.cli.table import table
from kgen.evidence.intervals import Ratio
from kgen.spec.text import printable
from kgen.sweep.conclude import Concluded, Core, Row
from kgen.sweep.model import Settings, text

HEADER = ("settings", "time", "to the anchor", "rounds", "")
ALL = "geometric mean of all shapes"
ALIKE = "not distinguishable from the best"
TOLD = 5
"""Failures that are told one by one."""


def report(found: Concluded, present: Core) -> Iterator[str]:
    """The lines of a regime: a table for each shape and one over all of them, then what has no time and why."""
    swept = _swept([one.entry.settings for one in found.overall])
    yield f"{found.spec}, regime {found.regime}, on {found.where}"
    for name, rows in (*found.shapes.items(), (ALL, found.overall)):
        if name == ALL and len(found.shapes) < 2:
            continue
        yield ""
        yield name
        yield from table(HEADER, [_cells(row, present, swept) for row in rows])
    if found.measured > len(found.overall):
        yield f"and {found.measured - len(found.overall)} more, slower on the whole"
    yield ""
    yield (
        f"{found.measured} measured, {len(found.failed)} without a time, {found.untried} not tried; "
        "ratios of the anchor's time, 95 % intervals"
    )
    yield from _failures(found)


def values(found: Concluded, present: Core) -> dict[str, Any]:
    """The same for a program."""
    return {
        "spec": found.spec,
        "regime": found.regime,
        "device": found.where.device,
        "versions": found.where.versions,
        "shapes": {
            name: [_plain(one, present) for one in rows] for name, rows in found.shapes.items()
        },
        "overall": [_plain(one, present) for one in found.overall],
        "measured": found.measured,
        "failed": [
            {"settings": dict(one.entry.settings), "status": one.status, "message": one.message}
            for one in found.failed
        ],
        "not_tried": found.untried,
    }


def ratio_text(found: Ratio) -> str:
    """Such as `1.204x [1.180, 1.229]`."""
    if found.low is None:
        return f"{found.point:.3f}x, no interval"
    return f"{found.point:.3f}x [{found.low:.3f}, {found.high:.3f}]"


def settings_text(settings: Settings, keys: Sequence[str]) -> str:
    """The settings of these keys."""
    return " ".join(f"{key}={text(value)}" for key, value in settings if key in keys)


def _swept(every: Sequence[Settings]) -> list[str]:
    """The keys in which rows differ; all of them where none does."""
    pairs = Counter(pair for settings in every for pair in settings)
    keys = list(dict.fromkeys(key for settings in every for key, _ in settings))
    differing = [k for k in keys if any(pairs[p] < len(every) for p in pairs if p[0] == k)]
    return differing or keys


def _cells(row: Row, present: Core, swept: Sequence[str]) -> list[str | int]:
    time = "-" if row.seconds is None else f"{row.seconds * 1e6:.2f} us"
    words = [_is_present(row, present) and "the spec's", row.alike and ALIKE]
    return [
        settings_text(row.entry.settings, swept),
        time,
        ratio_text(row.ratio),
        row.ratio.rounds,
        ", ".join(filter(None, words)),
    ]


def _is_present(row: Row, present: Core) -> bool:
    return (row.entry.core, row.entry.signature) == present


def _failures(found: Concluded) -> Iterator[str]:
    for one in found.failed[:TOLD]:
        # a candidate's own words: nothing in them may move a cursor, or not be printable at all
        message = printable(one.message.partition("\n")[0])
        settings = settings_text(one.entry.settings, [key for key, _ in one.entry.settings])
        yield f"{one.status}: {settings}: {message}"
    if len(found.failed) > TOLD:
        counts = Counter(one.status for one in found.failed[TOLD:])
        yield "and " + ", ".join(f"{number} more {status}" for status, number in counts.items())


def _plain(row: Row, present: Core) -> dict[str, Any]:
    return {
        "settings": dict(row.entry.settings),
        "core": row.entry.core,
        "seconds": row.seconds,
        "ratio": row.ratio.point,
        "low": row.ratio.low,
        "high": row.ratio.high,
        "rounds": row.ratio.rounds,
        "present": _is_present(row, present),
        "alike": row.alike,
        "trials": list(row.ids),
    }
