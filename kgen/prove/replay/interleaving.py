"""How two accesses that nothing orders come to stand the other way round, for people."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.prove.replay.trace import Access, Barrier, Trace

RELEASES = ("acq_rel", "release")
ACQUIRES = ("acq_rel", "acquire")
WIDE = ("gpu", "sys")
"""Scopes that reach the programs of other blocks."""


def interleaving(first: Trace, position: int, second: Trace, until: int) -> str:
    """Why event `position` of the program that ran first may come after event `until` of the other, and what then is.

    The first event that would have kept the order is named: a barrier after the access, the release of an atomic, its
    acquire by the other program.
    """
    early, late = first.events[position], second.events[until]
    return (
        f"{_missing(first, position, second, until)}, so the {early.kind} of line {early.line} of program "
        f"{first.program} may reach memory after line {late.line} of program {second.program}"
    )


def _missing(first: Trace, position: int, second: Trace, until: int) -> str:
    early = first.events[position]
    counted = next(_atomics(first, position + 1, len(first.events)), None)
    if counted is None:
        return f"program {first.program} counts itself nowhere after line {early.line}"
    at, atomic = counted
    if not any(isinstance(event, Barrier) for event in first.events[position + 1 : at]):
        return f"no barrier stands between line {early.line} and the atomic in line {atomic.line}"
    if atomic.scope not in WIDE:
        return f"the atomic in line {atomic.line} orders nothing beyond its own block"
    if atomic.order not in RELEASES:
        return f"the atomic in line {atomic.line} is {atomic.order} and does not release"
    seen = [one for _, one in _atomics(second, 0, until) if one.tensor == atomic.tensor]
    if not seen:
        return f"program {second.program} looks at no {atomic.tensor} before line {second.events[until].line}"
    if all(one.order not in ACQUIRES for one in seen):
        return f"the atomic in line {seen[-1].line} is {seen[-1].order} and does not acquire"
    return f"the two meet at no element of {atomic.tensor}"


def _atomics(trace: Trace, start: int, stop: int) -> Iterator[tuple[int, Access]]:
    for position in range(start, stop):
        event = trace.events[position]
        if isinstance(event, Access) and event.kind == "atomic":
            yield position, event
