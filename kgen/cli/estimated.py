"""What a sweep expects before anything is measured: a ranking where the model's word was confirmed, else none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kgen.cli.report import Report
from kgen.cli.table import table
from kgen.sweep.model import Compiled
from kgen.sweep.prepare import Prepared
from kgen.sweep.rendered import Source
from kgen.sweep.trust import Trust, confirmations, trusted

RANKED = 10
"""Candidates that are shown at a shape."""

HEADER = ("", "settings", "estimate", "spill bytes")


def estimates(report: Report, source: Source, family: str, ready: Sequence[Prepared]) -> None:
    """For each regime and shape the candidates by estimate; those of a variant whose estimates are not confirmed by
    measured runs are not put in an order.
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
        shapes = {
            shape.name: [
                each
                for each in one.compiled.by_estimate(shape.name)
                if trust[each.ranked.candidate.variant].confirmed
            ]
            for shape in one.ranking.shapes
        }
        for name, best in shapes.items():
            _say(report, f"{one.regime}, {name}", name, best)
        report.values["estimate"].append(
            {
                "regime": one.regime,
                **counts,
                "spilling": spilling,
                "notes": {name: each.note for name, each in trust.items()},
                "shapes": {
                    name: [_plain(each, name) for each in best] for name, best in shapes.items()
                },
            }
        )


def _trust(source: Source, family: str, one: Prepared) -> dict[str, Trust]:
    """By variant."""
    recorded = confirmations()
    variants = dict.fromkeys(each.ranked.candidate.variant for each in one.best())
    return {name: trusted(source.templates.find(family, name), recorded) for name in variants}


def _say(report: Report, title: str, shape: str, best: Sequence[Compiled]) -> None:
    if not best:
        return
    report.say(title)
    rows = [
        [number, str(each.ranked.candidate), _time(each, shape), each.spill_bytes]
        for number, each in enumerate(best[:RANKED], 1)
    ]
    for line in table(HEADER, rows):
        report.say(line)


def _time(one: Compiled, shape: str) -> str:
    return f"{one.ranked.at(shape).seconds * 1e6:.2f} us"


def _plain(one: Compiled, shape: str) -> dict:
    return {
        "settings": dict(one.ranked.candidate.settings),
        "seconds": one.ranked.at(shape).seconds,
        "spill_bytes": one.spill_bytes,
    }
