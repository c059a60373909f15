"""`python -m kgen.runner test`: JSON lines, a table last, and an exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: object) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
    return subprocess.run(
        [sys.executable, "-m", "kgen.runner", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_results_go_to_a_file_and_the_table_to_stdout(bundle, tmp_path):
    out = tmp_path / "results.jsonl"
    directory = bundle("vector_add", ("m = o < n", "m = o <= n"))
    done = run("test", directory, "--mode", "interpret", "--seed", "1", "--out", out)
    assert done.returncode == 1
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["record"] for record in records] == ["case", "case", "summary"]
    assert records[1]["failures"][0]["code"] == "KG703"
    assert records[1]["failures"][0]["element"] == [75]
    assert records[2]["counts"] == {"passed": 1, "failed": 1, "error": 0, "skipped": 0}
    assert records[2]["seed"] == 1
    assert not records[2]["passed"]
    lines = done.stdout.splitlines()
    assert lines[0].startswith("passed  one_block  all, error 0.00 of what is allowed")
    assert lines[2].startswith("        KG703: submission.py:12: load out of bounds: 'p_x'")
    assert lines[-1].startswith("1 passed, 1 failed in ")
    assert "seed 1; Triton's interpreter on " in lines[-1]


def test_without_a_file_stdout_holds_json_lines_only(bundle):
    done = run("test", bundle("vector_add"), "--mode", "interpret", "--filter", "one")
    assert done.returncode == 0
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["record"] for record in records] == ["case", "summary"]
    assert "1 passed in " in done.stderr


def test_a_bundle_without_a_manifest_is_refused(bundle):
    directory = bundle("vector_add")
    (directory / "manifest.json").unlink()
    done = run("test", directory, "--mode", "interpret")
    assert done.returncode == 1
    assert done.stderr == f"KG716: {directory / 'manifest.json'}: No such file or directory\n"
    assert json.loads(done.stdout)["record"] == "refused"


def test_a_filter_that_matches_nothing_does_not_exit_with_success(bundle):
    done = run("test", bundle("vector_add"), "--mode", "interpret", "--filter", "nonesuch")
    assert done.returncode == 1
    assert "no case ran" in done.stderr


def test_wrong_use_exits_with_2(bundle):
    assert run("test", bundle("vector_add"), "--mode", "nonesuch").returncode == 2
