"""How the parts of a request are summed: what a spec may ask of it, and what becomes of that in the emitted file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.templates import Templates
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load
from kgen.sweep.cost import CostModel
from kgen.sweep.shapes import Shape
from kgen.sweep.space import axes, current

PAGED = "specs/attention/gqa8_bf16_page16.yaml"
BLOCK, WARPS = "regimes.decode.combine.BLOCK_S", "regimes.decode.combine.num_warps"
LOOP = "for i_s in tl.range(0, b_parts, BLOCK_S):"


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    return functools.cache(lambda *overrides: render(build(load(root / PAGED, overrides))))


def _function(text: str, name: str) -> str:
    return text.partition(f"def {name}(")[2].partition("\n\n\n")[0]


# ---------------------------------------------------------------- parts of a turn, warps


def test_parts_that_fit_one_tile_are_summed_without_a_loop(rendered):
    text = rendered(f"{BLOCK}=64").text
    combine = _function(text, "combine_one_turn_kernel")
    assert combine and LOOP not in combine and "for " not in combine
    assert "b_alpha" not in combine and "BLOCK_S=64" in _function(text, "launch_decode")


def test_parts_that_take_several_tiles_are_summed_in_turns(rendered):
    plain, halved = rendered().text, rendered(f"{BLOCK}=16").text
    assert LOOP in _function(plain, "combine_kernel")
    assert _function(plain, "combine_kernel") == _function(halved, "combine_kernel")
    assert "BLOCK_S=16" in _function(halved, "launch_decode")


def test_what_splits_has_one_name_however_its_parts_are_summed(rendered):
    plain, single = (rendered(*one).text for one in ((), (f"{BLOCK}=64",)))
    assert _function(plain, "split_kernel") == _function(single, "split_kernel") != ""


def test_the_combine_has_warps_of_its_own(rendered):
    launcher = _function(rendered(f"{WARPS}=8").text, "launch_decode")
    assert [line.strip() for line in launcher.splitlines() if "num_warps" in line] == [
        "num_warps=4,",
        "num_warps=8,",
    ]


def test_only_what_a_spec_asks_for_is_mentioned(rendered):
    header = rendered().text.partition("import torch")[0]
    assert "MAX_SPLITS=64" in header and "COMBINE" not in header
    assert "COMBINE_BLOCK_S=64" in rendered(f"{BLOCK}=64").text
    for regime in rendered().manifest["problem"]["regimes"]:
        assert not any("COMBINE" in name for name in regime["parameters"])


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (f"{BLOCK}=0", "KG411: combine.BLOCK_S is 0, less than 1"),
        (f"{WARPS}=3", "KG411: combine.num_warps cannot be 3"),
        ("regimes.decode.combine.BLOCK_N=3", "KG410: variant split_k has no parameter combine.BLOCK_N"),
    ],
)  # fmt: skip
def test_what_no_combine_can_be_is_refused(root, override, said):
    with pytest.raises(KgenError) as refused:
        build(load(root / PAGED, [override]))
    assert said in str(refused.value)


def test_a_sweep_tries_what_is_named_and_leaves_the_rest_to_defaults(root):
    spec, templates = load(root / PAGED), Templates()
    assert not any("combine" in key for key, _ in current(spec, templates, 0).settings)
    whole, *_ = axes(spec, templates, everything=True)
    assert not any("combine" in key for key in whole.values)
    (asked,) = axes(spec, templates, ["decode.combine.BLOCK_S=32,64"])
    assert asked.values["combine.BLOCK_S"] == (32, 64)
    kept = current(load(root / PAGED, [f"{BLOCK}=64"]), templates, 0)
    assert dict(kept.settings)["combine.BLOCK_S"] == 64
    assert "regimes.decode.combine={BLOCK_S: 64}" in kept.overrides()


# ---------------------------------------------------------------- one part


DIRECT = "regimes.decode.splits.direct"


def test_a_call_with_one_part_stores_its_result_and_nothing_else(rendered):
    text = rendered(f"{DIRECT}=true").text
    launcher = _function(text, "launch_decode_direct")
    assert "direct_kernel[(B, HK)](" in launcher
    assert not any(word in launcher for word in ("combine", "partial", "torch.empty"))
    kernel = _function(text, "direct_kernel")
    assert "p_out +" in kernel and "p_lse +" in kernel and "partial" not in kernel


def test_the_dispatcher_asks_for_the_number_of_parts(rendered):
    entry = _function(rendered(f"{DIRECT}=true").text, "run")
    assert "if max(1, min(64, 2 * SMS // (B * HK), ceil_div(CAP, 256))) == 1:" in entry
    assert entry.index("launch_decode_direct(") < entry.index("launch_decode(")
    plain = rendered().text
    assert "direct" not in plain and _function(plain, "split_kernel") == _function(
        rendered(f"{DIRECT}=true").text, "split_kernel"
    )


def test_where_there_is_never_more_than_one_part_nothing_is_asked(rendered):
    source = rendered(f"{DIRECT}=true", "regimes.decode.splits.max=1")
    assert source.manifest["regimes"][0]["launches"] == [["direct_kernel"]]
    assert "ceil_div(CAP" not in _function(source.text, "run")


@pytest.mark.parametrize(("requests", "roles"), [(1, ["split", "combine"]), (200, ["direct"])])
def test_a_cost_is_that_of_the_kernels_that_are_launched(root, requests, roles):
    spec, templates = load(root / PAGED, [f"{DIRECT}=true"]), Templates()
    only, *_ = axes(spec, templates, ["decode.splits.direct=true"])
    at = Shape("here", {"B": requests, "Q": 1, "CAP": 32768, "PAGES": 2049})
    costs = CostModel(build(spec), only, templates, [at])
    found = costs.estimate(current(spec, templates, 0), "here")
    assert [one.role for one in found.kernels] == roles


def test_a_window_that_one_part_holds_is_never_divided(root):
    spec = load(root / "specs/attention/gqa8_fp8_page1.yaml", [f"{DIRECT}=true", "axes.WINDOW={values: [none, 100]}"])  # fmt: skip
    source = render(build(spec))
    decode = source.manifest["regimes"][0]
    assert decode["launchers"] == ["launch_decode_direct", "launch_decode", "launch_decode_window_direct"]  # fmt: skip
    assert "combine_window_kernel" not in sum(decode["launches"], [])


def test_a_kernel_that_stores_results_takes_tiles_of_rows(rendered):
    wide = ("axes.G={const: 24}", "regimes.decode.tile={BLOCK_M: 16}", f"{DIRECT}=true")
    text = rendered(*wide, "regimes.decode.splits.max=1").text
    assert "direct_tiled_kernel[(B, HK * 2)](" in text
    assert "i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES" in text


# ---------------------------------------------------------------- parts of a fixed size, kept in a narrow type


CHUNK, FIXED = "specs/attention/gqa4_bf16_fixed_chunk.yaml", "regimes.decode.splits"
FEW = "[{name: few, when: B < 8, variant: split_k, splits: {chunk: 256, max: 128}}, {name: rest, when: otherwise, fallback: generic}]"


@pytest.fixture(scope="module")
def fixed(root: Path) -> Callable[..., Source]:
    return functools.cache(lambda *overrides: render(build(load(root / CHUNK, overrides))))


def test_parts_of_a_fixed_size_follow_from_a_request_alone(fixed):
    text = fixed().text
    split, combine = (_function(text, f"{name}_kernel") for name in ("split", "combine"))
    assert "b_lo = i_s * CHUNK\n" in split and "b_parts = tl.cdiv(b_len, CHUNK)\n" in combine
    # the number of parts is a stride of scratch, and nothing else
    for kernel in (split, combine):
        body = kernel.partition("):\n")[2]
        assert body.count("SPLITS") == body.count("* HK + i_h) * SPLITS + ") == 1
    assert "SPLITS = ceil_div(CAP, 256)" in text and "SMS" not in text


def test_narrow_parts_are_stored_and_loaded_as_such(fixed):
    narrow, wide = fixed().text, fixed("regimes.decode.combine.partials=fp32").text
    launcher = _function(narrow, "launch_decode")
    assert "partial_out = torch.empty((B, HK, SPLITS, 4, D), dtype=torch.bfloat16" in launcher
    assert launcher.count("dtype=torch.float32") == 2
    assert "b_acc.to(tl.bfloat16)," in narrow and ").to(tl.float32)\n" in narrow
    assert "bfloat16" not in _function(wide, "combine_kernel") and "b_acc,\n" in wide


def test_a_header_says_the_words_of_a_spec_and_nothing_that_they_replace(fixed):
    header = fixed().text.partition("import torch")[0]
    assert "CHUNK=256" in header and "PARTIALS=bf16" in header
    assert "WAVES" not in header and "MIN_CHUNK" not in header


def test_rounded_parts_are_allowed_for_and_wide_ones_are_not(fixed):
    allowed = {}
    for kept in ("bf16", "fp32"):
        problem = fixed(f"regimes.decode.combine.partials={kept}").manifest["problem"]
        case = case_of(problem, 1, None, [900, 9], "plain")
        generator = torch.Generator().manual_seed(5)
        arguments = attention.inputs(problem, case, generator, torch.device("cpu"))
        allowed[kept] = attention.expected(problem, case, arguments)["out"].absolute
    ratio = allowed["bf16"] / allowed["fp32"]
    assert (ratio[0] > 1.5).all() and (ratio > 1).all() and (ratio < 6).all()
    assert ratio[0].mean() > ratio[1].mean()


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (f"{FIXED}={{max: 128}}", "KG432: regime decode: the bits of a result depend on its batch: the parts"),
        (f"{FIXED}={{chunk: 256, max: 128, direct: true}}", "or another kernel serves those with one part"),
        (f"regimes={FEW}", "KG432: regime few is chosen by `B`, so that the kernel of a request depends"),
        (f"{FIXED}={{chunk: 256, waves: 2}}", "KG431: splits.waves says nothing beside splits.chunk"),
        (f"{FIXED}={{chunk: 256, min_chunk: 64}}", "KG431: splits.min_chunk says nothing beside splits.chunk"),
        ("regimes.decode.combine.partials=fp16", "KG411: combine.partials cannot be fp16"),
    ],
)  # fmt: skip
def test_what_depends_on_the_batch_or_says_nothing_is_refused(root, override, said):
    with pytest.raises(KgenError) as refused:
        build(load(root / CHUNK, [override]))
    assert said in str(refused.value)


def test_a_fallback_for_larger_batches_is_another_kernel(root):
    with pytest.raises(KgenError) as refused:
        build(load(root / CHUNK, [f"regimes={FEW.replace('B < 8', 'Q == 1')}", "interface.outside=fallback"]))  # fmt: skip
    assert "KG432: the fallback serves what lies outside the declared `B`, `CAP`, `PAGES`, with another" in str(refused.value)  # fmt: skip


def test_every_variant_says_whether_results_depend_on_the_batch():
    templates = Templates()
    said = {name: templates.find("attention", name).variant for name in templates.names("attention")}  # fmt: skip
    assert {name for name, one in said.items() if one.batch_invariant} >= {"split_k", "generic"}


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (f"{FIXED}={{chunk: 200, max: 256}}", "a part is whole turns of the loop is false"),
        (f"{FIXED}={{chunk: 256, max: 16}}", "at most MAX_SPLITS is false at"),
    ],
)
def test_parts_that_are_no_turns_or_too_many_are_found(root, override, said):
    found = check(build(load(root / CHUNK, [override]))).findings
    assert any(said in str(one) for one in found)


# ---------------------------------------------------------------- an early launch


EARLY = "specs/attention/gqa4_bf16_early_combine.yaml"


@pytest.fixture(scope="module")
def early(root: Path) -> Source:
    return render(build(load(root / EARLY)))


def test_an_early_combine_waits_before_it_reads_parts(early):
    split, combine = (_function(early.text, f"{name}_kernel") for name in ("split", "combine"))
    begins = split.index("tl.extra.cuda.gdc_launch_dependents()")
    assert begins < split.index("for i_n in") < split.index("p_partial_out +")
    waits = combine.index("tl.extra.cuda.gdc_wait()")
    assert combine.index("p_seq_lens +") < waits < combine.index("p_partial_max +")


def test_only_the_combine_is_launched_early_and_warmed_up_as_such(early):
    launcher = _function(early.text, "launch_decode")
    assert launcher.count("launch_pdl=True") == 1
    assert "launch_pdl=True" in launcher.partition("combine_kernel[")[2]
    assert "launch_pdl" not in _function(early.text, "launch_decode_direct")
    rows = _function(early.text, "warmup").split("        (")
    assert ["launch_pdl=True" in one for one in rows if "_kernel, (" in one] == [False, False, True]


def test_a_target_without_early_launches_is_refused(root):
    with pytest.raises(KgenError) as refused:
        build(load(root / EARLY, ["targets=[sm_90, sm_80, gfx942]"]))
    assert "KG433: regime decode: `combine` starts before the kernel before it has ended" in str(
        refused.value
    )
    assert "`sm_80`, `gfx942` has no such launches" in str(refused.value)
    build(load(root / EARLY, ["targets=[sm_90, sm_100, sm_120]"]))
