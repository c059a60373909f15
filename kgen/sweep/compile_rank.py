"""The best candidates compiled without a GPU, in parallel, and ranked again by what the compiler made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kgen.compile import Job, Limits, Resources, compile_all, report
from kgen.devices import device
from kgen.diagnostics import Place
from kgen.families.model import Value
from kgen.plan.templates import Templates
from kgen.render.assemble import draft
from kgen.render.hashes import core_sha256
from kgen.render.launch import Signature, signatures
from kgen.render.model import Launcher
from kgen.render.write import write_atomically
from kgen.sweep.cost import Usage
from kgen.sweep.model import Candidate, Compiled, Dropped, Ranked
from kgen.sweep.planned import Planner
from kgen.sweep.prune import Reason, told
from kgen.sweep.rank import Ranking, interleaved
from kgen.sweep.shapes import Shape

OnDone = Callable[[int, int], None]


@dataclass(frozen=True)
class CompileRanking:
    """Candidates with the compiler's own figures, what takes least first and what was refused last.

    `dropped` are those of which a statement could not be proved, so that they were not rendered.
    """

    compiled: tuple[Compiled, ...]
    dropped: tuple[Dropped, ...]

    def by_estimate(self, shape: str) -> list[Compiled]:
        """Those that compiled, for one shape."""
        left = [one for one in self.compiled if not one.refused]
        return sorted(left, key=lambda one: one.ranked.at(shape).seconds)


@dataclass(frozen=True)
class _Part:
    """One kernel to compile: the axes of the case that it serves, and its role there."""

    axes: Mapping[str, Value]
    role: str
    job: Job

    def serves(self, shape: Shape) -> bool:
        """Whether a call of that shape launches it."""
        return all(shape.axes.get(axis, value) == value for axis, value in self.axes.items())


@dataclass(frozen=True)
class _Draft:
    """A rendered candidate, those that render to the same core, and what to compile."""

    ranked: Ranked
    core: str
    parts: tuple[_Part, ...]
    same: list[Candidate]


def compile_best(
    ranking: Ranking,
    templates: Templates,
    count: int,
    *,
    cache_dir: Path,
    workers: int = 2,
    timeout: float = 120,
    on_done: OnDone | None = None,
) -> CompileRanking:
    """The first `count` different cores of a ranking, compiled for the spec's first device and ranked again.

    What a limit of the spec forbids is kept here, a kernel that spills above all: limits are for what is emitted. A
    compilation that is refused, dies or takes more than `timeout` seconds is recorded with its candidate. `on_done` is
    called with how many kernels of how many are compiled. Raises KgenError as `kgen.compile.compile_all` and as
    rendering does.
    """
    drafts, dropped = _drafts(ranking, templates, count, cache_dir)
    jobs = [part.job for one in drafts for part in one.parts]
    done: list[Resources] = []

    def tell(job: Job, resources: Resources) -> None:
        done.append(resources)
        if on_done is not None:
            on_done(len(done), len(jobs))

    results = iter(
        compile_all(jobs, workers=workers, timeout=timeout, cache_dir=cache_dir, on_done=tell)
    )
    found = [_compiled(ranking, one, [next(results) for _ in one.parts]) for one in drafts]
    return CompileRanking(tuple(_in_order(ranking, found)), dropped)


def _drafts(
    ranking: Ranking, templates: Templates, count: int, cache_dir: Path
) -> tuple[list[_Draft], tuple[Dropped, ...]]:
    """The first `count` candidates with different cores that are proved, rendered."""
    drafts: dict[str, _Draft] = {}
    dropped: list[tuple[Reason, Candidate]] = []
    planner = Planner(ranking.plan, ranking.index, templates)
    for one in ranking.best():
        if len(drafts) == count:
            break
        reason = ranking.rules[one.candidate.variant].unproved(one.candidate)
        if reason is not None:
            dropped.append((reason, one.candidate))
            continue
        launchers, text = draft(planner.whole(planner.regime(one.candidate)), templates)
        core = core_sha256(text)
        if core in drafts:
            drafts[core].same.append(one.candidate)
            continue
        source = cache_dir / "sweep" / core / "submission.py"
        write_atomically(source, text)
        drafts[core] = _Draft(one, core, tuple(_parts(ranking, launchers, source)), [])
    return list(drafts.values()), tuple(told(dropped))


def _parts(ranking: Ranking, launchers: Sequence[Launcher], source: Path) -> Iterator[_Part]:
    """Every kernel of every case of the regime."""
    on = device(ranking.plan.devices[0]).target
    for launcher in launchers:
        if launcher.regime.index != ranking.index:
            continue
        roles = {kernel.function: kernel.plan.role for kernel in launcher.kernels}
        for case in launcher.group.cases:
            alone = replace(launcher, group=replace(launcher.group, cases=(case,)))
            for one in signatures([alone]):
                yield _Part(case.axes, roles[one.function], _job(one, source, on))


def _job(one: Signature, source: Path, on: str) -> Job:
    return Job(
        source=source,
        function=one.function,
        signature=one.types,
        constants=one.constants,
        divisible_by_16=one.divisible,
        num_warps=one.num_warps,
        num_stages=one.num_stages,
        target=on,
    )


def _compiled(ranking: Ranking, one: _Draft, results: Sequence[Resources]) -> Compiled:
    same = tuple(one.same)
    jobs = [part.job for part in one.parts]
    problems = report(zip(jobs, results), Limits(), (), lambda job: Place(str(job.source)))
    if problems:
        return Compiled(one.ranked, one.core, same, refused=problems[0].message)
    used = [(part, _usage(resources)) for part, resources in zip(one.parts, results)]
    at = {
        shape.name: {part.role: usage for part, usage in used if part.serves(shape)}
        for shape in ranking.shapes
    }
    candidate = one.ranked.candidate
    ranked = ranking.models[candidate.variant].ranked(candidate, at)
    spilled = max(usage.spill_bytes for _, usage in used)
    return Compiled(ranked, one.core, same, spill_bytes=spilled)


def _usage(resources: Resources) -> Usage:
    """Of one kernel. Where a compiler tells no spills, the stack stands for them."""
    told = resources.spill_bytes
    spilled = resources.stack_bytes if told is None else told
    return Usage(resources.registers or 0, spilled or 0, resources.shared_bytes or 0)


def _in_order(ranking: Ranking, found: Sequence[Compiled]) -> Iterable[Compiled]:
    by_candidate = {one.ranked.candidate: one for one in found}
    left = CompileRanking(tuple(found), ())
    orders = [[one.ranked for one in left.by_estimate(shape.name)] for shape in ranking.shapes]
    yield from (by_candidate[one.candidate] for one in interleaved(orders))
    yield from (one for one in found if one.refused)
