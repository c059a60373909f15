"""`kgen sweep`: where no GPU is, on a scripted crew, packed and taken back, replayed."""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgen.cli import swept
from kgen.sweep.executor import Crew
from kgen.sweep.rendered import workloads
from kgen.sweep.store import Store
from kgen.sweep.trial import Answer, Place

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

SPEC = "specs/norm/rms_4096.yaml"
AXES = ("--axis", "rows.launch.num_warps=4,8,16")
SECONDS = {4: 0.8, 8: 1.0, 16: 2.0}
"""How long a candidate takes by its number of warps, of what the spec has (8)."""


def warps(file) -> int:
    (rows,) = [one for one in file.manifest["regimes"] if one["name"] == "rows"]
    return rows["parameters"]["NUM_WARPS"]


@pytest.fixture
def scripted(monkeypatch):
    """A machine with one GPU whose times are `SECONDS`; gives the jobs that it was asked."""
    jobs, noise = [], random.Random(0)

    def place(problem, timing):
        return Place("a GPU", "triton 3.6.0", workloads(problem.manifest))

    def measure(job):
        jobs.append(job)
        own, base = SECONDS[warps(job.candidate)], SECONDS[warps(job.anchor)]
        turns = [noise.gauss(1, 0.001) for _ in range(job.rounds)]
        return Answer("measured", tuple(own * one for one in turns), (base,) * job.rounds)

    def crew(executor):
        own = ThreadPoolExecutor(1)
        return Crew(own, place, measure, 1, lambda: own.shutdown(cancel_futures=True))

    monkeypatch.setattr(swept, "crew", crew)
    monkeypatch.setattr(swept, "visible_gpus", lambda: ["0"])
    return jobs


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(swept, "visible_gpus", lambda: [])


def test_without_a_gpu_the_estimate_is_all_and_says_what_it_is(kgen, root, tmp_path, no_gpu):
    told = kgen("sweep", root / SPEC, *AXES, "--store", tmp_path / "s.sqlite", "--explain")
    assert told.code == 2
    assert "rows: 3 candidates, 3 compiled" in told.out
    assert "estimate not yet confirmed for variant rms: not shown as a ranking" in told.out
    assert told.err == (
        "kgen sweep: this machine has no GPU; `kgen sweep --pack DIR` packs the sweep for one that has\n"
    )


def test_a_sweep_measures_tells_and_is_not_measured_again(kgen, root, tmp_path, scripted):
    command = ("sweep", root / SPEC, *AXES, "--store", tmp_path / "s.sqlite")
    told = kgen(*command)
    assert told.code == 0 and not told.err
    assert "rms_4096, regime rows, on a GPU, triton 3.6.0" in told.out
    best, own, last = told.out.split("geometric mean of all shapes\n")[1].splitlines()[1:4]
    assert best.startswith("launch.num_warps=4 ") and "1.250x [" in best
    assert own.startswith("launch.num_warps=8 ") and own.endswith("the spec's")
    assert last.startswith("launch.num_warps=16 ") and "0.500x [" in last
    assert f"complete; the trials are in {tmp_path / 's.sqlite'}" in told.out
    made = len(scripted)
    assert made == 9
    again = json.loads(kgen(*command, "--json").out)
    assert len(scripted) == made and again["state"] == "complete"
    assert [one["settings"]["launch.num_warps"] for one in again["regimes"][0]["overall"]] == [
        4,
        8,
        16,
    ]


def test_an_interrupt_tells_the_best_so_far(kgen, root, tmp_path, scripted, monkeypatch):
    def interrupted(fields, store, crew, timing, plan, progress):
        sweep_all(fields, store, crew, timing, plan, progress)
        raise KeyboardInterrupt

    sweep_all = swept.sweep_all
    monkeypatch.setattr(swept, "sweep_all", interrupted)
    told = kgen("sweep", root / SPEC, *AXES, "--store", tmp_path / "s.sqlite")
    assert told.code == 130
    assert "launch.num_warps=4 " in told.out and "incomplete: interrupted" in told.out


def test_a_sweep_is_packed_and_what_came_of_it_taken_back(kgen, root, tmp_path, scripted):
    from kgen.sweep.pack import STORE, unpacked
    from kgen.sweep.remote import run

    store, folder = ("--store", tmp_path / "s.sqlite"), tmp_path / "pack"
    told = kgen("sweep", root / SPEC, *AXES, *store, "--pack", folder)
    assert told.code == 0
    assert f"3 candidates in {folder}" in told.out
    assert run(unpacked(folder), Store(folder / STORE), swept.crew("")) == 0
    back = kgen("sweep", "--unpack", folder, *store)
    assert back.code == 0
    assert back.out.startswith(f"9 new trials in {tmp_path / 's.sqlite'}\n")
    assert "launch.num_warps=4 " in back.out


def test_strategies_are_replayed_on_a_store(kgen, root, tmp_path, scripted):
    store = tmp_path / "s.sqlite"
    kgen("sweep", root / SPEC, *AXES, "--store", store)
    once = kgen("sweep", "--replay", store)
    assert once.code == 0 and once.out.startswith("trials until within 1 % of the best, seed 0\n")
    assert kgen("sweep", "--replay", store).out == once.out
    found = json.loads(kgen("sweep", "--replay", store, "--json").out)["replay"]
    assert [one["strategy"] for one in found] == ["exhaustive", "random", "tpe"]
    assert all(1 <= one["trials"] <= one["candidates"] == 3 for one in found)


def test_wrong_use_is_told(kgen, root, tmp_path):
    assert "name a spec; only --unpack and --replay need none" in kgen("sweep").err
    told = kgen("sweep", "--replay", tmp_path / "none.sqlite")
    assert told.code == 1 and "KG981: the store cannot be used: there is no such file" in told.err
    (tmp_path / "text").write_text("no database, " * 100)
    assert "KG981" in kgen("sweep", "--replay", tmp_path / "text").err
