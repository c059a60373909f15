"""What joint heads are for: copies of an FP8 cache that are as wide as copies get, and what they take on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.cli.bundle import files, write
from kgen.compile import Resources, compile_all, manifest_jobs
from kgen.make import make
from kgen.plan.templates import Templates
from kgen.spec import load

SPEC = Path(__file__).parents[2] / "specs" / "attention" / "gqa4_e4m3_joint.yaml"
PLAIN = ("scales={k: none, v: none}", "interface.args=[q, k_cache, v_cache, block_table, seq_lens]")


def _split(folder: Path, *changes: str) -> Resources:
    made = make(load(SPEC, ("workloads={}", *PLAIN, *changes)), Templates())
    write(files(made, folder))
    jobs = manifest_jobs(made.manifest, folder / "submission.py", ["sm_90"])
    (one,) = [job for job in jobs if job.function == "split_kernel"]
    (found,) = compile_all([one], workers=1, cache_dir=folder / "cache")
    return found


@pytest.mark.full
def test_values_of_joint_heads_are_copied_sixteen_bytes_at_a_time(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "joint").mkdir()
    one = _split(tmp_path / "one", "regimes.decode.tile={BLOCK_N: 32}")
    joint = _split(tmp_path / "joint")
    assert "async_copies_8B" in one.instructions
    assert {name for name in joint.instructions if name.startswith("async_copies_")} == {
        "async_copies_16B"
    }
    # the rows of a head are one warp's: a turn has no exchange of maxima and sums
    assert joint.instructions["barriers"] < one.instructions["barriers"]
    assert joint.spill_bytes == 0
