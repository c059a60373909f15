"""What all programs of an instance did together, counted per element, and what of it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgen.prove.replay.model import Instance, Kind, Program, Reads, TensorSpec
from kgen.prove.replay.order import Unordered, unordered
from kgen.prove.replay.trace import Access, AccessKind, Opaque, OutOfRange, Reached, Trace


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, with what shows it.

    `line` is 0 and `program` None where no access is to blame.
    """

    kind: Kind
    tensor: str
    launch: int
    line: int
    program: Program | None
    text: str


@dataclass(frozen=True)
class Change:
    """An element of state that the call leaves changed; `now` is None for data."""

    tensor: str
    element: int
    now: int | float | bool | None
    before: int | float | bool


@dataclass(frozen=True, eq=False)
class Report:
    """The traces of every launch in the order in which programs ran, and changed state."""

    instance: Instance
    launches: tuple[tuple[Trace, ...], ...]
    changed: tuple[Change, ...]

    def traces(self) -> Iterator[tuple[int, Trace]]:
        """Each trace with the number of its launch."""
        for number, traces in enumerate(self.launches):
            for trace in traces:
                yield number, trace

    def counts(self, tensor: str, kind: AccessKind) -> np.ndarray:
        """How often each element was accessed, in the tensor's shape."""
        spec = self.instance.tensor(tensor)
        accesses = (access for _, trace in self.traces() for access in trace.accesses)
        found = [a.elements for a in accesses if a.tensor == tensor and a.kind == kind]
        return _counted(found, spec).reshape(spec.extents)

    def at(
        self, tensor: str, element: int, kind: AccessKind
    ) -> tuple[tuple[int, Program, int], ...]:
        """Who accessed an element, once for each time: (launch, program, line)."""
        return tuple(
            (number, trace.program, access.line)
            for number, trace in self.traces()
            for access in trace.accesses
            if access.tensor == tensor and access.kind == kind
            for _ in range(int((access.elements == element).sum()))
        )

    @property
    def opaque(self) -> tuple[Opaque, ...]:
        """Uses of data without values: about these accesses nothing is claimed."""
        return tuple(dict.fromkeys(use for _, trace in self.traces() for use in trace.opaque))

    @cached_property
    def unordered(self) -> tuple[Unordered, ...]:
        """Accesses of the same element by two programs with nothing that orders them."""
        return unordered(self.instance, self.launches)

    def findings(self, reads: Iterable[Reads] = ()) -> Iterator[Finding]:
        """Everything that is wrong, single accesses first.

        `reads` says which elements have to be read, and by whom.
        """
        for number, trace in self.traces():
            yield from findings_of(self.instance, number, trace)
        for spec in self.instance.tensors:
            if spec.role == "output":
                yield from self._wrong_stores(spec)
            elif spec.role == "input":
                yield from self._stores_to_input(spec)
        for wanted in reads:
            yield from self._wrong_reads(wanted)
        for spec in self.instance.tensors:
            # integers, as those of a schedule, have values here: what reads them wrongly is seen by what it does
            if spec.role == "scratch" and not spec.dtype.startswith("i"):
                yield from self._wrongly_consumed(spec)
        for race in self.unordered:
            yield Finding("unordered", race.tensor, race.launch, race.line, race.program, race.text)
        for change in self.changed:
            where = self.instance.tensor(change.tensor).show(change.element)
            now = "data" if change.now is None else change.now
            text = f"{where} is left as {now}; it was {change.before} before the call"
            yield Finding("left changed", change.tensor, len(self.launches) - 1, 0, None, text)

    def rewritten(self) -> Iterator[Finding]:
        """The first element of each scratch that one launch stores twice: its reader may find the one value or the other."""
        for spec in self.instance.tensors:
            if spec.role not in ("scratch", "updated"):
                continue
            for number, traces in enumerate(self.launches):
                stores = [
                    (trace.program, access)
                    for trace in traces
                    for access in trace.accesses
                    if access.tensor == spec.name and access.kind == "store"
                ]
                counts = _counted([access.elements for _, access in stores], spec)
                if (counts > 1).any():
                    yield _twice(spec, number, int(np.argmax(counts > 1)), stores)

    def _stores_to_input(self, spec: TensorSpec) -> Iterator[Finding]:
        written = self.counts(spec.name, "store").reshape(-1) > 0
        if written.any():
            element = int(np.argmax(written))
            launch, program, line = self.at(spec.name, element, "store")[0]
            text = f"{spec.show(element)} of an input is written by program {program}"
            yield Finding("input written", spec.name, launch, line, program, text)

    def _wrong_stores(self, spec: TensorSpec) -> Iterator[Finding]:
        """The first element that is never written, and the first that is written more than once."""
        counts = self.counts(spec.name, "store") + self.counts(spec.name, "atomic")
        counts = counts.reshape(-1)
        if (counts == 0).any():
            text = f"{spec.show(int(np.argmax(counts == 0)))} is written never"
            yield Finding("never written", spec.name, 0, 0, None, text)
        if (counts > 1).any():
            element = int(np.argmax(counts > 1))
            writers = (
                *self.at(spec.name, element, "store"),
                *self.at(spec.name, element, "atomic"),
            )
            who = "; ".join(f"program {program}, line {line}" for _, program, line in writers[:4])
            text = f"{spec.show(element)} is written {int(counts[element])} times ({who})"
            yield Finding("written twice", spec.name, *_place(writers[0]), text)

    def _wrongly_consumed(self, spec: TensorSpec) -> Iterator[Finding]:
        """The first element of scratch that is stored and not read, and the first that is read more than once."""
        stored = self.counts(spec.name, "store").reshape(-1) > 0
        read = self.counts(spec.name, "load").reshape(-1)
        for wrong in (stored & (read == 0), stored & (read > 1)):
            if wrong.any():
                element = int(np.argmax(wrong))
                launch, program, line = self.at(spec.name, element, "store")[0]
                text = (
                    f"{spec.show(element)}, which program {program} stores in line {line}, "
                    f"is read {int(read[element])} times, not once"
                )
                yield Finding("consumed wrongly", spec.name, launch, line, program, text)

    def _wrong_reads(self, wanted: Reads) -> Iterator[Finding]:
        """Of each group of programs the first element that it reads too often, or too seldom."""
        spec = self.instance.tensor(wanted.tensor)
        for group, accesses in self._groups(wanted).items():
            counts = _counted([access.elements for _, access in accesses], spec)
            expected = wanted.expected(group)
            due = np.zeros(spec.size, dtype=int)
            due[expected] = wanted.times or max(1, int(counts[expected].max(initial=0)))
            wrong = counts != due
            if not wrong.any():
                continue
            element = int(np.argmax(wrong))
            readers = [(t, a) for t, a in accesses if (a.elements == element).any()]
            program, line = (readers[0][0].program, readers[0][1].line) if readers else (None, 0)
            name = wanted.describe(group, element) if wanted.describe else spec.show(element)
            text = (
                f"{name} is read {counts[element]} times, not {due[element]}, "
                f"by programs {_shown(wanted, group)}"
            )
            yield Finding("read wrongly", spec.name, wanted.launch, line, program, text)

    def _groups(self, wanted: Reads) -> dict[tuple[int, ...], list[tuple[Trace, Access]]]:
        """The loads of the tensor by each group of programs, also of groups without any."""
        grid = self.instance.launches[wanted.launch].grid
        keys = np.ndindex(*(grid[axis] for axis in wanted.per))
        found: dict[tuple[int, ...], list[tuple[Trace, Access]]] = {key: [] for key in keys}
        for trace in self.launches[wanted.launch]:
            mine = found[tuple(trace.program[axis] for axis in wanted.per)]
            for access in trace.accesses:
                if access.tensor == wanted.tensor and access.kind == "load":
                    mine.append((trace, access))
        return found


def findings_of(instance: Instance, launch: int, trace: Trace) -> Iterator[Finding]:
    """What is wrong with single accesses of one program."""
    program = trace.program
    who = f"program {program} of {trace.function}"
    for found in trace.out_of_range:
        spec = instance.tensor(found.tensor)
        text = f"line {found.line}: {who} {_beyond(spec, found)}"
        yield Finding("out of range", spec.name, launch, found.line, program, text)
    for reached in trace.reached:
        line = reached.wrap.line
        text = f"line {line}: {who}: {reached.wrap}, and becomes part of {_use(reached)}"
        kind = "no value" if reached.wrap.exact is None else "wraps"
        yield Finding(kind, "", launch, line, program, text)
    for missing in trace.uninitialised:
        where = instance.tensor(missing.tensor).show(missing.element)
        text = f"line {missing.line}: {who} reads {where}, which nothing has written"
        yield Finding("uninitialised", missing.tensor, launch, missing.line, program, text)
    for broken in trace.broken:
        text = f"line {broken.line}: {who}: {broken.text}"
        yield Finding("broken promise", "", launch, broken.line, program, text)


def _counted(accessed: list[np.ndarray], spec: TensorSpec) -> np.ndarray:
    """How often each element occurs."""
    if not accessed:
        return np.zeros(spec.size, dtype=int)
    return np.bincount(np.concatenate(accessed), minlength=spec.size)


def _twice(
    spec: TensorSpec, launch: int, element: int, stores: Sequence[tuple[Program, Access]]
) -> Finding:
    """That an element is stored more than once by these stores."""
    writers = [
        (program, access.line)
        for program, access in stores
        for _ in range(int((access.elements == element).sum()))
    ]
    who = "; ".join(f"program {program}, line {line}" for program, line in writers[:4])
    text = f"{spec.show(element)} is written {len(writers)} times ({who})"
    program, line = writers[0]
    return Finding("written twice", spec.name, launch, line, program, text)


def _place(writer: tuple[int, Program, int]) -> tuple[int, int, Program]:
    launch, program, line = writer
    return launch, line, program


def _shown(wanted: Reads, group: tuple[int, ...]) -> str:
    """A group of programs: `(0, *, *)` are those whose first coordinate is 0."""
    axes = dict(zip(wanted.per, group, strict=True))
    return "(" + ", ".join(str(axes.get(axis, "*")) for axis in range(3)) + ")"


def _use(reached: Reached) -> str:
    article = "an" if reached.use == "address" else "a"
    return f"{article} {reached.use} at line {reached.line}"


def _beyond(spec: TensorSpec, found: OutOfRange) -> str:
    """What was done where: `reads x at offset 5, past its last (elements 5, strides 1)`."""
    verb = {"load": "reads", "store": "writes", "atomic": "changes"}[found.kind]
    last = sum((dim.extent - 1) * dim.stride for dim in spec.dims)
    where = "between its rows"
    if found.offset < 0:
        where = "before its first element"
    elif found.offset > last:
        where = "past its last"
    extents = " x ".join(map(str, spec.extents)) or "1"
    strides = ", ".join(str(dim.stride) for dim in spec.dims) or "none"
    return (
        f"{verb} {spec.name} at offset {found.offset}, {where} "
        f"(elements {extents}, strides {strides})"
    )
