"""Which calls can share one captured graph: those that differ in run-time values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgen.runner.case import Case


def most_telling(cases: Sequence[Case]) -> list[Case]:
    """Cases that differ in run-time values only, if there are such; of those, the most work."""
    groups: dict[object, list[Case]] = {}
    for case in cases:
        groups.setdefault((tuple(case.axes.items()), case.layout), []).append(case)
    return max(groups.values(), key=lambda group: (_varies(group), max(map(_work, group))))


def _varies(group: Sequence[Case]) -> bool:
    return len(group) > 1 or bool(rotations(group[0]))


def _work(case: Case) -> int:
    return sum(map(sum, case.runtime.values()))


def rotations(case: Case) -> list[Case]:
    """The same requests in another order: run-time values are given for each request."""
    requests = max(map(len, case.runtime.values()), default=0)
    return [
        replace(
            case,
            name=f"{case.name}, requests moved by {by}",
            runtime={axis: values[by:] + values[:by] for axis, values in case.runtime.items()},
        )
        for by in range(1, requests)
    ]
