"""Compiles many jobs: from kgen's own record where it can, the rest in worker processes."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgen.compile.core import Core
from kgen.compile.job import Job
from kgen.compile.record import Records, record_key
from kgen.compile.resources import Resources
from kgen.compile.versions import TOOL_VARIABLES, toolchain
from kgen.devices import target as find_target
from kgen.worker import Worker, WorkerFailure, WorkerTimeout, map_jobs, module_worker

OnDone = Callable[[Job, Resources], None]

_WORKER = "kgen.compile.worker"
_FOREIGN = ("TRITON_", "MLIR_", "LLVM_", "NVPTX_", "AMDGCN_", "DISABLE_", "PTXAS_", "USE_IR_LOC")
"""Variables that change what Triton makes; a record must not depend on whose shell it was."""
_QUOTED_LINES = 12
"""How many of a dead compiler's last lines are quoted."""


def compile_all(
    jobs: Sequence[Job],
    *,
    workers: int = 2,
    timeout: float = 120,
    cache_dir: Path,
    on_done: OnDone | None = None,
    worker_module: str = _WORKER,
) -> list[Resources]:
    """The resources of each job, in the jobs' order; needs no GPU.

    What the same Triton compiled or refused before is read from `cache_dir`; if that is all, Triton
    isn't even imported. The rest is compiled in `workers` processes that run `worker_module`; equal
    jobs are compiled once. A job for which the compiler dies, or that takes more than `timeout`
    seconds (the process's start included), costs itself alone. `on_done` is called in this thread
    as each job ends.

    Raises `KgenError` (KG601) without Triton, OSError for a source that can't be read, and
    `kgen.devices.UnknownName` for an unknown target.
    """
    for job in jobs:
        find_target(job.target)
    batch = _Batch(jobs, Records(cache_dir / "compile"), on_done)
    missing = batch.settle_known(_tasks(jobs, toolchain(cache_dir)))
    if missing:
        _compile(missing, batch, workers, timeout, worker_module)
    return batch.results()


@dataclass(frozen=True)
class _Task:
    """Equal jobs, by their positions; without `key` and `core` if they can't be recorded."""

    job: Job
    positions: list[int]
    key: str | None
    core: Core | None


class _Batch:
    """Collects results, tells of them and records them."""

    def __init__(self, jobs: Sequence[Job], records: Records, on_done: OnDone | None):
        self._jobs = jobs
        self._records = records
        self._on_done = on_done
        self._found: dict[int, Resources] = {}

    def settle_known(self, tasks: Sequence[_Task]) -> list[_Task]:
        """Settles those that are on record, returns the others."""
        missing = []
        for task in tasks:
            known = self._records.find(task.key, task.core) if task.key else None
            if known is None:
                missing.append(task)
            else:
                self._tell(task, known)
        return missing

    def settle(self, task: _Task, outcome: dict | WorkerFailure, log: Path) -> None:
        """Takes a worker's answer, or its failure, and records what lasts."""
        if isinstance(outcome, WorkerFailure):
            self._tell(task, _failed(outcome, log))
            return
        resources = Resources.from_json(outcome["resources"])
        if task.key and outcome["recordable"]:
            self._records.keep(task.key, resources, task.core)
        self._tell(task, resources)

    def results(self) -> list[Resources]:
        """One for each job."""
        return [self._found[position] for position in range(len(self._jobs))]

    def _tell(self, task: _Task, resources: Resources) -> None:
        for position in task.positions:
            self._found[position] = resources
            if self._on_done is not None:
                self._on_done(self._jobs[position], resources)


def _tasks(jobs: Sequence[Job], versions: Mapping[str, str]) -> list[_Task]:
    """Equal jobs together, in the order of their first."""
    read = functools.cache(_core)
    tasks: dict[object, _Task] = {}
    for position, job in enumerate(jobs):
        core = read(job.source, job.function)
        key = record_key(job, core, versions) if core is not None else None
        task = tasks.setdefault(key or position, _Task(job, [], key, core))
        task.positions.append(position)
    return list(tasks.values())


def _core(source: Path, function: str) -> Core | None:
    """The kernel's text, None if it doesn't say all: then the compiler has to look, each time."""
    try:
        core = Core(source.read_text(), function)
    except (SyntaxError, LookupError):
        return None
    return core if core.self_contained else None


def _compile(
    tasks: Sequence[_Task], batch: _Batch, workers: int, timeout: float, module: str
) -> None:
    """Compiles in workers, whose files lie in one folder that goes even if they are killed."""
    with tempfile.TemporaryDirectory(prefix="kgen-compile-") as scratch:
        logs = [Path(scratch, f"{index}.log") for index in range(len(tasks))]

        def done(index: int, outcome: dict | WorkerFailure) -> None:
            batch.settle(tasks[index], outcome, logs[index])

        map_jobs(
            lambda: _start(module, scratch),
            "compile",
            [{"job": task.job.as_json(), "log": str(log)} for task, log in zip(tasks, logs)],
            workers=workers,
            timeout=timeout,
            on_done=done,
        )


def _start(module: str, scratch: str) -> Worker:
    """A worker without its user's settings for Triton, apart from the choice of ptxas."""
    foreign = [v for v in os.environ if v.startswith(_FOREIGN) and v not in TOOL_VARIABLES]
    own = {"TRITON_CACHE_DIR": str(Path(scratch, "triton")), "TMPDIR": scratch}
    return module_worker(module, env={**dict.fromkeys(foreign), **own})


def _failed(failure: WorkerFailure, log: Path) -> Resources:
    """What became of a job whose worker died, was killed or raised."""
    printed = log.read_text(errors="replace") if log.exists() else ""
    last = [*failure.stderr.splitlines(), *printed.splitlines()][-_QUOTED_LINES:]
    message = "\n".join([failure.message, *last])
    if isinstance(failure, WorkerTimeout):
        return Resources("timeout", message=message, seconds=failure.seconds)
    return Resources("crashed", message=message)
