"""Many calls over several workers, where one that dies costs its own job only."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence

from kgen.worker.failures import WorkerError, WorkerFailure
from kgen.worker.parent import Worker

Outcome = dict | WorkerFailure
OnDone = Callable[[int, Outcome], None]


def map_jobs(
    make_worker: Callable[[], Worker],
    verb: str,
    payloads: Sequence[dict],
    *,
    workers: int,
    timeout: float | None,
    on_done: OnDone | None = None,
) -> list[Outcome]:
    """Calls `verb` once a payload and returns the outcomes in the payloads' order.

    An outcome is the handler's result or the `WorkerFailure` of that job; a job is never tried
    twice. At most `workers` processes live at once, each started when first needed and replaced
    after it died or was killed. `on_done(index, outcome)` is called in this thread as each job
    ends. Raises what `make_worker` raises; on that and on an interrupt every worker is killed.
    """
    outcomes: list[Outcome | None] = [None] * len(payloads)
    todo = iter(range(len(payloads)))
    crew = [
        _Member(make_worker, verb, payloads, timeout) for _ in range(min(workers, len(payloads)))
    ]
    take = _locked(todo)
    done: queue.SimpleQueue[tuple[int, Outcome] | Exception] = queue.SimpleQueue()
    threads = [threading.Thread(target=one.run, args=(take, done), daemon=True) for one in crew]
    try:
        for thread in threads:
            thread.start()
        for _ in payloads:
            news = done.get()
            if isinstance(news, Exception):
                raise news
            index, outcome = news
            outcomes[index] = outcome
            if on_done is not None:
                on_done(index, outcome)
    finally:
        for one in crew:
            one.stop()
        for thread in threads:
            thread.join()
    return outcomes


def _locked(numbers: Iterator[int]) -> Callable[[], int | None]:
    """The next number for whichever thread asks, None after the last."""
    lock = threading.Lock()

    def take() -> int | None:
        with lock:
            return next(numbers, None)

    return take


class _Member:
    """One thread's worker, which `stop` may kill from another thread."""

    def __init__(
        self,
        make_worker: Callable[[], Worker],
        verb: str,
        payloads: Sequence[dict],
        timeout: float | None,
    ):
        self._make_worker = make_worker
        self._verb = verb
        self._payloads = payloads
        self._timeout = timeout
        self._worker: Worker | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, take: Callable[[], int | None], done: queue.SimpleQueue) -> None:
        """Works until nothing is left to take; reports an exception that is no job's failure."""
        try:
            while not self._stopped and (index := take()) is not None:
                done.put((index, self._call(self._payloads[index])))
        except Exception as error:
            done.put(error)

    def stop(self) -> None:
        """Kills the worker, at once, even in the middle of a job."""
        with self._lock:
            self._stopped = True
            if self._worker is not None:
                self._worker.close()

    def _call(self, payload: dict) -> Outcome:
        worker = self._living_worker()
        try:
            return worker.call(self._verb, payload, self._timeout)
        except WorkerError as error:
            return error
        except WorkerFailure as failure:
            worker.close()
            return failure

    def _living_worker(self) -> Worker:
        with self._lock:
            if self._worker is None or not self._worker.alive:
                self._worker = self._make_worker()
                if self._stopped:
                    self._worker.close()
            return self._worker
