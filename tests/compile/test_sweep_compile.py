"""The best candidates compiled without a GPU and ranked again by what the compiler made of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kgen.compile import Job, Resources
from kgen.make import make
from kgen.plan.templates import Templates
from kgen.spec import load
from kgen.sweep.compile_rank import CompileRanking, compile_best
from kgen.sweep.model import Compiled
from kgen.sweep.rank import Ranking, rank
from kgen.sweep.space import axes

SPEC = "specs/norm/rms_4096.yaml"
ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
ONE_CALL = ("workloads.bench=[{T: 64}]",)


@pytest.fixture(scope="session")
def compiled_cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sweep-cache")


@pytest.fixture
def compiled(root: Path, compiled_cache: Path):
    """Axes of the regime `rows` to their ranking, before and after compiling."""

    def run(
        *extra: str, count: int = 8, templates: Templates | None = None, **options
    ) -> tuple[Ranking, CompileRanking]:
        templates = templates or Templates()
        spec = load(root / SPEC, ONE_CALL)
        ranking = rank(spec, templates, axes(spec, templates, [f"rows.{one}" for one in extra]))
        options = {"cache_dir": compiled_cache, **options}
        return ranking, compile_best(ranking, templates, count, **options)

    return run


def _by(found: CompileRanking, key: str) -> dict[object, Compiled]:
    return {dict(one.ranked.candidate.settings)[key]: one for one in found.compiled}


def test_candidates_get_the_compiler_s_own_figures_and_are_ranked_again(compiled):
    told: list[tuple[int, int]] = []
    before, after = compiled(
        "variant=generic",
        "tile.BLOCK_H=256,1024",
        "launch.num_warps=8",
        on_done=lambda done, of: told.append((done, of)),
    )
    assert told == [(1, 2), (2, 2)]
    assert not any(one.estimates[0].compiled for one in before.ranked)
    for one in after.compiled:
        (estimate,) = one.ranked.estimates
        assert (one.refused, one.spill_bytes, estimate.compiled) == ("", 0, True)
        assert estimate.kernels[0].shared_bytes > 0
    assert list(after.compiled) == after.by_estimate("T 64 H 4096")
    assert set(_by(after, "tile.BLOCK_H")) == {256, 1024}


@pytest.mark.full
def test_what_spills_is_kept_and_marked(compiled):
    """The spec's `limits.spill_bytes` is 0: that is for what is emitted, not for what is tried."""
    _, after = compiled("variant=generic", "tile.BLOCK_H=4096", "launch.num_warps=1,8")
    found = _by(after, "launch.num_warps")
    assert found[8].spill_bytes == 0
    assert found[1].spill_bytes > 0
    (kernel,) = found[1].ranked.estimates[0].kernels
    assert (kernel.registers, kernel.spill_bytes) == (255, found[1].spill_bytes)
    assert found[1].refused == ""


def test_the_core_is_that_of_the_file_that_would_be_emitted(compiled, root):
    _, after = compiled("launch.num_warps=8")
    (one,) = after.compiled
    spec = load(root / SPEC, [*ONE_CALL, *one.ranked.candidate.overrides()])
    assert make(spec, Templates()).manifest["core_sha256"] == one.core_sha256


def test_the_best_are_compiled_and_no_more(compiled):
    ranking, after = compiled("variant=generic", "tile.BLOCK_H=256,1024", count=1)
    (one,) = after.compiled
    assert one.ranked.candidate == next(ranking.best()).candidate


def test_what_the_compiler_gives_up_is_recorded_with_its_candidate(compiled, tmp_path):
    _, after = compiled("launch.num_warps=4", timeout=0.001, cache_dir=tmp_path)
    (one,) = after.compiled
    assert "rms_kernel[" in one.refused and "was not compiled" in one.refused
    assert not one.ranked.estimates[0].compiled
    assert after.by_estimate("T 64 H 4096") == []


@pytest.fixture
def own(root: Path, tmp_path: Path) -> Templates:
    """The generic norm, with a tile that is refused, one that cannot be proved, and a setting that changes nothing."""
    folder = tmp_path / "norm" / "generic"
    shutil.copytree(root / "templates" / "norm" / "generic", folder)
    declared = (folder / "variant.yaml").read_text()
    extra = "  IDLE: {key: tile.IDLE, type: int, default: 0, min: 0, max: 9, doc: nothing}\n"
    never = (
        "  - {require: T != 77 or BLOCK_H != 512, why: 77 rows are too many}\n"
        "  - {require: IDLE < 9, why: nothing}\n"
    )
    declared = declared.replace("parameters:\n", f"parameters:\n{extra}")
    declared = declared.replace("constraints:\n", f"constraints:\n{never}")
    (folder / "variant.yaml").write_text(declared)
    kernel = (folder / "kernel.py.j2").read_text()
    refusing = '    tl.static_assert(BLOCK_H != 1024, "planted")\n    i_t'
    assert "    i_t" in kernel
    (folder / "kernel.py.j2").write_text(kernel.replace("    i_t", refusing, 1))
    return Templates([tmp_path])


def test_what_cannot_be_proved_is_not_rendered_and_what_is_refused_or_the_same_is_told(
    compiled, own
):
    ranking, after = compiled(
        "variant=generic",
        "tile.BLOCK_H=512,1024,2048",
        "tile.IDLE=0,1",
        "launch.num_warps=8",
        templates=own,
    )
    assert len(ranking.ranked) == 6
    found = _by(after, "tile.BLOCK_H")
    assert set(found) == {1024, 2048}
    assert "row_kernel[" in found[1024].refused and "planted" in found[1024].refused
    assert after.compiled[-1] == found[1024]
    assert found[2048].refused == ""
    for one in found.values():
        (same,) = one.same
        assert dict(same.settings)["tile.IDLE"] == 1
    (dropped,) = after.dropped
    assert (dropped.rule, dropped.count) == ("T != 77 or BLOCK_H != 512", 2)
    assert dropped.why == "not proved: false at H = 4096, T = 77"


def test_a_shape_is_estimated_by_the_kernels_that_it_launches(root, tmp_path, monkeypatch):
    """With a window and without one are two kernels; one that spills says nothing of the other."""
    whole = Resources("compiled", 90, 0, 0, 1024, 0)
    windowed = Resources("compiled", 255, 64, 64, 2048, 0)

    def compile_all(jobs: list[Job], **options) -> list[Resources]:
        return [windowed if "window" in job.function else whole for job in jobs]

    monkeypatch.setattr("kgen.sweep.compile_rank.compile_all", compile_all)
    bench = "workloads.bench=[{B: 8, Q: 1, S: 512}, {B: 8, Q: 1, S: 512, WINDOW: 4096}]"
    spec, templates = load(root / ATTENTION, [bench]), Templates()
    own = ["decode.tile.BLOCK_N=32", "decode.launch.num_warps=4", "decode.launch.num_stages=2"]
    ranking = rank(spec, templates, axes(spec, templates, own))
    (one,) = compile_best(ranking, templates, 1, cache_dir=tmp_path).compiled
    found = [
        [(kernel.role, kernel.registers, kernel.spill_bytes) for kernel in estimate.kernels]
        for estimate in one.ranked.estimates
    ]
    assert [estimate.shape for estimate in one.ranked.estimates] == [
        "B 8 Q 1 S 512",
        "B 8 Q 1 window 4096 S 512",
    ]
    assert found == [
        [("split", 90, 0), ("combine", 90, 0)],
        [("split", 255, 64), ("combine", 255, 64)],
    ]
    assert one.spill_bytes == 64
