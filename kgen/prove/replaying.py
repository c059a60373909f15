"""Suspicions to refutations: a point that the proof engine found is made a call of the emitted file, and replayed.

The replay reads the Python source and shares no code with the reading of TTIR, so what both show is really so. What
only the engine shows stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgen.algebra import Point, Poly, Status
from kgen.algebra.definitions import TableEntry
from kgen.algebra.smaller import smaller
from kgen.algebra.valuation import Valuation
from kgen.families.model import DTYPES
from kgen.plan.model import Plan
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import World
from kgen.prove.launchers import LauncherCase
from kgen.prove.obligations.model import Obligation, Suspicion

if TYPE_CHECKING:
    from kgen.prove.replay.host import HostTensor
    from kgen.prove.replay.judge import Seen
    from kgen.prove.replay.report import Finding
    from kgen.render.model import Launcher

KINDS: Mapping[str, tuple[str, ...]] = {
    "bounds": ("out of range", "broken promise"),
    "widths": ("wraps", "no value"),
    "exactly once": ("written twice", "never written", "read wrongly", "consumed wrongly"),
    "initialised": ("uninitialised",),
    "order": ("unordered", "left changed"),
    "inputs": ("input written",),
}
"""What a run of small calls may show of each kind of obligation."""
IN_ITS_LINE = ("bounds", "widths", "initialised")
"""Obligations about one statement, which only what is seen there refutes."""
UNSEEN = ", which no run of the file shows"
"""Of values of the proof engine's own."""


@dataclass
class Replayer:
    """Replays what was suspected of one file. `manifest` tells how to make small calls; without it there are none."""

    text: str
    plan: Plan
    manifest: Mapping[str, Any] | None = None
    _seen: dict[str, _Kept] = field(default_factory=dict)
    _dims: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def learn(self, worlds: Iterable[LauncherCase]) -> None:
        """How the dimensions of tensors are called."""
        for one in worlds:
            self._dims |= {name: tensor.dims for name, tensor in one.world.tensors.items()}

    def refuted(self, one: LauncherCase, obligations: Iterable[Obligation]) -> Iterator[Obligation]:
        """The obligations; those that a replay shows to be false are refuted."""
        for obligation in obligations:
            if obligation.status is Status.UNKNOWN:
                shown = self._shown(one, obligation)
                if shown:
                    obligation = replace(obligation, status=Status.REFUTED, evidence=shown)
                else:
                    beside = UNSEEN if obligation.suspicion is not None else ""
                    beside += self._beside(one, obligation)
                    obligation = replace(obligation, evidence=obligation.evidence + beside)
            yield obligation

    def unstated(
        self, launchers: Iterable[Launcher], found: Sequence[Obligation]
    ) -> Iterator[Obligation]:
        """What small calls show of launchers where something is unknown and nothing was refuted.

        Of a kernel that is not followed, or has another signature than those that are pinned, no obligation says what
        is wrong there.
        """
        for launcher in launchers:
            names = {"", launcher.function, *(kernel.function for kernel in launcher.kernels)}
            own = {one.status for one in found if {one.launcher, one.kernel} <= names}
            if Status.UNKNOWN not in own or Status.REFUTED in own:
                continue
            for kernel in dict.fromkeys(kernel.function for kernel in launcher.kernels):
                seen = next((one for one in self._findings(kernel) if one.function == kernel), None)
                if seen is not None:
                    finding = seen.finding
                    subject = next(one for one, kinds in KINDS.items() if finding.kind in kinds)
                    says = "every small call goes right"
                    head = (launcher.function, kernel, subject, says, Status.REFUTED, str(seen))
                    yield Obligation(*head, finding.line, finding.tensor)

    def _shown(self, one: LauncherCase, obligation: Obligation) -> str:
        """What is seen to go wrong; empty if nothing is."""
        suspicion = obligation.suspicion
        if suspicion is None:
            return self._on_small_calls(one, obligation)
        small = smaller(one.world.space, suspicion.wanted, suspicion.point)
        return (
            self._at_point(one, suspicion, small)
            or self._on_small_calls(one, obligation)
            or self._at_point(one, suspicion, suspicion.point)
        )

    def _at_point(self, one: LauncherCase, suspicion: Suspicion, point: Point) -> str:
        """What goes wrong there, with the strides of the point or with rows apart."""
        calls = (_Call(one, self.plan, point, rows_apart) for rows_apart in (False, True))
        return next(filter(None, (self._in_call(one, suspicion, call) for call in calls)), "")

    def _in_call(self, one: LauncherCase, suspicion: Suspicion, call: _Call) -> str:
        from kgen.prove.replay.confirm import replay
        from kgen.prove.replay.host import capture
        from kgen.prove.replay.model import Claim

        try:
            instance = capture(self.text, call.arguments(), axes=call.axes(), knobs=call.knobs())
            launch = _launch_number(instance, one, suspicion.launch)
            program = call.program(suspicion.programs)
            claim = Claim(suspicion.kind, launch, program, suspicion.tensor, suspicion.line)
            confirmation = replay(self.text, instance, claim, whole=False)
        except Exception:  # a changed file may do anything; what it does here shows nothing
            return ""
        return "" if confirmation is None else f"{confirmation.text}; {call}"

    def _on_small_calls(self, one: LauncherCase, obligation: Obligation) -> str:
        """Small calls of the file that launch the kernel, run whole; what they show must be of the same kind."""
        if obligation.subject not in KINDS:
            return ""
        own = (seen for seen in self._of(one, obligation) if self._fits(obligation, seen.finding))
        return next(map(str, own), "")

    def _beside(self, one: LauncherCase, obligation: Obligation) -> str:
        """What small calls show of the same tensor, and what is another statement's."""
        if not obligation.shown_by or obligation.subject in IN_ITS_LINE:
            return ""
        kinds = KINDS[obligation.subject]
        for seen in self._of(one, obligation):
            if seen.finding.kind in kinds and seen.finding.tensor == obligation.tensor:
                return f"; small calls show something else to be wrong: {seen}"
        return ""

    def _of(self, one: LauncherCase, obligation: Obligation) -> Iterable[Seen]:
        return self._findings(obligation.kernel or one.world.launches[0].function)

    def _findings(self, kernel: str) -> Iterable[Seen]:
        """What is wrong on small calls that launch the kernel."""
        from kgen.prove.replay.judge import findings
        from kgen.prove.replay.scenes import scenes

        if self.manifest is None:
            return ()
        if kernel not in self._seen:
            found = findings(self.text, scenes(self.manifest), kernel, self._dims)
            self._seen[kernel] = _Kept(found)
        return self._seen[kernel]

    def _fits(self, obligation: Obligation, finding: Finding) -> bool:
        """Whether what was seen shows that what was to be proved is false."""
        from kgen.prove.replay.source import same_statement

        if finding.kind not in (obligation.shown_by or KINDS[obligation.subject]):
            return False
        somewhere = obligation.subject not in IN_ITS_LINE or not obligation.line
        there = somewhere or same_statement(self.text, obligation.line, finding.line)
        return there and obligation.tensor in ("", finding.tensor)


class _Kept:
    """What small calls show, run one after another as far as somebody looks, and only once."""

    def __init__(self, found: Iterator[Seen]):
        self._coming, self._kept = found, []

    def __iter__(self) -> Iterator[Seen]:
        yield from self._kept
        while (found := self._next()) is not None:
            self._kept.append(found)
            yield found

    def _next(self) -> Seen | None:
        try:
            return next(self._coming, None)
        except Exception:  # a changed file may do anything; what it does here shows nothing
            return None


def _launch_number(instance: Any, one: LauncherCase, number: int) -> int:
    """The number of a launch in the call; raises LookupError where the entry chose another launcher."""
    functions = [launch.function for launch in instance.launches]
    if functions != [launch.function for launch in one.world.launches]:
        raise LookupError("the entry took another way")
    return number


def _aligned(stride: int) -> int:
    """The next stride from this one that no launcher is refused for."""
    return -(-stride // 16) * 16 if stride > 16 else stride


class _Call:
    """A point as the arguments of the entry: tables hold what the point says.

    Strides are those of the point too, unless `rows_apart` asks for plain ones, or the point's do not keep elements apart:
    then nothing depends on them.
    """

    def __init__(self, one: LauncherCase, plan: Plan, point: Point, rows_apart: bool):
        self._case, self._plan, self._point, self._rows_apart = one, plan, point, rows_apart
        self._world: World = one.world
        space = self._space = one.world.space
        given: dict[int, int] = {}
        for name, value in point.values.items():
            (index,) = space.named(name).variables
            given[index] = space[index].definition.absent if value is None else value
        self._valuation = Valuation(space, given, point.tables)

    def __str__(self) -> str:
        sizes = {**self.axes(), **self.knobs()}
        shown = [f"{name} = {'none' if n is None else n}" for name, n in sizes.items()]
        shown += self._strides()
        shown += [
            f"{table}[{', '.join(map(str, at))}] = {n}"
            for table, rows in self._rows()
            for at, n in rows.items()
        ]
        return ", ".join(shown)

    def _strides(self) -> Iterator[str]:
        """Strides that the point tells: of more than one row, and any that leaves room behind its only one."""
        for name in self._point.values:
            tensor, is_stride, axis = name.removesuffix(")").partition(".stride(")
            if is_stride and self._keeps(tensor):
                extents, strides = self._extents_and_strides(tensor)
                within = math.prod(max(one, 1) for one in extents[int(axis) + 1 :])
                if extents[int(axis)] > 1 or strides[int(axis)] > within:
                    yield f"{name} = {strides[int(axis)]}"

    def axes(self) -> dict[str, int | None]:
        """The value of every axis that is known when launching."""
        known = {name: value for name, (value, _) in self._plan.constants.items()}
        known |= {**self._case.case.constants, **dict.fromkeys(self._case.absent)}
        found: dict[str, int | None] = {}
        for axis in self._plan.spec.axes.values():
            if axis.runtime:
                continue
            if axis.name in known:
                found[axis.name] = known[axis.name]
            elif axis.name in self._case.meanings:
                found[axis.name] = self._value(self._case.meanings[axis.name])
        return found

    def knobs(self) -> dict[str, int]:
        """The value of every knob of the regime."""
        meanings = self._case.meanings
        return {name: self._value(meanings[name]) for name in self._plan.knobs if name in meanings}

    def program(self, programs: Sequence[Poly]) -> tuple[int, int, int]:
        x, y, z = ([self._value(program) for program in programs] + [0, 0])[:3]
        return x, y, z

    def arguments(self) -> dict[str, HostTensor | int | float | None]:
        """What the entry is called with."""
        axes = self.axes()
        tensors = {tensor.name: tensor for tensor in self._plan.tensors}
        return {
            name: self._tensor(name) if name in tensors else axes[self._plan.scalars[name]]
            for name in self._plan.arguments
        }

    def _tensor(self, name: str) -> HostTensor:
        import numpy as np

        from kgen.prove.replay.host import HostTensor
        from kgen.prove.replay.scenes import padded

        facts = self._world.tensors[name]
        declared = self._plan.tensor(name)
        extents, strides = self._extents_and_strides(name)
        if not self._keeps(name):
            strides = padded(extents) if extents else (1,)
        contents = None
        if facts.contents is not None:
            rows = dict(self._rows())[name]
            low = self._value(facts.contents.table.low)
            default = max(low, 0)

            def contents(elements: np.ndarray) -> np.ndarray:
                places = zip(*np.unravel_index(elements, extents))
                return np.array([rows.get(tuple(map(int, at)), default) for at in places], np.int64)

        short = DTYPES[declared.dtype][1]
        dims = facts.dims or ("i",)
        return HostTensor(name, short, extents or (1,), strides, dims, "input", contents)

    def _extents_and_strides(self, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The extents of a tensor at the point, and strides that its launcher takes."""
        facts = self._world.tensors[name]
        strides = map(_aligned, map(self._value, facts.strides))
        return tuple(map(self._value, facts.extents)), tuple(strides)

    def _keeps(self, name: str) -> bool:
        """Whether a tensor has the strides of the point: those that keep its elements apart."""
        extents, strides = self._extents_and_strides(name)
        reach = 0
        for stride, extent in sorted(zip(strides, extents)):
            if extent > 1 and stride <= reach:
                return False
            reach += (extent - 1) * stride
        return bool(extents) and not self._rows_apart

    def _rows(self) -> Iterator[tuple[str, dict[tuple[int, ...], int]]]:
        """For each table, the entries that the point tells, by coordinates."""
        for name, tensor in self._world.tensors.items():
            if tensor.contents is None:
                continue
            rows: dict[tuple[int, ...], int] = {}
            for index in range(len(self._space)):
                definition = self._space[index].definition
                if not isinstance(definition, TableEntry) or definition.table.name != name:
                    continue
                if not self._valuation.formula(definition.mask):
                    continue
                place = coordinates(self._space, definition.address, tensor)
                at = None if place is None else tuple(map(self._valuation.poly, place))
                value = self._valuation.poly(Poly.variable(index))
                if at is not None and None not in at and value is not None:
                    rows[at] = value
            yield name, rows

    def _value(self, poly: Poly | int) -> int:
        """The value at the point; a variable that the point leaves open is as small as it may be."""
        poly = self._space.concrete(Poly.of(poly))
        value = self._valuation.poly(poly)
        if value is not None:
            return value
        low = self._space.interval(poly).low
        return 0 if low is None else low
