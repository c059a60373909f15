"""Joint heads: what one KV head holds reaches no row of another that the same program serves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.cli.bundle import files, write
from kgen.make import make
from kgen.plan.templates import Templates
from kgen.spec import load

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs/attention/gqa4_e4m3_joint.yaml"


@pytest.mark.full
@pytest.mark.parametrize("cache", ["fp8_e4m3", "bf16"])
def test_inf_and_nan_stay_in_the_rows_of_their_own_head(tmp_path, cache):
    made = make(load(SPEC, (f"dtypes.kv={cache}", "workloads={}")), Templates())
    write(files(made, tmp_path))
    command = [sys.executable, str(ROOT / "tests/interpret/poisoned.py"), str(tmp_path)]
    done = subprocess.run(
        [*command, "5", "40", "3"], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    # KV head 5 shares its programs with heads 4, 6 and 7; four query heads are its own
    assert json.loads(done.stdout) == [20, 21, 22, 23]
