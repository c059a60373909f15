"""A packed sweep: it reads back as it was, runs without kgen's dependencies, and what it found comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.sweep.pack import Packed, pack, take_back, unpacked
from kgen.sweep.race import Rules
from kgen.sweep.state import Plan
from kgen.sweep.store import Store

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "measure"), str(TESTS / "sweep")]

from toys import EXITS, WRONG, timing, toy_entrant, toy_field  # noqa: E402

ELSEWHERE = """
import runpy, sys
for name in ("pydantic", "yaml", "jinja2", "black", "rich", "typer", "sympy", "optuna", "scipy", "distributed"):
    sys.modules[name] = None
sys.argv = ["kgen.sweep.remote", {folder!r}]
runpy.run_module("kgen.sweep.remote", run_name="__main__")
"""


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


def packed(*entrants, **plan) -> Packed:
    rules = Rules(first=5, most=10)
    return Packed((toy_field(*entrants),), timing(), Plan(seconds=60.0, rules=rules, **plan))


def test_a_request_reads_back_as_it_was(tmp_path, store):
    first, second = toy_entrant(0), toy_entrant(1, 50, estimates={"a": 1.0}, refused="why")
    wanted = packed(first, second, trials=3)
    pack(tmp_path / "pack", wanted, store)
    found = unpacked(tmp_path / "pack")
    assert (found.timing, found.plan) == (wanted.timing, wanted.plan)
    (field,) = found.fields
    assert field.present is field.entrants[0]
    assert [vars(one) for one in field.entrants] == [vars(first), vars(second)]


def test_a_folder_in_use_is_not_written_to(tmp_path, store):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "notes.txt").write_text("mine")
    with pytest.raises(KgenError, match="KG983: the folder cannot be used: it is not empty"):
        pack(tmp_path / "pack", packed(toy_entrant(0)), store)


@pytest.mark.parametrize("inside", [".", "deeper"])
def test_a_file_in_the_place_of_a_folder_is_told(tmp_path, store, inside):
    (tmp_path / "file").write_text("")
    with pytest.raises(KgenError, match="KG983: the folder cannot be used: Not a directory"):
        pack(tmp_path / "file" / inside, packed(toy_entrant(0)), store)


def test_a_folder_without_a_request_is_told_so(tmp_path, store):
    with pytest.raises(KgenError, match="KG983: .*request.json cannot be read"):
        take_back(tmp_path, store)


def test_a_request_that_somebody_changed_is_told(tmp_path, store):
    pack(tmp_path / "pack", packed(toy_entrant(0)), store)
    path = tmp_path / "pack" / "request.json"
    path.write_text(path.read_text().replace('"present": 0', '"present": 7'))
    with pytest.raises(KgenError, match="KG983: .*request.json cannot be read"):
        take_back(tmp_path / "pack", store)


def test_what_hands_out_trials_loads_neither_torch_nor_what_only_specs_need():
    code = "import sys, kgen.sweep.remote; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = (
        "torch",
        "triton",
        "pydantic",
        "yaml",
        "sympy",
        "optuna",
        "distributed",
        "numpy",
        "rich",
    )
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.full
def test_a_packed_sweep_runs_with_torch_alone_and_its_trials_come_back(tmp_path, store):
    """In real processes, on the scripted host."""
    folder = tmp_path / "pack"
    entrants = [
        toy_entrant(0, 100),
        toy_entrant(1, 50),
        toy_entrant(2, 1, text=WRONG),
        toy_entrant(3, 1, text=EXITS),
    ]
    pack(folder, packed(*entrants), store)
    env = {**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS / 'measure'}"}
    env["CUDA_VISIBLE_DEVICES"] = ""
    command = [sys.executable, "-c", ELSEWHERE.format(folder=str(folder))]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("complete; the trials are in ")
    assert take_back(folder, store) == 4
    statuses = {key.core: one.status for key, one in store.results().items()}
    assert statuses == {
        "core 0": "measured",
        "core 1": "measured",
        "core 2": "wrong",
        "core 3": "crashed",
    }
    fastest = next(one for key, one in store.results().items() if key.core == "core 1")
    assert json.dumps(fastest.logs) and all(0.6 < log < 0.8 for log in fastest.logs)
    assert take_back(folder, store) == 0
