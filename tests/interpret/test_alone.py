"""A request alone and among others (A60): the same bits where the spec asks for that, and other bits by the usual rule."""

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
SPEC = ROOT / "specs/attention/gqa4_bf16_fixed_chunk.yaml"
LENGTHS = ["600", "17", "1100", "0"]
# differences of a last bit are to be seen
EXACT = ("dtypes.out=fp32", "workloads.bench=[]")
LOOP = "regimes.decode.combine={BLOCK_S: 2, partials: fp32}"
USUAL = ("numerics.deterministic=false", "regimes.decode.splits={min_chunk: 64, max: 128}")


def _differing(folder: Path, *overrides: str) -> list[int]:
    made = make(load(SPEC, (*EXACT, *overrides)), Templates())
    assert not made.wrong, "\n".join(map(str, made.findings))
    write(files(made, folder))
    command = [sys.executable, str(ROOT / "tests/interpret/alone.py"), str(folder), *LENGTHS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
@pytest.mark.parametrize("overrides", [(), (LOOP,)], ids=["one turn, bf16", "several turns, fp32"])
def test_parts_of_a_fixed_size_give_the_same_bits_in_every_batch(tmp_path, overrides):
    assert _differing(tmp_path, *overrides) == [0, 0, 0, 0]


@pytest.mark.full
def test_parts_that_follow_from_the_batch_do_not(tmp_path):
    assert any(_differing(tmp_path, *USUAL))
