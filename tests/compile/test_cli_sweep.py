"""`kgen sweep`: where no GPU is, on a scripted crew, packed and taken back, replayed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.cli import swept
from kgen.sweep.store import Store

SWEEP = Path(__file__).parents[1] / "sweep"
sys.path.insert(0, str(SWEEP))

from one_gpu import UNDER_WAY, OneGpu, warps  # noqa: E402

SPEC = "specs/norm/rms_4096.yaml"
AXES = ("--axis", "rows.launch.num_warps=4,8,16")


@pytest.fixture
def scripted(monkeypatch):
    """A machine with one GPU whose times are `SECONDS`; gives the jobs that it was asked."""
    gpu = OneGpu()
    monkeypatch.setattr(swept, "crew", lambda executor: gpu.crew())
    monkeypatch.setattr(swept, "visible_gpus", lambda: ["0"])
    return gpu.jobs


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(swept, "visible_gpus", lambda: [])


def test_without_a_gpu_the_estimate_is_all_and_says_what_it_is(kgen, root, tmp_path, no_gpu):
    told = kgen("sweep", root / SPEC, *AXES, "--store", tmp_path / "s.sqlite", "--explain")
    assert told.code == 2
    assert "rows: 3 candidates, 3 compiled" in told.out
    assert "rows: 3 candidates, 3 compiled\nno rule dropped any\n" in told.out
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


@pytest.mark.full
def test_a_signal_tells_the_best_so_far_and_running_again_goes_on(
    kgen, root, tmp_path, cache, scripted
):
    command = ("sweep", str(root / SPEC), *AXES, "--store", str(tmp_path / "s.sqlite"))
    process = subprocess.Popen(
        [sys.executable, SWEEP / "one_gpu.py", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KGEN_CACHE": str(cache), "PYTHONPATH": str(root)},
    )
    assert process.stderr.readline() == f"{UNDER_WAY}\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "kgen sweep: interrupted; the rest was not run\n"
    (best,) = [line for line in out.split("geometric mean")[1].splitlines() if "=4" in line]
    assert "1.250x [" in best and "2 measured, 0 without a time, 1 not tried" in out
    assert "incomplete: interrupted; the trials are in" in out
    store = Store(tmp_path / "s.sqlite")
    assert [state for _, _, state in store.runs()] == ["incomplete"]
    again = kgen(*command)
    assert again.code == 0 and "3 measured, 0 without a time" in again.out
    assert {warps(job.candidate) for job in scripted} == {16} and len(scripted) == 3
    assert [state for _, _, state in store.runs()] == ["incomplete", "complete"]
    store.close()


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
    told = kgen("sweep", "--replay", tmp_path / "a.sqlite", "--unpack", tmp_path)
    assert told.code == 2 and "each is a thing of its own" in told.err
    told = kgen("sweep", "--replay", tmp_path / "none.sqlite")
    assert told.code == 2 and "KG981: the store cannot be used: there is no such file" in told.err
    assert told.err.endswith("kgen sweep: nothing was replayed\nkgen sweep: 1 error\n")
    (tmp_path / "text").write_text("no database, " * 100)
    told = kgen("sweep", "--replay", tmp_path / "text")
    assert told.code == 2 and "KG981" in told.err


@pytest.mark.parametrize(
    ("axis", "code"),
    [
        ("rows", "KG851"),
        ("nowhere.tile.BLOCK_H=1", "KG852"),
        ("rows.tile.nothing=1", "KG853"),
        ("rows.launch.num_warps=many", "KG854"),
        ("rows.launch.num_warps=4,4", "KG855"),
    ],
)
def test_an_axis_that_means_nothing_is_wrong_use(kgen, root, tmp_path, no_gpu, axis, code):
    told = kgen("sweep", root / SPEC, "--axis", axis, "--store", tmp_path / "s.sqlite")
    assert told.code == 2 and f"<--axis 1>:1:1: {code}: " in told.err


def test_each_row_of_a_rule_names_the_variant_that_it_is_of(kgen, root, tmp_path, no_gpu):
    axes = ("--axis", "rows.variant=rms,generic", "--axis", "rows.tile.BLOCK_H=96,4096")
    told = kgen("sweep", root / SPEC, *axes, "--store", tmp_path / "s.sqlite", "--explain")
    head, row = told.out.splitlines()[1:3]
    assert head.split()[:3] == ["dropped", "variant", "rule"] and row.split()[1] == "generic"
    assert "<--axis 2>:1:1" in row


def test_shapes_of_a_sweep_are_not_those_of_a_judge(kgen):
    told = " ".join(kgen("sweep", "--help").out.replace("│", " ").split())
    assert "Part of the names of the workloads that are measured" in told
    assert "judged" not in told
