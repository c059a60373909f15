"""What a sweep expects before anything is measured: a ranking where the model's word was confirmed, else none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kgen.cli.report import Report
from kgen.cli.table import table
from kgen.sweep.prepare import Prepared
from kgen.sweep.rendered import Source
from kgen.sweep.trust import Trust, confirmations, listed, trusted

SHOWN = 10
"""Candidates that a person is shown at a shape."""

HEADER = ("place", "settings", "estimated us", "spill bytes")


def estimates(report: Report, source: Source, family: str, ready: Sequence[Prepared]) -> None:
    """For each regime and shape the candidates by estimate; those of a variant whose estimates are not confirmed by
    measured runs have no place in it.
    """
    report.values["estimate"] = []
    for one in ready:
        trust = _trust(source, family, one)
        counts = Counter("refused" if each.refused else "compiled" for each in one.best())
        told = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
        spilling = sum(each.spill_bytes > 0 for each in one.best())
        report.say(f"{one.regime}: {told}, {spilling} of them spill")
        for each in trust.values():
            report.say(each.note)
        shapes = {shape.name: _rows(one, shape.name, trust) for shape in one.ranking.shapes}
        for name, rows in shapes.items():
            report.say(f"{one.regime}, {name}")
            for line in table(HEADER, [list(row.values()) for row in rows[:SHOWN]]):
                report.say(line)
        report.values["estimate"].append(
            {
                "regime": one.regime,
                **counts,
                "spilling": spilling,
                "notes": {name: each.note for name, each in trust.items()},
                "shapes": shapes,
            }
        )


def _trust(source: Source, family: str, one: Prepared) -> dict[str, Trust]:
    """By variant."""
    recorded = confirmations()
    variants = dict.fromkeys(each.ranked.candidate.variant for each in one.best())
    return {name: trusted(source.templates.find(family, name), recorded) for name in variants}


def _rows(one: Prepared, shape: str, trust: Mapping[str, Trust]) -> list[dict[str, Any]]:
    """One for each candidate that compiled; a place and an estimate only where its variant's are confirmed."""
    known = {each.ranked.candidate: each for each in one.best() if not each.refused}
    order = listed([each.ranked for each in known.values()], shape, trust)
    return [
        {
            "place": place if trust[each.candidate.variant].confirmed else None,
            "settings": str(each.candidate),
            "microseconds": (
                each.at(shape).seconds * 1e6 if trust[each.candidate.variant].confirmed else None
            ),
            "spill_bytes": known[each.candidate].spill_bytes,
        }
        for place, each in enumerate(order, 1)
    ]
