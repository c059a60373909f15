"""Heads of attention: values of another width than keys, groups of any size, tiles of query rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.expr import to_python
from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.plan.build import build
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

UNEVEN, EVEN = "mha_dqk192_dv128", "gqa8_bf16_page16"


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    return functools.cache(
        lambda name, *overrides: render(
            build(load(root / f"specs/attention/{name}.yaml", overrides))
        )
    )


# ---------------------------------------------------------------- values of another width


def test_values_and_outputs_have_the_width_of_their_own_axis(rendered):
    text = rendered(UNEVEN).text
    for line in (
        'check_shape("k_cache", k_cache, (PAGES, PAGE, HK, D))',
        'check_shape("v_cache", v_cache, (PAGES, PAGE, HK, DV))',
        "out = torch.empty((B, Q, HK * G, DV), dtype=torch.bfloat16, device=q.device)",
        "partial_out = torch.empty((B, HK, SPLITS, 1, DV)",
        "b_acc = tl.zeros((BLOCK_M, BLOCK_V), tl.float32)",
    ):
        assert line in text


def test_a_spec_without_that_axis_has_no_trace_of_it(rendered):
    text = rendered(EVEN).text
    assert not any(name in text for name in ("o_v", "DV", "BLOCK_V", "WIDTH_V"))


def test_an_axis_that_repeats_the_head_dimension_changes_no_kernel(rendered):
    plain = rendered(EVEN).text
    same = rendered(EVEN, "axes.DV={const: 128}").text
    kernels = [
        text[text.index("@triton.jit") : text.index("def launch_")] for text in (plain, same)
    ]
    assert kernels[0] == kernels[1]


@pytest.mark.parametrize(
    ("keys", "values", "masks"),
    [
        (192, 128, {"o_d < D"}),
        (64, 80, {"o_v < DV"}),
    ],
)
def test_each_width_is_masked_where_its_own_tile_is_wider(rendered, keys, values, masks):
    text = rendered(UNEVEN, f"axes.D={{const: {keys}}}", f"axes.DV={{const: {values}}}").text
    assert {mask for mask in ("o_d < D", "o_v < DV") if mask in text} == masks


def test_the_reference_has_outputs_of_that_width(rendered):
    problem = rendered(UNEVEN).manifest["problem"]
    case = case_of(problem, 1, None, [1], "plain")
    arguments = attention.inputs(
        problem, case, torch.Generator().manual_seed(5), torch.device("cpu")
    )
    out = attention.expected(problem, case, arguments)["out"].values
    page = arguments["block_table"][0, 0]
    # of one key, the output is its value
    assert torch.equal(out[0, 0], arguments["v_cache"][page, 0].double())
    moved = attention.work(problem, case).bytes
    assert moved == 2 * 4 * (192 + 128) * 2 + 4 + 4


def test_the_width_of_values_is_a_constant(root):
    with pytest.raises(KgenError) as caught:
        load(root / f"specs/attention/{UNEVEN}.yaml", ["axes.DV={values: [64, 128]}"])
    text = str(caught.value)
    assert "KG211: the axis `DV` is a constant of the kernel and has to be `const`" in text
    assert "help: write for example `DV: {const: 8}`" in text


def test_a_replay_counts_the_columns_of_values_apart(rendered):
    source = rendered(UNEVEN, "axes.D={const: 32}", "axes.DV={const: 16}", "axes.HK={const: 2}")
    scene = attention_scene(source.manifest["problem"], {"B": 1, "Q": 1, "CAP": 16}, [3])

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    found = findings(
        source.text.replace(
            "+ o_v[None, :],\n            mask=m_n", "+ o_v[None, :] // 2,\n            mask=m_n", 1
        )
    )
    assert any("v_cache[" in one for one in found), found


# ---------------------------------------------------------------- groups of any size, in tiles of rows

TILED = "gqa40_bf16"


def test_rows_beyond_one_tile_are_programs_of_their_own(rendered):
    text = rendered(TILED).text
    assert "SPLITS = max(1, min(32, SMS // (B * HK * 2), ceil_div(CAP, 256)))" in text
    assert "split_kernel[(B, HK * 2, SPLITS)](" in text
    assert "i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES" in text
    assert "o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)" in text


@pytest.mark.parametrize(
    ("group", "rows", "tile", "tiles"),
    [
        (1, 64, 16, 1),
        (12, 64, 16, 1),
        (40, 64, 64, 1),
        (48, 16, 16, 3),
        (128, 64, 64, 2),
        (128, 128, 128, 1),
    ],
)
def test_a_tile_has_no_more_rows_than_the_regime_allows(root, group, rows, tile, tiles):
    overrides = (
        *(f"axes.G={{const: {group}}}", "axes.Q={const: 1}"),
        f"regimes.rows.tile.BLOCK_M={rows}",
    )
    (found,) = build(load(root / f"specs/attention/{TILED}.yaml", overrides)).regimes[0].groups
    constants = found.cases[0].constants
    assert (constants["BLOCK_M"], constants["ROW_TILES"]) == (tile, tiles)
    assert found.labels["tiled"] == (tiles > 1)
    # a last tile that is not full is masked, and no other
    assert found.labels["full"] == (group % tile == 0)
    assert to_python(found.kernels[0].grid[1]) == ("HK" if tiles == 1 else f"HK * {tiles}")


def test_forty_heads_of_eight_tokens_take_tiles_of_sixty_four(rendered):
    text = rendered(TILED, "axes.Q={const: 8}", "regimes.rows.tile={BLOCK_N: 64}").text
    assert "BLOCK_M=64," in text and "ROWS=320," in text
    assert "split_kernel[(B, HK * 5, SPLITS)](" in text


def test_the_rows_of_a_tile_are_a_power_of_two(rendered):
    with pytest.raises(KgenError, match="KG4"):
        rendered(TILED, "regimes.rows.tile.BLOCK_M=8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "+ i_h * stride_k_h",
            "+ (i_h + i_m) % HK * stride_k_h",
            "key 0 of request 0 (length 3), is read 1 times, not 0, by programs (0, ",
        ),
        (
            "tl.minimum(b_lo + b_chunk, b_len)",
            "tl.minimum(b_lo + b_chunk, b_len - i_m)",
            "by programs (0, 1, *)",
        ),
        ("i_m * BLOCK_M + ", "", "partial_out"),
    ],
)
def test_a_replay_knows_the_head_of_a_tile(rendered, old, new, said):
    source = rendered(
        TILED,
        "axes.G={const: 24}",
        "axes.Q={const: 1}",
        "axes.D={const: 16}",
        "regimes.rows.tile.BLOCK_M=16",
    )
    scene = attention_scene(source.manifest["problem"], {"B": 1, "Q": 1, "CAP": 16}, [3])

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    assert old in source.text
    found = findings(source.text.replace(old, new, 1))
    assert any(said in one for one in found), found
