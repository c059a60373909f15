"""Many jobs over several workers."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from kgen.worker import Worker, WorkerDied, WorkerError, WorkerTimeout, map_jobs

CHILD = str(Path(__file__).with_name("worker_child.py"))
HOME = str(Path(__file__).parents[2])


def make_worker() -> Worker:
    return Worker([sys.executable, CHILD], {**os.environ, "PYTHONPATH": HOME})


def test_results_keep_the_order_of_the_payloads():
    payloads = [{"n": n} for n in range(20)]
    outcomes = map_jobs(make_worker, "echo", payloads, workers=2, timeout=20)
    assert outcomes == [{"echo": payload} for payload in payloads]


def test_no_payloads_start_no_worker():
    def refuse():
        raise AssertionError("a worker was started")

    assert map_jobs(refuse, "echo", [], workers=2, timeout=20) == []


def test_workers_are_used_again_and_no_more_than_asked_for():
    outcomes = map_jobs(make_worker, "pid", [{}] * 12, workers=2, timeout=20)
    assert len({outcome["pid"] for outcome in outcomes}) <= 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_death_costs_its_own_job_only(workers):
    payloads = [{"status": status} for status in (None, 7, None, None, 8, None)]
    outcomes = map_jobs(make_worker, "leave_or_echo", payloads, workers=workers, timeout=20)
    statuses = [o.status if isinstance(o, WorkerDied) else o for o in outcomes]
    assert statuses == [{"echo": 0}, 7, {"echo": 0}, {"echo": 0}, 8, {"echo": 0}]


def test_a_hang_costs_its_own_job_only_and_the_next_gets_a_fresh_worker():
    outcomes = map_jobs(make_worker, "hang_or_pid", [{"hang": True}, {}, {}], workers=1, timeout=2)
    assert isinstance(outcomes[0], WorkerTimeout)
    assert outcomes[1] == outcomes[2] and "pid" in outcomes[1]


def test_an_error_is_recorded_for_its_job():
    outcomes = map_jobs(make_worker, "fail", [{"what": "a"}, {"what": "b"}], workers=2, timeout=20)
    assert [type(outcome) for outcome in outcomes] == [WorkerError, WorkerError]
    assert ["bad a" in outcomes[0].message, "bad b" in outcomes[1].message] == [True, True]


def test_each_end_is_told_once_in_the_calling_thread():
    told = {}
    outcomes = map_jobs(
        make_worker, "echo", [{"n": 1}, {"n": 2}], workers=2, timeout=20, on_done=told.__setitem__
    )
    assert [told[0], told[1]] == outcomes


def test_an_interrupt_kills_every_worker_at_once():
    started = []

    def recorded() -> Worker:
        started.append(make_worker())
        return started[-1]

    def interrupt(index, outcome):
        raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        map_jobs(
            recorded,
            "hang_or_pid",
            [{"hang": True}, {}, {"hang": True}],
            workers=2,
            timeout=60,
            on_done=interrupt,
        )
    assert time.monotonic() - begun < 20
    assert started and not any(worker.alive for worker in started)


def test_a_worker_that_cannot_be_made_raises():
    def missing() -> Worker:
        return Worker(["/no/such/program"])

    with pytest.raises(FileNotFoundError):
        map_jobs(missing, "echo", [{}], workers=1, timeout=20)
