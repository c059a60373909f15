"""What a difference comes to in machine code: kernels of both sides, compiled where their texts do not settle it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import KgenError
from kgen.diff.model import Compiled, Consequence, Machine, Side
from kgen.diff.source import pairs
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.compile import Job, Resources

NUMBERS = ("registers", "spill_bytes", "stack_bytes", "shared_bytes", "tmem_columns")


@dataclass(frozen=True)
class Compiler:
    """How to compile: for which targets (those of the two sides if none), with how many processes, seconds for each job.

    `scratch` is a folder for the sources.
    """

    scratch: Path
    targets: tuple[str, ...] = ()
    workers: int = 2
    timeout: float = 120
    on_done: Callable[[int, int], None] = lambda done, of: None


@dataclass(frozen=True)
class _Both:
    """One signature on both sides for one target; a side without it is None."""

    a: Job | None
    b: Job | None


def consequence(a: Side, b: Side, core_differs: bool, compiler: Compiler | None) -> Consequence:
    """What differs in machine code. Without a compiler only the core tells, and what it does not is `unknown`."""
    if not core_differs:
        return Consequence("same", "the core is the same, comments and layout apart")
    for side in (a, b):
        if side.manifest is None:
            return Consequence("unknown", f"not compiled: {side.label}: {side.note}")
    jobs = list(_jobs(a, b, compiler))
    asked = [both for both in jobs if not _same_text(both)]
    if not asked:
        return Consequence("same", "every kernel has the text and signatures that it had")
    if compiler is None:
        return Consequence("unknown", "not compiled")
    try:
        found = _compiled(asked, compiler)
    except KgenError as error:
        return Consequence("unknown", f"not compiled: {error.diagnostics[0].message}")
    return _concluded(found, len(jobs))


def _concluded(found: Sequence[Compiled], compared: int) -> Consequence:
    changed = tuple(one for one in found if one.same_code is not True)
    machine: Machine = "same"
    if any(one.same_code is False for one in found):
        machine = "differs"
    elif changed:
        machine = "unknown"
    return Consequence(machine, f"{len(found)} of {compared} signatures compiled", changed, compared)


def _jobs(a: Side, b: Side, compiler: Compiler | None) -> Iterator[_Both]:
    """Every signature of either side for every target, paired by kernel and constants."""
    targets = compiler.targets if compiler else ()
    targets = targets or tuple(dict.fromkeys((*a.manifest["targets"], *b.manifest["targets"])))
    matched, only_a, only_b = pairs(a, b)
    names = [(one.name, two.name) for one, two in matched if two.kind == "kernel"]
    names += [(one.name, None) for one in only_a if one.kind == "kernel"]
    names += [(None, two.name) for two in only_b if two.kind == "kernel"]
    sources = [_source(side, compiler) for side in (a, b)]
    for old, new in names:
        for one, two in _signatures(a.manifest, b.manifest, old, new):
            for target in targets:
                yield _Both(_job(one, sources[0], target), _job(two, sources[1], target))


def _source(side: Side, compiler: Compiler | None) -> Path:
    """The text as a file, which the compiler reads."""
    name = hashlib.sha256(side.text.encode()).hexdigest()
    path = (compiler.scratch if compiler else Path()) / name / "submission.py"
    if compiler and not path.exists():
        path.parent.mkdir(parents=True)
        path.write_text(side.text, encoding="utf-8")
    return path


def _job(entry: Mapping[str, Any] | None, source: Path, target: str) -> Job | None:
    from kgen.compile import manifest_jobs

    return manifest_jobs({"signatures": [entry]}, source, [target])[0] if entry else None


def _signatures(
    a: Mapping[str, Any], b: Mapping[str, Any], old: str | None, new: str | None
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


def _same_text(both: _Both) -> bool:
    """Whether the compiler is given the same on both sides, the kernel's own name apart."""
    if both.a is None or both.b is None:
        return False
    return _asked(both.a) == _asked(both.b)


def _asked(job: Job) -> tuple[Any, ...]:
    """All that decides what the compiler makes of a job."""
    plain = {**job.as_json(), "source": "", "function": ""}
    plain["divisible_by_16"] = sorted(job.divisible_by_16)
    return _core(job), plain


def _core(job: Job) -> str:
    from kgen.compile.core import Core

    text = (_texts.get(job.source) or job.source.read_text(encoding="utf-8"))
    return Core(text, job.function).text.replace(f"def {job.function}(", "def kernel(", 1)
