"""Crews: this machine's GPUs, and a cluster of two worker processes of which one is killed half-way."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.sweep.drive import Sweep
from kgen.sweep.executor import crew, local, visible_gpus
from kgen.sweep.race import Rules
from kgen.sweep.state import Plan
from kgen.sweep.store import Store
from kgen.sweep.trial import Answer, Place

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "measure"), str(TESTS / "sweep")]

from toys import SHAPES, job, timing, toy, toy_entrant, toy_field  # noqa: E402


def test_the_gpus_are_those_that_the_environment_names(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")
    assert visible_gpus() == ["2", "5"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []


def test_each_gpu_has_a_station_and_they_work_at_the_same_time():
    both, seen = threading.Barrier(2, timeout=10), set()

    class Silent:
        """A process of which only the environment matters."""

        def __init__(self, role, name, file, limits, environment):
            self.role, self.file, self.lost = role, file, ""
            seen.add(environment["CUDA_VISIBLE_DEVICES"])

        def ask(self, verb, payload):
            if verb == "load" and self.role == "baseline":
                both.wait()
            shapes = [{"name": SHAPES[0], "sets": 2}]
            return {"shapes": shapes, "seconds": [1.0], "flags": {}, "checks": [], "rounds": 1} | {
                "spent": False
            }

        def close(self):
            """Nothing to end."""

    two = local(["0", "1"], Silent)
    try:
        jobs = [job(toy(f"{number}"), toy("base")) for number in range(2)]
        found = [two.executor.submit(two.measure, one) for one in jobs]
        assert [one.result(20).status for one in found] == ["measured", "measured"]
    finally:
        two.close()
    assert two.slots == 2 and seen == {"0", "1"}


TRIAL, CANDIDATES = 0.25, 12


class Timed:
    """A process whose candidate takes `TRIAL` seconds for a trial, whatever it is."""

    def __init__(self, role, name, file, limits, environment):
        self.role, self.file, self.lost = role, file, ""

    def ask(self, verb, payload):
        if (verb, self.role) == ("begin", "candidate"):
            time.sleep(TRIAL)
        shapes = [{"name": SHAPES[0], "regime": "", "axes": {}, "runtime": {}, "sets": 2}]
        environment = dict.fromkeys(("device", "torch", "triton", "ptxas", "driver"), "none")
        answer = {"shapes": shapes, "environment": environment, "seconds": [1.0], "rounds": 1}
        return {**answer, "flags": {}, "checks": [], "spent": False}

    def close(self):
        """Nothing to end."""


def took(gpus, store: Store) -> float:
    """Seconds for a sweep of `CANDIDATES` on these GPUs."""
    crew = local(gpus, Timed)
    entrants = [toy_entrant(number, 100 + number) for number in range(CANDIDATES)]
    try:
        place = crew.place(entrants[0].file, timing())
        begun = time.monotonic()
        plan = Plan(seconds=60.0, rules=Rules(5, 5))
        Sweep(toy_field(*entrants), store, crew, timing(), plan).run(place)
        return time.monotonic() - begun
    finally:
        crew.close()
        assert {one.status for one in store.results().values()} == {"measured"}
        assert len(store.results()) == len(entrants)
        store.close()


def test_two_gpus_are_kept_busy_at_once(tmp_path):
    """At least 1.8 times as many trials in the same time as one."""
    one, two = (took(gpus, Store(tmp_path / f"{len(gpus)}.sqlite")) for gpus in (["0"], ["0", "1"]))
    assert one >= CANDIDATES * TRIAL
    assert one / two >= 1.8


@pytest.mark.parametrize("address", ["ssh://host", "dask://127.0.0.1:1"])
@pytest.mark.filterwarnings("ignore")
def test_an_executor_that_does_not_answer_is_told_so(address, monkeypatch):
    import distributed

    def refusing(*arguments, **options):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refusing)
    with pytest.raises(KgenError, match="KG982: no trial can run there: "):
        crew(address)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_worker_half_way_loses_no_candidate(tmp_path, monkeypatch):
    from distributed import LocalCluster

    path = f"{TESTS.parent}{os.pathsep}{TESTS / 'measure'}{os.pathsep}{TESTS / 'sweep'}"
    monkeypatch.setenv("PYTHONPATH", path)
    options = {"threads_per_worker": 1, "resources": {"GPU": 1}, "dashboard_address": None}
    store = Store(tmp_path / "store.sqlite")
    entrants = [toy_entrant(number, 100 - 10 * number) for number in range(6)]
    with LocalCluster(n_workers=2, processes=True, **options) as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        two = crew(cluster.scheduler_address.replace("tcp://", "dask://"))
        assert two.slots == 2
        killed = []

        def killing(state) -> None:
            if state.measured >= 2 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        try:
            place = two.executor.submit(two.place, entrants[0].file, timing()).result()
            assert isinstance(place, Place)
            plan = Plan(seconds=200.0, rules=Rules(5, 5))
            Sweep(toy_field(*entrants), store, two, timing(), plan, killing).run(place)
        finally:
            two.close()
    assert killed
    found = {key.core: one.status for key, one in store.results().items()}
    assert found == {f"core {number}": "measured" for number in range(6)}
    store.close()


def test_a_trial_travels_as_plain_data():
    import pickle

    one = job(toy("one"), toy("base"))
    assert pickle.loads(pickle.dumps(one)) == one
    answer = Answer("measured", (1.0,), (2.0,))
    assert pickle.loads(pickle.dumps(answer)) == answer
