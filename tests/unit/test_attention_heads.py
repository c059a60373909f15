"""Heads of attention: values of another width than keys, groups of any size, tiles of query rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
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
        (80, 96, {"o_d < D", "o_v < DV"}),
        (64, 128, set()),
    ],
)
def test_each_width_is_masked_where_its_own_tile_is_wider(rendered, keys, values, masks):
    text = rendered(UNEVEN, f"axes.D={{const: {keys}}}", f"axes.DV={{const: {values}}}").text
    assert {mask for mask in ("o_d < D", "o_v < DV") if mask in text} == masks


def test_the_reference_has_outputs_of_that_width(rendered):
    problem = rendered(UNEVEN).manifest["problem"]
    case = attention._case(problem, 1, 1, None, [1], "plain")
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
