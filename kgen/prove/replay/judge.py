"""Whether an emitted file, or a mutant of one, is wrong on a set of small calls, run whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kgen.prove.replay.host import HostTensor, capture
from kgen.prove.replay.memory import Memory
from kgen.prove.replay.model import Instance, Launch, Program, Reads, Unsupported
from kgen.prove.replay.report import Finding, Report, findings_of
from kgen.prove.replay.run import run_grid, run_program

Outcome = Literal["wrong", "clean", "refused", "undecided"]


@dataclass(frozen=True)
class Scene:
    """One call of an emitted file's entry, and what its launches have to read.

    `whole` runs all programs. A scene that is not whole has sizes too large for that: only the
    programs at the corners of each grid run, and only what one program shows alone counts (bounds
    and widths).
    """

    name: str
    axes: Mapping[str, int | None]
    arguments: Mapping[str, HostTensor | int | float | None]
    reads: Callable[[Instance], tuple[Reads, ...]] = lambda instance: ()
    whole: bool = True
    entry: str = "run"


@dataclass(frozen=True)
class Judgement:
    """What the scenes say of a file; `why` is for people.

    - `wrong`: `finding` at `scene` shows it.
    - `clean`: nothing is wrong on any of the `ran` scenes.
    - `refused`: Triton, the launcher or this evaluator refuses the file on a scene, and no other
      shows it wrong.
    - `undecided`: data without values decides an access, or no scene launches the kernel in
      question.
    """

    outcome: Outcome
    why: str
    ran: int = 0
    scene: str = ""
    finding: Finding | None = None


def judge(source: str, scenes: Iterable[Scene], kernel: str = "") -> Judgement:
    """Runs the file on each scene until something is wrong.

    With `kernel` only scenes count that launch it. Programs of a launch run forwards and, where
    they share memory, backwards too.
    """
    refusals: list[str] = []
    doubts: list[str] = []
    ran = 0
    for scene in scenes:
        try:
            instance = _captured(source, scene)
            if not _launches(instance, kernel):
                continue
            found, doubt = _first_finding(source, scene, instance)
        except Unsupported as error:
            refusals.append(f"{scene.name}: {error}")
            continue
        ran += 1
        if found is not None:
            return Judgement("wrong", f"{scene.name}: {found.text}", ran, scene.name, found)
        if doubt:
            doubts.append(f"{scene.name}: {doubt}")
    if refusals:
        return Judgement("refused", refusals[0], ran)
    if doubts or not ran:
        return Judgement("undecided", doubts[0] if doubts else f"no scene launches {kernel}", ran)
    return Judgement("clean", f"nothing wrong on {ran} scenes", ran)


@dataclass(frozen=True)
class Seen:
    """What is wrong on a scene, and the function whose launch it is about."""

    scene: Scene
    finding: Finding
    function: str

    def __str__(self) -> str:
        return f"{self.scene.name}: {self.finding.text}"


def findings(
    source: str, scenes: Iterable[Scene], kernel: str, dims: Mapping[str, tuple[str, ...]]
) -> Iterator[Seen]:
    """All that is wrong on scenes that launch the kernel, each kind of finding in each line once.

    `dims` names dimensions of tensors that the file allocates. Scenes that are refused show nothing.
    """
    seen: set[tuple[str, str, int, int]] = set()
    for scene in scenes:
        try:
            instance = _captured(source, scene, dims)
            if not _launches(instance, kernel):
                continue
            for found in _findings(source, scene, instance):
                key = (found.kind, found.tensor, found.launch, found.line)
                if key not in seen:
                    seen.add(key)
                    yield Seen(scene, found, instance.launches[found.launch].function)
        except Unsupported:
            continue


def _launches(instance: Instance, kernel: str) -> bool:
    """Whether the kernel is among the launches; any is, if it is empty."""
    return not kernel or any(launch.function == kernel for launch in instance.launches)


def _captured(
    source: str, scene: Scene, dims: Mapping[str, tuple[str, ...]] | None = None
) -> Instance:
    """The scene's instance; what the launcher itself refuses is Unsupported too."""
    try:
        return capture(source, scene.arguments, axes=scene.axes, entry=scene.entry, dims=dims)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Unsupported(f"the launcher refuses: {error}") from error


def _first_finding(source: str, scene: Scene, instance: Instance) -> tuple[Finding | None, str]:
    """The first thing that is wrong, and what cannot be told for want of data."""
    if not scene.whole:
        return next(_at_corners(source, instance), None), ""
    report = run_grid(source, instance)
    found = next(report.findings(scene.reads(instance)), None)
    if found is None and _shares_memory(report):
        report = run_grid(source, instance, backwards=True)
        found = next(report.findings(scene.reads(instance)), None)
    doubt = next((f"line {use.line}: {use.use} depends on data" for use in report.opaque), "")
    return found, doubt


def _findings(source: str, scene: Scene, instance: Instance) -> Iterator[Finding]:
    """Everything that is wrong there, in either order of programs."""
    if not scene.whole:
        yield from _at_corners(source, instance)
        return
    report = run_grid(source, instance)
    yield from report.findings(scene.reads(instance))
    yield from report.rewritten()
    if _shares_memory(report):
        report = run_grid(source, instance, backwards=True)
        yield from report.findings(scene.reads(instance))


def _at_corners(source: str, instance: Instance) -> Iterator[Finding]:
    """What programs at the corners of each grid do wrong, whatever others write, but for launches of one program, such as
    one that makes a schedule: what these leave is there for later ones.
    """
    for number, launch in enumerate(instance.launches):
        for program in corners(launch):
            memory = Memory(instance.tensors)
            for before in instance.launches[:number]:
                if before.grid == (1, 1, 1):
                    run_program(source, instance, before, (0, 0, 0), memory=memory)
            trace = run_program(source, instance, launch, program, memory=memory)
            for finding in findings_of(instance, number, trace):
                if finding.kind != "uninitialised":
                    yield finding


def corners(launch: Launch) -> tuple[Program, ...]:
    """The programs whose every coordinate is the first or the last of its axis."""
    x, y, z = (sorted({0, extent - 1}) if extent > 0 else () for extent in launch.grid)
    return tuple((i, j, k) for i in x for j in y for k in z)


def _shares_memory(report: Report) -> bool:
    """Whether programs of one launch use atomics, so that their order may matter."""
    return any(access.kind == "atomic" for _, trace in report.traces() for access in trace.accesses)
