"""What a difference comes to in machine code: kernels of both sides, compiled where their texts do not settle it."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgen.compile import Job, Resources, compile_all, manifest_jobs
from kgen.compile.core import Core
from kgen.diagnostics import KgenError
from kgen.diff.model import Compiled, Consequence, Machine, Side
from kgen.diff.source import pairs
from kgen.paths import cache_dir

NUMBERS = ("registers", "spill_bytes", "stack_bytes", "shared_bytes", "tmem_columns")
OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True)
class Compiling:
    """How to compile: `scratch` is a folder for sources, `targets` are those of the two sides if there are none.

    Where it is not `wanted`, nothing is compiled, and what texts alone do not settle stays unknown. `on_done` is told
    how many jobs of how many are done.
    """

    scratch: Path
    wanted: bool = True
    targets: tuple[str, ...] = ()
    workers: int = 2
    timeout: float = 120
    on_done: Callable[[int, int], None] = lambda done, of: None


@dataclass(frozen=True)
class _Both:
    """One signature on both sides for one target, None where it is not; `label` tells it from the kernel's others."""

    a: Job | None
    b: Job | None
    label: str


def consequence(a: Side, b: Side, core_differs: bool, how: Compiling) -> Consequence:
    """What differs in machine code, and in the resources that it takes."""
    if not core_differs:
        return Consequence("same", "only comments and layout differ, the core does not")
    for side in (a, b):
        if side.manifest is None:
            reason = f"nothing says with which signatures to compile {side.label} ({side.note})"
            return Consequence("unknown", reason)
    every = list(_jobs(a, b, how))
    asked = [both for both in every if not _same_text(both)]
    if not asked:
        return Consequence("same", "every kernel has the text and the signatures that it had")
    if not how.wanted:
        return Consequence("unknown", "not compiled")
    try:
        found = _compiled(asked, how)
    except KgenError as error:
        return Consequence("unknown", f"not compiled: {error.diagnostics[0].message}")
    reason = f"compiled the {len(asked)} of {len(every)} signatures whose text differs"
    return Consequence(_machine(found), reason, tuple(one for one in found if not one.same_code))


def _machine(found: Sequence[Compiled]) -> Machine:
    if any(one.same_code is False for one in found):
        return "differs"
    return "unknown" if any(one.same_code is None for one in found) else "same"


def _jobs(a: Side, b: Side, how: Compiling) -> Iterator[_Both]:
    """Every signature of either side for every target, paired by kernel and constants."""
    own = dict.fromkeys((*a.manifest["targets"], *b.manifest["targets"]))
    found = pairs(a, b)
    names = [(one.name, two.name) for one, two in found.pairs if two.kind == "kernel"]
    names += [(one.name, "") for one in found.only_a if one.kind == "kernel"]
    names += [("", two.name) for two in found.only_b if two.kind == "kernel"]
    sources = [_source(side, how.scratch) for side in (a, b)]
    for old, new in names:
        for one, two in _signatures(a.manifest, b.manifest, old, new):
            label = _label(b.manifest, two) if two else _label(a.manifest, one)
            for target in how.targets or own:
                yield _Both(_job(one, sources[0], target), _job(two, sources[1], target), label)


def _source(side: Side, scratch: Path) -> Path:
    """The text as a file, for the compiler."""
    path = scratch / hashlib.sha256(side.text.encode()).hexdigest() / "submission.py"
    if not path.exists():
        path.parent.mkdir(parents=True)
        path.write_text(side.text, encoding="utf-8")
    return path


def _job(entry: Mapping[str, Any] | None, source: Path, target: str) -> Job | None:
    return manifest_jobs({"signatures": [entry]}, source, [target])[0] if entry else None


def _signatures(
    a: Mapping[str, Any], b: Mapping[str, Any], old: str, new: str
) -> Iterator[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """A kernel's signatures in pairs: those that share most constants, in order."""
    left = [one for one in a["signatures"] if one["function"] == old]
    for two in (one for one in b["signatures"] if one["function"] == new):
        best = max(left, key=lambda one: _shared(one, two), default=None)
        if best is not None:
            left.remove(best)
        yield best, two
    for one in left:
        yield one, None


def _shared(one: Mapping[str, Any], two: Mapping[str, Any]) -> int:
    return len(one["constants"].items() & two["constants"].items())


def _label(manifest: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """The constants that tell a signature from the kernel's others."""
    own = [one for one in manifest["signatures"] if one["function"] == entry["function"]]
    told = {
        name: value
        for name, value in entry["constants"].items()
        if any(one["constants"].get(name) != value for one in own)
    }
    return ", ".join(f"{name}={value}" for name, value in told.items())


def _same_text(both: _Both) -> bool:
    """Whether the compiler is given the same on both sides, but for the kernel's name."""
    if both.a is None or both.b is None:
        return False
    texts = _core(both.a.source, both.a.function), _core(both.b.source, both.b.function)
    return texts[0] == texts[1] and texts[0] is not None and _facts(both.a) == _facts(both.b)


def _facts(job: Job) -> str:
    """All that the compiler is told beside the text; as JSON, for to Python the constants 1 and True are equal."""
    marked = sorted(job.divisible_by_16)
    facts = {**job.as_json(), "source": "", "function": "", "divisible_by_16": marked}
    return json.dumps(facts, sort_keys=True)


@functools.lru_cache(maxsize=256)
def _core(source: Path, function: str) -> str | None:
    """A kernel's text whatever its name; None where it is not all that is compiled."""
    core = Core(source.read_text(encoding="utf-8"), function)
    return core.text.replace(f"def {function}(", "def kernel(") if core.self_contained else None


def _compiled(asked: Sequence[_Both], how: Compiling) -> list[Compiled]:
    """Each pair with what the compiler made of it. Raises `KgenError` (KG601) where there is no Triton."""
    jobs = [job for both in asked for job in (both.a, both.b) if job is not None]
    done = 0

    def on_done(job: Job, resources: Resources) -> None:
        nonlocal done
        done += 1
        how.on_done(done, len(jobs))

    found = iter(
        compile_all(
            jobs,
            workers=how.workers,
            timeout=how.timeout,
            cache_dir=cache_dir(),
            on_done=on_done,
        )
    )
    return [_row(both, *(job and next(found) for job in (both.a, both.b))) for both in asked]


def _row(both: _Both, a: Resources | None, b: Resources | None) -> Compiled:
    jobs = (both.a, both.b)
    numbers = {
        **{name: tuple(job and getattr(job, name) for job in jobs) for name in OPTIONS},
        **{name: tuple(one and getattr(one, name) for one in (a, b)) for name in NUMBERS},
    }
    counts = [one.instructions if one else {} for one in (a, b)]
    every = sorted({*counts[0], *counts[1]})
    instructions = {name: tuple(one.get(name, 0) for one in counts) for name in every}
    return Compiled(
        *(job.function if job else "" for job in jobs),
        (both.b or both.a).target,
        both.label,
        tuple(one and one.status for one in (a, b)),
        _same_code(both, a, b),
        {name: pair for name, pair in numbers.items() if pair[0] != pair[1]},
        {name: pair for name, pair in instructions.items() if pair[0] != pair[1]},
    )


def _same_code(both: _Both, a: Resources | None, b: Resources | None) -> bool | None:
    """Whether both run the same instructions with the same warps, registers and memory; None where it is not known."""
    if a is None or b is None:
        return False
    if a.status == b.status == "compiled":
        return _program(both.a, a) == _program(both.b, b)
    settled = {a.status, b.status} == {"compiled", "refused"}
    return False if settled else None


def _program(job: Job, made: Resources) -> tuple[Any, ...]:
    return made.code_sha256, job.num_warps, made.registers, made.shared_bytes, made.tmem_columns
