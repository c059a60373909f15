"""The benchmark of the generator runs and measures what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full


def test_the_generator_benchmark_measures_processes_variants_checks_and_compiling(root, tmp_path):
    figures_file = tmp_path / "figures.json"
    options = ("--runs", "1", "--variants", "6", "--json", str(figures_file))
    done = subprocess.run(
        [sys.executable, str(root / "benchmarks" / "generator.py"), *options],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(figures_file.read_text())
    assert [row["runs"] for row in figures["processes"]] == [1, 1, 1]
    assert all(row["median"] > 0 for row in figures["processes"])
    assert {"sympy", "black", "torch", "triton"} & set(figures["imports"]["packages"]) == set()
    assert (figures["variants"]["variants"], figures["variants"]["distinct"]) == (6, 6)
    assert all(row["proved"] == row["obligations"] > 0 for row in figures["checks"])
    assert {row["target"] for row in figures["compiling"]} >= {"sm_80", "gfx942"}
    assert "kgen render, filled cache" in done.stdout


def test_without_a_gpu_the_script_that_measures_says_so_and_leaves_nothing(root, tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "benchmarks/measure_gpu.sh", str(tmp_path / "out"), "judge"],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PATH": path, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 1
    assert done.stdout.count("judge: this machine has no GPU that torch sees") == 2
    assert [one for one in (tmp_path / "out").rglob("*") if one.is_file()] == []


def test_the_prover_benchmark_measures_processes_and_launchers(root, tmp_path):
    figures_file = tmp_path / "figures.json"
    options = ("--runs", "1", "--spec", "rms_odd", "--json", str(figures_file))
    done = subprocess.run(
        [sys.executable, str(root / "benchmarks" / "prover.py"), *options],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(figures_file.read_text())
    assert [row["kgen check"] for row in figures["processes"]] == ["new cache", "filled cache"]
    assert all(row["proved"] == row["obligations"] > 0 for row in figures["launchers"])


def test_the_sweep_benchmark_measures_the_space_estimates_and_compiling(root, tmp_path):
    figures_file = tmp_path / "figures.json"
    options = ("--candidates", "500", "--compiled", "1", "--finished", "20", "--json")
    done = subprocess.run(
        [sys.executable, str(root / "benchmarks" / "sweep.py"), *options, str(figures_file)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(figures_file.read_text())["rows"]
    assert [row["candidates"] for row in rows[:2]] == [500, 500]
    assert rows[2]["candidates"] == 500 - rows[3]["dropped"]
    assert [row["candidates"] for row in rows[4:]] == [1, 1, 1, 20, 20]
    assert all(row["rate"] > 0 for row in rows)
    assert "all three" in done.stdout
