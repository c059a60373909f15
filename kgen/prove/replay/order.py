"""Which accesses of one element by two programs nothing orders.

Programs of a launch run at the same time. What one writes and another touches is ordered only along
this chain: the write, a barrier of the writer's threads, an atomic with release semantics, later on
the same counter an atomic with acquire semantics of the other program, its access. Atomics on one
element form one chain, so that a release is seen by every later acquire on it, and what was seen is
passed on (`two-level` counters). An atomic that is weaker, or of a narrower scope than the GPU,
neither publishes nor sees.

The barrier is needed because Triton issues a scalar atomic from one thread without one before it:
the other threads' stores would not be covered (Triton's lowering of `tl.atomic_add`). After it none
is needed: its result reaches the other threads through shared memory, behind a barrier.

A launch sees all of the launch before it, unless it is dependent (PDL): then only after `gdc_wait`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kgen.prove.replay.interleaving import ACQUIRES, RELEASES, WIDE, interleaving
from kgen.prove.replay.model import Instance, Program
from kgen.prove.replay.trace import Access, Barrier, DependencyWait, Trace


@dataclass(frozen=True)
class Clock:
    """How many events of each program, by its turn, are visible: loads and stores, and atomics.

    An atomic is done by the thread that releases, so that it needs no barrier to be visible.
    """

    blocks: dict[int, int] = field(default_factory=dict)
    atomics: dict[int, int] = field(default_factory=dict)

    def merge(self, other: Clock) -> None:
        """Sees what `other` sees."""
        for mine, theirs in ((self.blocks, other.blocks), (self.atomics, other.atomics)):
            for turn, count in theirs.items():
                mine[turn] = max(mine.get(turn, 0), count)


@dataclass(frozen=True)
class Unordered:
    """An access that nothing orders after another program's access of the same element."""

    tensor: str
    launch: int
    line: int
    program: Program
    text: str


def unordered(instance: Instance, launches: tuple[tuple[Trace, ...], ...]) -> tuple[Unordered, ...]:
    """All such accesses, the first element of each as an example."""
    found: list[Unordered] = []
    for number, traces in enumerate(launches):
        found += _Launch(instance, number, traces).races()
        if number and instance.launches[number].dependent:
            found += _too_early(instance, number, launches[number - 1], traces)
    return tuple(found)


class _Launch:
    """The programs of one launch, replayed event by event in the order in which they ran."""

    def __init__(self, instance: Instance, number: int, traces: tuple[Trace, ...]):
        self._instance = instance
        self._number = number
        self._traces = traces
        written = {a.tensor for trace in traces for a in trace.accesses if a.kind != "load"}
        self._shared = [tensor for tensor in instance.tensors if tensor.name in written]
        self._writer = {t.name: np.full(t.size, -1) for t in self._shared}
        self._written_at = {t.name: np.zeros(t.size, dtype=np.int64) for t in self._shared}
        self._reader = {t.name: np.full(t.size, -1) for t in self._shared}
        self._read_at = {t.name: np.zeros(t.size, dtype=np.int64) for t in self._shared}
        self._published: dict[tuple[str, int], Clock] = {}
        self._atomics: dict[tuple[str, int], dict[int, int]] = {}

    def races(self) -> Iterator[Unordered]:
        """Goes through all events once."""
        for turn, trace in enumerate(self._traces):
            seen = Clock()
            complete = 0
            for position, event in enumerate(trace.events):
                if isinstance(event, Barrier):
                    complete = position
                elif isinstance(event, Access) and event.tensor in self._writer:
                    yield from self._access(turn, trace, position, event, seen)
                    self._record(turn, position, event)
                    if event.kind == "atomic":
                        self._synchronise(turn, position, event, seen, complete)

    def _access(
        self, turn: int, trace: Trace, position: int, access: Access, seen: Clock
    ) -> Iterator[Unordered]:
        """Conflicts of this access with earlier ones of other programs."""
        name, elements = access.tensor, access.elements
        checks = [(self._writer, self._written_at, "written")]
        if access.kind == "store":
            checks.append((self._reader, self._read_at, "read"))
        for owners, times, done in checks:
            found = self._late(elements, owners[name], times[name], turn, seen)
            if found is not None:
                yield self._unordered(trace, position, access, *found, done)
                return
        if access.kind != "atomic":
            found = self._late_atomic(access, turn, seen)
            if found is not None:
                yield self._unordered(trace, position, access, *found, "counted at")

    def _late(
        self, elements: np.ndarray, owners: np.ndarray, times: np.ndarray, turn: int, seen: Clock
    ) -> tuple[int, int, int] | None:
        """An element, the program that accessed it without this one knowing, and by which event."""
        owner = owners[elements]
        for other in np.unique(owner[(owner >= 0) & (owner != turn)]).tolist():
            lanes = owner == other
            late = times[elements[lanes]] >= seen.blocks.get(other, 0)
            if late.any():
                element = int(elements[lanes][np.argmax(late)])
                return element, other, int(times[element])
        return None

    def _late_atomic(self, access: Access, turn: int, seen: Clock) -> tuple[int, int, int] | None:
        """The same for atomics of other programs."""
        if not any(name == access.tensor for name, _ in self._atomics):
            return None
        for element in np.unique(access.elements).tolist():
            for other, position in self._atomics.get((access.tensor, element), {}).items():
                if other != turn and position >= seen.atomics.get(other, 0):
                    return element, other, position
        return None

    def _record(self, turn: int, position: int, access: Access) -> None:
        name, elements = access.tensor, access.elements
        if access.kind == "load":
            self._reader[name][elements], self._read_at[name][elements] = turn, position
        elif access.kind == "store":
            self._writer[name][elements], self._written_at[name][elements] = turn, position
        else:
            for element in elements.tolist():
                self._atomics.setdefault((name, element), {})[turn] = position

    def _synchronise(
        self, turn: int, position: int, access: Access, seen: Clock, complete: int
    ) -> None:
        """What the atomic sees of earlier ones on its elements, and publishes to later ones."""
        if access.scope not in WIDE:
            return
        for element in np.unique(access.elements).tolist():
            published = self._published.setdefault((access.tensor, element), Clock())
            if access.order in ACQUIRES:
                seen.merge(published)
            if access.order in RELEASES:
                published.merge(seen)
                published.merge(Clock({turn: complete}, {turn: position + 1}))

    def _unordered(
        self,
        trace: Trace,
        position: int,
        access: Access,
        element: int,
        other: int,
        before: int,
        done: str,
    ) -> Unordered:
        where = self._instance.tensor(access.tensor).show(element)
        verb = {"load": "reads", "store": "writes", "atomic": "changes"}[access.kind]
        text = (
            f"line {access.line}: program {trace.program} of {trace.function} {verb} {where}, "
            f"{done} by program {self._traces[other].program}, and nothing orders the two: "
            f"{interleaving(self._traces[other], before, trace, position)}"
        )
        return Unordered(access.tensor, self._number, access.line, trace.program, text)


def _too_early(
    instance: Instance, number: int, before: tuple[Trace, ...], traces: tuple[Trace, ...]
) -> Iterator[Unordered]:
    """The first access of each program of a dependent launch, ahead of its wait, that clashes."""
    written = _touched(before, ("store", "atomic"))
    read = _touched(before, ("load",))
    for trace in traces:
        for event in trace.events:
            if isinstance(event, DependencyWait):
                break
            if not isinstance(event, Access):
                continue
            element = _clash(event, [written] if event.kind == "load" else [written, read])
            if element is not None:
                where = instance.tensor(event.tensor).show(element)
                text = (
                    f"line {event.line}: program {trace.program} of {trace.function} touches "
                    f"{where} without having waited for {before[0].function}, which uses it too"
                )
                yield Unordered(event.tensor, number, event.line, trace.program, text)
                break


def _clash(access: Access, used: list[dict[str, np.ndarray]]) -> int | None:
    """An element that the access shares with one of these."""
    for elements in used:
        common = np.intersect1d(access.elements, elements.get(access.tensor, np.zeros(0, int)))
        if common.size:
            return int(common[0])
    return None


def _touched(traces: tuple[Trace, ...], kinds: tuple[str, ...]) -> dict[str, np.ndarray]:
    found: dict[str, list[np.ndarray]] = {}
    for trace in traces:
        for access in trace.accesses:
            if access.kind in kinds:
                found.setdefault(access.tensor, []).append(access.elements)
    return {name: np.unique(np.concatenate(parts)) for name, parts in found.items()}
