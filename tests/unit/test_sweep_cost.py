"""The static cost model: figures from declarations, what fits a multiprocessor, and how times follow from them."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.devices import target, targets
from kgen.diagnostics import KgenError
from kgen.expr import evaluate
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.spec import load
from kgen.sweep.cost import CostModel, Usage
from kgen.sweep.model import Candidate, Estimate, Ranked
from kgen.sweep.occupancy import resident
from kgen.sweep.rank import interleaved, rank
from kgen.sweep.shapes import Shape, shapes
from kgen.sweep.space import axes, candidates, current

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

from swept_specs import SPECS  # noqa: E402

ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
PAGED = "specs/attention/gqa8_bf16_page16.yaml"
NORM = "specs/norm/rms_4096.yaml"


@pytest.fixture
def model(root: Path):
    """A cost model, and the spec's own candidate with settings changed."""

    def make(spec: str = PAGED, axis: str = "decode.tile.BLOCK_N=64", **shape: int | None):
        loaded, templates = load(root / spec), Templates()
        one = axes(loaded, templates, [axis])[0]
        at = Shape("here", shape or {"B": 1, "Q": 1, "CAP": 32768, "PAGES": 2049})
        own = dict(current(loaded, templates, one.index).settings)

        def candidate(**settings) -> Candidate:
            changed = {key.replace("__", "."): value for key, value in settings.items()}
            return Candidate(one.regime, tuple(sorted({**own, **changed}.items())))

        return CostModel(build(loaded), one, templates, [at]), candidate

    return make


def _kernels(estimate: Estimate) -> dict:
    return {one.role: one for one in estimate.kernels}


def test_figures_are_those_of_the_declaration(model):
    costs, candidate = model()
    found = _kernels(costs.estimate(candidate(), "here"))
    split, combine = found["split"], found["combine"]
    # 2 waves of 132 programs over 8 heads are 33 parts, fewer than the 64 allowed and the 128 of 256 keys
    assert split.programs == 8 * 33
    assert split.bytes == 8 * 32768 * 128 * 2 * 2
    assert split.operations == 4 * 8 * 8 * 32768 * 128
    assert split.shared_bytes == 2 * 64 * 128 * 2 * 2
    assert split.waves == pytest.approx(8 * 33 / (132 * split.resident))
    assert (combine.programs, combine.shared_bytes) == (64, 0)
    assert combine.bytes == 64 * (33 * 130 * 4 + 128 * 2)


def test_figures_follow_the_plan_s_own_launcher(model, root):
    """The grid that the plan computes at launch is the one that is estimated."""
    costs, candidate = model()
    at = {"B": 1, "Q": 1, "CAP": 32768, "PAGES": 2049}
    for waves, most in ((1, 64), (3, 7), (16, 4096)):
        one = candidate(splits__waves=waves, splits__max=most)
        plan = build(load(root / PAGED, one.overrides()))
        (group,) = plan.regimes[0].groups
        known = {**{name: value for name, (value, _) in plan.constants.items()}, **at}
        for name, value, _ in group.derived:
            known[name] = evaluate(value, known)
        for kernel in group.kernels:
            grid = math.prod(evaluate(extent, known) for extent in kernel.grid)
            assert grid == _kernels(costs.estimate(one, "here"))[kernel.role].programs


def test_more_bytes_never_take_less(model):
    costs, candidate = model(B=1, Q=1, CAP=8192, PAGES=600)
    longer, same = model(B=1, Q=1, CAP=65536, PAGES=5000)
    first, second = costs.estimate(candidate(), "here"), longer.estimate(same(), "here")
    assert first.seconds < second.seconds
    assert not first.compiled


def test_no_kernel_is_faster_than_its_bytes_at_the_device_s_rate(model):
    costs, candidate = model()
    for stages in (1, 2, 4):
        for kernel in costs.estimate(candidate(launch__num_stages=stages), "here").kernels:
            assert kernel.seconds > kernel.bytes / 4.61e12


@pytest.mark.parametrize(
    "slower, faster",
    [
        ({"splits__waves": 1, "splits__max": 1}, {}),
        ({"launch__num_stages": 1}, {"launch__num_stages": 3}),
        ({"tile__BLOCK_N": 16, "launch__num_stages": 2}, {}),
    ],
    ids=["one program a request", "no pipeline", "small tiles"],
)
def test_what_leaves_memory_idle_is_estimated_to_be_slower(model, slower, faster):
    costs, candidate = model()
    before = costs.estimate(candidate(**slower), "here").seconds
    assert before > 1.02 * costs.estimate(candidate(**faster), "here").seconds


def test_a_thread_that_holds_too_much_is_guessed_to_spill(model):
    costs, candidate = model()
    wide = candidate(tile__BLOCK_N=256, launch__num_warps=1)
    split = _kernels(costs.estimate(wide, "here"))["split"]
    assert (split.registers, split.spill_bytes > 1000) == (255, True)
    assert _kernels(costs.estimate(candidate(), "here"))["split"].spill_bytes == 0


def test_what_was_compiled_takes_the_place_of_the_guess(model):
    costs, candidate = model()
    usage = {"split": Usage(168, 0, 70_000), "combine": Usage(40, 0, 2048)}
    found = costs.estimate(candidate(), "here", usage)
    split = _kernels(found)["split"]
    assert found.compiled
    assert (split.registers, split.shared_bytes, split.resident) == (168, 70_000, 3)
    spilling = {**usage, "split": Usage(255, 4096, 70_000)}
    assert costs.estimate(candidate(), "here", spilling).seconds > found.seconds


def test_a_program_that_does_not_fit_has_no_time(model):
    costs, candidate = model()
    usage = {"split": Usage(168, 0, 300_000), "combine": Usage(40, 0, 2048)}
    found = costs.estimate(candidate(), "here", usage)
    assert (found.seconds, _kernels(found)["split"].resident) == (math.inf, 0)


def test_a_figure_without_a_value_is_told_with_its_place(model):
    costs, candidate = model(ATTENTION, "decode.tile.BLOCK_N=64", B=1, Q=1, WINDOW=None, CAP=64)
    assert costs.estimate(candidate(), "here").seconds > 0
    broken, other = model(B=0, Q=1, CAP=64, PAGES=1)
    with pytest.raises(KgenError) as caught:
        broken.estimate(other(), "here")
    assert "attention/split_k/variant.yaml: KG859: `SPLITS` has no value at here" in str(
        caught.value
    )
    assert "division by zero" in str(caught.value)


def test_programs_fit_by_what_is_scarcest():
    sm_90 = target("sm_90")
    assert resident(sm_90, threads=128, registers=32, shared_bytes=0) == 16
    assert resident(sm_90, threads=32, registers=16, shared_bytes=0) == 32
    assert resident(sm_90, threads=128, registers=168, shared_bytes=0) == 3
    assert resident(sm_90, threads=128, registers=161, shared_bytes=0) == 3
    assert resident(sm_90, threads=128, registers=32, shared_bytes=232448) == 1
    assert resident(sm_90, threads=128, registers=32, shared_bytes=115712) == 2
    assert resident(sm_90, threads=128, registers=32, shared_bytes=232449) == 0
    assert resident(sm_90, threads=1024, registers=65, shared_bytes=0) == 0


@given(
    name=st.sampled_from(sorted(targets())),
    threads=st.sampled_from([32, 64, 128, 256, 512, 1024]),
    registers=st.integers(1, 255),
    shared=st.integers(0, 240_000),
)
def test_what_is_resident_fits_together_and_one_more_would_not(name, threads, registers, shared):
    on = target(name)
    held = resident(on, threads, registers, shared)
    assert held * threads <= on.sm_threads
    assert held * threads * registers <= on.sm_registers
    assert held * shared <= on.sm_shared_bytes
    assert resident(on, threads, registers, shared + 1000) <= held
    assert resident(on, threads, min(registers + 9, 255), shared) <= held


def test_one_cta_with_the_most_shared_memory_fits_every_target():
    for on in targets().values():
        assert resident(on, on.warp_size, 16, on.shared_bytes) == 1


def test_shapes_are_the_timed_workloads_that_the_regime_serves(root):
    plan = build(load(root / PAGED))
    assert [one.name for one in shapes(plan, "decode")] == ["B 1 Q 1 S 32768", "B 8 Q 1 S 8192"]
    (batch,) = shapes(plan, "large_batch")
    assert batch.axes == {"B": 128, "Q": 1, "CAP": 4096, "PAGES": 128 * 256 + 1}


def test_a_regime_without_a_timed_workload_cannot_be_ranked(root):
    with pytest.raises(KgenError) as caught:
        shapes(build(load(root / ATTENTION)), "verify_one")
    text = str(caught.value)
    assert "yaml:34:10: KG857: no workload in `workloads.bench` runs in regime verify_one" in text
    assert "those there are run in `decode`, `rest`" in text


@pytest.mark.parametrize("spec", SPECS)
def test_every_spec_is_ranked(root, spec):
    loaded, templates = load(root / spec), Templates()
    swept = "launch.num_warps=4,8" if "norm" in spec else "tile.BLOCK_N=32,64"
    first = next(one.name for one in loaded.document.regimes if one.variant)
    found = axes(loaded, templates, [f"{first}.{swept}"])
    if not loaded.document.workloads.bench:
        with pytest.raises(KgenError, match="no workload in `workloads.bench`"):
            rank(loaded, templates, found)
        return
    ranking = rank(loaded, templates, found)
    assert ranking.size == len(ranking.ranked) + sum(one.count for one in ranking.dropped)
    for shape in ranking.shapes:
        order = ranking.by_estimate(shape.name)
        seconds = [one.at(shape.name).seconds for one in order]
        assert seconds == sorted(seconds)
        assert all(0 < one < 1 for one in seconds)
    every = [one.candidate for one in ranking.best()]
    assert sorted(map(str, every)) == sorted(str(one.candidate) for one in ranking.ranked)


def test_regimes_are_ranked_one_at_a_time(root):
    loaded, templates = load(root / PAGED), Templates()
    keys = ["decode.tile.BLOCK_N=64", "large_batch.tile.BLOCK_N=64"]
    with pytest.raises(ValueError, match="axes of several regimes"):
        rank(loaded, templates, axes(loaded, templates, keys))


def test_the_best_of_a_ranking_are_unlike_each_other(root):
    """Beyond the parts that a request can have, `splits.max` changes nothing at the shapes asked."""
    loaded, templates = load(root / ATTENTION), Templates()
    found = axes(loaded, templates, ["decode.splits.max=200,300,400", "decode.splits.waves=1"])
    first = [next_ for next_, _ in zip(rank(loaded, templates, found).best(), range(18))]
    assert {dict(one.candidate.settings)["splits.max"] for one in first} == {200}


def _ranked(name: str, seconds: float) -> Ranked:
    estimate = Estimate("x", seconds, (), False)
    return Ranked(Candidate("r", (("variant", name),)), (estimate,))


def test_orders_take_turns():
    a, b, c = _ranked("a", 1), _ranked("b", 2), _ranked("c", 3)
    assert list(interleaved([[a, b, c], [c, b, a]])) == [a, c, b]


def test_a_candidate_has_the_estimate_of_its_own_settings(root):
    """Figures are computed once for many candidates: each still gets what it would get alone."""
    loaded, templates = load(root / PAGED), Templates()
    keys = ["decode.tile.BLOCK_N=32,128", "decode.splits.waves=1,4", "decode.splits.max=8,64"]
    (one,) = axes(loaded, templates, [*keys, "decode.launch.num_stages=2,4"])
    at = [Shape("here", {"B": 2, "Q": 1, "CAP": 8192, "PAGES": 1025})]
    plan = build(loaded)
    together = CostModel(plan, one, templates, at)
    for candidate in candidates(one):
        own = [f"decode.{key}={value}" for key, value in candidate.settings]
        (single,) = axes(loaded, templates, own)
        assert together.ranked(candidate) == CostModel(plan, single, templates, at).ranked(
            candidate
        )
    assert len({together.ranked(c).estimates for c in candidates(one)}) >= 8


def test_a_value_that_another_candidate_cannot_have_costs_this_one_nothing(root, tmp_path):
    """The tile of the first candidate has no logarithm; the figures of warps alone do not look at it."""
    folder = tmp_path / "norm" / "generic"
    shutil.copytree(root / "templates" / "norm" / "generic", folder)
    declared = (folder / "variant.yaml").read_text()
    assert "constraints:" in declared
    derived = "let:\n  SHIFT: {value: log2(BLOCK_H), doc: of the tile}\n\nconstraints:\n"
    (folder / "variant.yaml").write_text(declared.replace("constraints:\n", derived))
    loaded, templates = load(root / NORM), Templates([tmp_path])
    keys = ["rows.variant=generic", "rows.tile.BLOCK_H=96,1024", "rows.launch.num_warps=4"]
    (one,) = axes(loaded, templates, keys)
    costs = CostModel(build(loaded), one, templates, [Shape("here", {"T": 64, "H": 4096})])
    seconds = [costs.estimate(candidate, "here").seconds for candidate in candidates(one)]
    assert len(set(seconds)) == 2


def test_a_figure_of_what_only_the_gpu_knows_is_told(root):
    loaded, templates = load(root / PAGED), Templates()
    template = templates.find("attention", "split_k")
    split = template.variant.kernels["split"].model_copy(update={"bytes": "B * S"})
    kernels = {**template.variant.kernels, "split": split}
    variant = template.variant.model_copy(update={"kernels": kernels})
    templates._loaded["attention", "split_k"] = replace(template, variant=variant)
    (one,) = axes(loaded, templates, ["decode.tile.BLOCK_N=64"])
    at = [Shape("here", {"B": 1, "Q": 1, "CAP": 64, "PAGES": 5})]
    costs = CostModel(build(loaded), one, templates, at)
    with pytest.raises(KgenError, match="KG859: `B \\* S` has no value at here: `S` has no value"):
        costs.ranked(next(candidates(one)))
