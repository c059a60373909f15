"""Jobs for the hand-written kernels, and their resources, compiled once for all tests here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kgen.compile import Job, Resources, compile_all

KERNELS = Path(__file__).with_name("kernels")
POINTERS = ("p_a", "p_b", "p_c")
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120", "gfx942")


def make_job(function: str, target: str = "sm_90", *, file: str = "sound.py", **changes) -> Job:
    """A job for a kernel of `kernels/<file>`: `types` of the run-time arguments, `constants` and
    more.
    """
    constants = changes.pop("constants", {})
    signature = {**changes.pop("types"), **dict.fromkeys(constants, "constexpr")}
    defaults = {"divisible_by_16": (), "num_warps": 4, "num_stages": 3}
    return Job(
        source=KERNELS / file,
        function=function,
        signature=signature,
        constants=constants,
        target=target,
        **{**defaults, **changes},
    )


def matmul_job(target: str, tile: int = 64, **changes) -> Job:
    """The matrix product of `tile` x `tile`, bf16."""
    return make_job(
        "matmul",
        target,
        types={"p_a": "*bf16", "p_b": "*bf16", "p_c": "*fp32", "stride": "i64", "K": "i32"},
        constants={"M": tile, "N": tile, "BLOCK_K": 64},
        divisible_by_16=(*POINTERS, "stride"),
        **changes,
    )


def copy_job(target: str, divisible_by_16: tuple[str, ...]) -> Job:
    """The copy of 2048 bf16 elements."""
    return make_job(
        "copy",
        target,
        types={"p_x": "*bf16", "p_y": "*bf16", "n": "i64"},
        constants={"BLOCK": 2048},
        divisible_by_16=divisible_by_16,
    )


def _jobs() -> dict[str, Job]:
    jobs = {f"matmul {target}": matmul_job(target) for target in TARGETS}
    for target in ("sm_90", "gfx942"):
        jobs[f"aligned copy {target}"] = copy_job(target, ("p_x", "p_y"))
        jobs[f"misaligned copy {target}"] = copy_job(target, ())
        jobs[f"hoard {target}"] = make_job(
            "hoard",
            target,
            types={"p_x": "*fp32", "p_y": "*fp32"},
            constants={"M": 16 if target == "sm_90" else 64, "N": 512},
            num_warps=1 if target == "sm_90" else 2,
        )
    jobs["large matmul sm_120"] = matmul_job("sm_120", 128, num_stages=5)
    for target in ("sm_80", "sm_90"):
        jobs[f"by_target {target}"] = make_job(
            "by_target", target, types={"p_x": "*i32"}, constants={"COUNT": 7}
        )
    jobs["doubles"] = make_job("doubles", types={"p_x": "*fp64"})
    jobs["optional"] = make_job(
        "optional", types={"p_x": "*fp32"}, constants={"p_bias": None, "DTYPE": "tl.float16"}
    )
    return jobs


@pytest.fixture(scope="session")
def jobs() -> Mapping[str, Job]:
    """Every sound job by name."""
    return _jobs()


@pytest.fixture(scope="session")
def compiled(jobs, tmp_path_factory) -> Mapping[str, Resources]:
    """What each of `jobs` compiled to."""
    results = compile_all(list(jobs.values()), cache_dir=tmp_path_factory.mktemp("cache"))
    return dict(zip(jobs, results))


@pytest.fixture(scope="session")
def job() -> Callable[..., Job]:
    """`make_job`."""
    return make_job
