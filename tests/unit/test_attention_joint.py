"""Joint heads: programs that serve several KV heads of a token, in the emitted file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.model import Plan
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.spec import load

JOINT, EVEN = "specs/attention/gqa4_e4m3_joint.yaml", "specs/attention/gqa8_fp8_page1_ragged.yaml"
LATENT = "specs/attention/mla_h16_bf16_page64.yaml"
HEADS = "regimes.decode.tile.HEADS"


def _plan(root: Path, spec: str, *changes: str) -> Plan:
    return build(load(root / spec, ["workloads={}", *changes]))


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return render(_plan(root, JOINT)).text


def _kernels(text: str) -> str:
    return text[text.index("@triton.jit") : text.index("def launch_")]


def test_a_tile_holds_the_columns_of_several_heads_of_a_token(text: str):
    for line in (
        "            + b_page[:, None, None] * stride_k_page\n"
        "            + o_h[None, :, None] * stride_k_h\n"
        "            + o_d[None, None, :],\n"
        "            mask=m_n[:, None, None],",
        # each row with the keys and values of its own head
        "tl.dot(b_q, tl.permute(b_k.to(tl.float16), (1, 2, 0)))",
        "b_acc = tl.dot(b_p, tl.permute(b_v.to(tl.float16), (1, 0, 2)), b_acc)",
        "b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale + i_h))[:, None]",
        "* tl.load(p_v_scale + i_h)[:, None]",
    ):
        assert line in text, line


def test_programs_are_as_many_as_groups_of_joint_heads(text: str):
    assert "SPLITS = max(1, min(64, 2 * SMS // (B * 2), ceil_div(CAP, 256)))" in text
    assert "split_kernel[(B, 2, SPLITS)](" in text
    # parts are summed row by row, as ever
    assert "combine_kernel[(B, HK, 4)](" in text


def test_even_division_counts_them_too(root: Path):
    changes = ("axes.HK={const: 4}", "regimes.0.tile={HEADS: 4, BLOCK_N: 64, BLOCK_B: 64}")
    text = render(_plan(root, EVEN, *changes)).text
    assert "i_p, i_j = tl.program_id(0), tl.program_id(1)" in text
    assert "piece_joint_kernel[(PIECES, 1)](" in text


def test_a_program_of_one_head_has_no_trace_of_others(root: Path):
    text = render(_plan(root, JOINT, f"{HEADS}=1", "regimes.verify.tile={BLOCK_N: 32}")).text
    assert not any(name in _kernels(text) for name in ("HEADS", "BLOCK_ROWS", "i_j", "o_a", "o_h"))


@pytest.mark.parametrize(
    ("spec", "changes", "told"),
    [
        (JOINT, [f"{HEADS}=3"], "is_pow2(HEADS) is false at Q = 1, HK = 8"),
        (JOINT, ["axes.HK={const: 6}"], "HK % HEADS == 0 is false at Q = 1, HK = 6"),
        # latents have one KV head
        (LATENT, ["regimes.0.tile.HEADS=2"], "a program serves HEADS whole KV heads"),
    ],
)
def test_heads_that_a_program_cannot_have_are_refused(root: Path, spec, changes, told):
    assert any(told in str(one) for one in check(_plan(root, spec, *changes)).findings)


@pytest.mark.parametrize(
    ("heads", "told"),
    [
        ("32", "KG411: tile.HEADS is 32, more than 16"),
        ("0", "KG411: tile.HEADS is 0, less than 1"),
    ],
)
def test_a_number_of_heads_has_bounds(root: Path, heads, told):
    with pytest.raises(KgenError) as raised:
        _plan(root, JOINT, f"{HEADS}={heads}")
    assert told in str(raised.value)
    assert "KV heads of a program; write an integer from 1 to 16" in str(raised.value)


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("o_h = i_j * HEADS + ", "o_h = i_j + ", "by programs (0, 2, *)"),
        ("i_h, o_m = i_j * HEADS + ", "i_h, o_m = i_j + ", "partial_out"),
        ("tl.program_id(1) // ROW_TILES, ", "tl.program_id(1) // (ROW_TILES + 1), ", "k_cache["),
    ],
)
def test_a_replay_knows_the_heads_of_a_program(root: Path, old, new, said):
    changes = ("axes.D={const: 16}", "axes.HK={const: 4}", "axes.G={const: 24}")
    tile = "regimes.decode.tile={HEADS: 2, BLOCK_N: 16, BLOCK_M: 16}"
    source = render(_plan(root, JOINT, *changes, tile))
    scene = attention_scene(source.manifest["problem"], {"B": 1, "Q": 1, "CAP": 16}, [3])

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    assert old in source.text
    found = findings(source.text.replace(old, new, 1))
    assert any(said in one for one in found), found
