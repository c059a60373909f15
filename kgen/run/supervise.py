"""Drives a runner process through a bundle's units; one that crashes or hangs costs its own unit
only.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kgen.run.report import Report, make_report
from kgen.runner.results import CaseResult, Failure, Status, Summary, count
from kgen.worker import Worker, WorkerError, WorkerFailure, WorkerTimeout, module_worker

OPEN_TIMEOUT = 180.0
"""Seconds for a runner to import torch and triton and to probe the interpreter."""

OnCase = Callable[[CaseResult], None]


class Refused(Exception):
    """The bundle can't be tested at all."""

    def __init__(self, failure: Failure):
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Request:
    """What a runner is asked to open."""

    bundle: str
    mode: str
    seed: int
    filter: str
    python: str

    def opened(self) -> tuple[Worker, dict[str, Any]]:
        """A runner that has opened the bundle, and what it said. Raises `Refused`."""
        worker = module_worker("kgen.runner", "serve", python=self.python)
        payload = {key: getattr(self, key) for key in ("bundle", "mode", "seed", "filter")}
        try:
            answer = worker.call("open", payload, OPEN_TIMEOUT)
        except WorkerFailure as failure:
            worker.close()
            text = f"the runner could not start: {failure}"
            raise Refused(Failure("KG714", text, trace=failure.stderr)) from failure
        if "refused" in answer:
            worker.close()
            raise Refused(Failure(**answer["refused"]))
        return worker, answer


def test_bundle(
    bundle_dir: str | Path,
    *,
    mode: str = "auto",
    seed: int | None = None,
    timeout: float = 300.0,
    filter: str = "",
    on_case: OnCase | None = None,
    python: str = sys.executable,
) -> Report:
    """Runs every case of a bundle in a process of its own and gathers the results.

    `mode` is "interpret", "gpu", or "auto" (a GPU if there is one). `timeout` is in seconds, for
    each case. `filter` keeps the cases whose name or regime contains it. `on_case` is called as
    each result comes in. `python` runs the runner; it needs torch and triton. A case whose process
    dies, hangs or fails by itself is an `error`, never passed, and the next case gets a fresh
    process.
    """
    start = time.perf_counter()
    directory = Path(bundle_dir).resolve()
    seed = secrets.randbits(32) if seed is None else seed
    request = Request(str(directory), mode, seed, filter, python)
    try:
        worker, answer = request.opened()
    except Refused as refused:
        summary = Summary(str(directory), "", False, mode, "none", seed, {}, count(()))
        return make_report(directory, (), summary, refused.failure)
    summary = Summary.from_json(answer["summary"])
    request = replace(request, mode=summary.mode)
    results = []
    with _Crew(request, worker) as crew:
        for name, regime in answer["units"]:
            result = crew.run(name, regime, timeout)
            results.append(result)
            if on_case is not None:
                on_case(result)
    seconds = time.perf_counter() - start
    summary = replace(summary, counts=count(results), seconds=seconds)
    return make_report(directory, tuple(results), summary)


class _Crew:
    """The one runner at work, replaced when it is of no more use."""

    def __init__(self, request: Request, worker: Worker):
        self._request = request
        self._worker: Worker | None = worker

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *exception: object) -> None:
        self._dismiss()

    def run(self, name: str, regime: str, timeout: float) -> CaseResult:
        """The result of one unit."""
        try:
            if self._worker is None:
                self._worker, _ = self._request.opened()
            result = CaseResult.from_json(self._worker.call("run", {"unit": name}, timeout))
            lost = result.device_lost
        except Refused as refused:
            return CaseResult(name, regime, Status.ERROR, (refused.failure,))
        except WorkerFailure as failure:
            result = CaseResult(name, regime, Status.ERROR, (_unanswered(failure),))
            lost = True
        if lost:
            self._dismiss()
        return result

    def _dismiss(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _unanswered(failure: WorkerFailure) -> Failure:
    """Why a unit has no answer."""
    if isinstance(failure, WorkerError):
        text = f"the runner itself failed: {failure.message}"
    elif isinstance(failure, WorkerTimeout):
        text = f"no result within {failure.seconds:g} s: a kernel or the file hangs, or is too slow"
    else:
        text = f"{failure.message}: the case took the whole process down"
    return Failure("KG714", text, trace=failure.stderr)
