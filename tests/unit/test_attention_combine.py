"""How the parts of a request are summed: what a spec may ask of it, and what becomes of that in the emitted file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.plan.build import build
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


def test_a_kernel_that_stores_results_takes_tiles_of_rows(rendered):
    wide = ("axes.G={const: 24}", "regimes.decode.tile={BLOCK_M: 16}", f"{DIRECT}=true")
    text = rendered(*wide, "regimes.decode.splits.max=1").text
    assert "direct_tiled_kernel[(B, HK * 2)](" in text
    assert "i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES" in text
