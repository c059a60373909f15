"""Every committed file, unmodified, in the interpreter: all its regimes at all their edges, in every layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgen.run
from kgen.cli.bundle import files, write
from kgen.make import make
from kgen.plan.templates import Templates
from kgen.spec import load

ROOT = Path(__file__).parents[2]
BUNDLES = sorted(
    str(path.parent.relative_to(ROOT)) for path in ROOT.glob("generated/*/*/submission.py")
)


# an attention file at all its cases is a minute's work; the small specs of `test_cases` are as good for every change
SLOW = {one for one in BUNDLES if not one.startswith("generated/norm/")}


@pytest.mark.parametrize(
    "bundle",
    [pytest.param(one, marks=pytest.mark.full) if one in SLOW else one for one in BUNDLES],
)
def test_it_is_right_wherever_it_is_tried(bundle: str, preloaded: str):
    report = kgen.run.test_bundle(
        ROOT / bundle, mode="interpret", seed=1, timeout=120, python=preloaded
    )
    assert report.passed, "\n".join(map(str, report.diagnostics()))
    manifest = json.loads((ROOT / bundle / "manifest.json").read_text())
    reached = {result.regime for result in report.results if result.regime}
    assert reached == {regime["name"] for regime in manifest["regimes"]}


FAULTS = [
    ("attention/gqa8_fp8_page1", ", mask=o_n < b_hi, other=0)", ")", "B 1 Q 1 S 127", ("KG703", "'p_block_table' at element [0, 127]", "program")),
    ("attention/gqa8_fp8_page1", "mask=m_m[:, None],\n        )\n        tl.store(p_partial_max", ")\n        tl.store(p_partial_max", "B 1 Q 1 S 129", ("partial_out", "program")),
    ("attention/gqa8_fp8_page1", "if b_lo < b_hi:", "if b_lo + BLOCK_N < b_hi:", "B 1 Q 1 S 127", ("p_partial_max", "which nothing has written", "program")),
    ("attention/gqa8_fp8_page1", "            mask=m_n[:, None],\n            other=0.0,\n", "", "B 1 Q 1 S 129", ("KG701", "'out'", "program")),
    ("attention/gqa7_bf16_page64", "(o_n[None, :] <= b_last)", "(o_n[None, :] < b_last)", "B 1 Q 3 S 65 plain", ("KG701", "out", "program")),
    ("attention/gqa7_bf16_page64", "> b_last - WINDOW)", ">= b_last - WINDOW)", "B 1 Q 3 window 100 S 169", ("KG701", "out", "program")),
    ("attention/gqa4_bf16_sinks_softcap", "m_s, b_s, float(\"-inf\")", "m_s, b_s, -SOFTCAP", "Q 4 window 128 S 2,150 check", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_sinks_softcap", "SOFTCAP * 1.4426950408889634", "SOFTCAP", "Q 1 window 128 S 33", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_sinks_softcap", "i_m) * 1.4426950408889634", "i_m) * 0.1803", "Q 1 window 128 S 17,150 check", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_sinks_softcap", " | (b_l == float(\"inf\"))", "", "Q 1 window 128 S 35,5,0 extreme", ("KG701", "'lse'", "inf")),
    ("attention/gqa4_bf16_sinks_softcap", "(b_m == float(\"-inf\")) | ", "", "Q 1 window 128 S 35,5,0 extreme", ("KG701", "'lse'", "inf")),
    ("attention/gqa4_e4m3_interleaved_token_scales", "b_w = b_p * (b_v_scale / tl.where(b_v_top > 0, b_v_top, 1.0))[None, :]", "b_w, b_v_top = b_p * b_v_scale[None, :], 1.0", "B 3 Q 1 S 67,5,0 extreme", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_tree", "(b_depth - WINDOW)", "(b_depth * 0 - WINDOW)", "B 1 Q 8 window 128 S 202", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_tree", "o_u[None, :] < Q, ", "o_u[None, :] < 32, ", "B 1 Q 8 window 128 S 202", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_tree", "(o_j < 0)[None, :] | m_j", "(o_n <= b_len - Q + o_t[:, None])", "B 1 Q 8 S 129", ("KG701", "'out'", "program")),
    ("attention/prefill_gqa8_fp8_contiguous", "b_len - Q + b_to, 0)", "b_len - Q + b_to - 1, 0)", "B 3 Q 17 S 17,14,82", ("KG701", "'out'", "program")),
    ("attention/prefill_gqa8_fp8_contiguous", "(o_n[None, :] <= b_last)", "(o_n[None, :] < b_last)", "B 3 Q 17 S 17,14,82", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_gated", "/ D + EPS", "/ BLOCK_D + EPS", "Q 1 S 17,150 check", ("KG701", "'out'", "program")),
    ("attention/gqa4_bf16_gated", "/ D + EPS", "/ D", "Q 4 S 2,150 check", ("KG701", "'out'", "nan")),
    ("attention/gqa4_bf16_gated", "b_rstd[:, None] * b_weight[None, :]\n    b_out *= tl.sigmoid(b_gate)", "tl.sigmoid(b_gate)\n    b_out *= tl.rsqrt(tl.sum(b_out * b_out, 1) / D + EPS)[:, None] * b_weight[None, :]", "Q 4 S 2,150 check", ("KG701", "'out'", "program")),
    ("attention/mla_sparse_h16_fp8", "(b_token >= 0) & ", "", "B 3 Q 1 S 32,33,129", ("KG703", "'p_kv'", "program")),
    ("attention/mla_sparse_h16_fp8", "(b_token < PAGES)", "(b_token < 2147483647)", "B 3 Q 1 S 32,33,129", ("KG703", "'p_kv'", "program")),
    ("attention/mla_sparse_h16_fp8", "other=-1", "other=1", "B 3 Q 1 S 32,33,129", ("KG701", "'out'", "program")),
    ("attention/mla_sparse_h16_fp8", "tl.where(b_m_new == float(\"-inf\"), 0.0, b_m_new)", "b_m_new", "B 3 Q 4 S 129,0,1", ("KG701", "'out'", "nan")),
    ("attention/mla_sparse_h16_fp8", "i_t * stride_indices_t", "0 * stride_indices_t", "B 1 Q 4 S 33", ("KG701", "'out'", "program")),
    ("merge/merge_h16_d512", "b_part = tl.where((b_lse > float(\"-inf\"))[:, None], b_part, 0.0)", "", "T 1 N 9 plain", ("KG701", "'out'", "nan")),
    ("merge/merge_h16_d512", "tl.where(b_lse == b_m_new, 1.0, tl.exp2(b_lse - b_m_new))", "tl.exp2(b_lse - b_m_new)", "T 5 N 9 sinks", ("KG701", "'out'", "nan")),
    ("merge/merge_h16_d512", "tl.where(b_m == b_m_new, 1.0, tl.exp2(b_m - b_m_new))", "tl.exp2(b_m - b_m_new)", "T 5 N 9 empty", ("KG701", "'out'", "nan")),
    ("norm/rms_odd", ", mask=m_h, other=0.0).to(tl.float32)\n    # the mean", ").to(tl.float32)\n    # the mean", "T 1 H 3", ("KG703", "'p_x' at element [0, 3]", "program (0, 0, 0)")),
    ("norm/rms_odd", "b_y.to(p_out.dtype.element_ty), mask=m_h)", "b_y.to(p_out.dtype.element_ty))", "T 1 H 3", ("KG703", "'p_out' at element [0, 3]", "program (0, 0, 0)")),
    ("norm/rms_odd", "stride_x_t: tl.int64", "stride_x_t: tl.int32", "far", ("int32", "program")),
]  # fmt: skip


QUICK = ("attention/gqa8_fp8_page1", "norm/rms_odd")


@pytest.mark.parametrize(
    ("spec", "honest", "planted", "case", "said"),
    [pytest.param(*one, marks=() if one[0] in QUICK else pytest.mark.full) for one in FAULTS],
)
def test_a_fault_planted_by_hand_is_found(
    tmp_path: Path,
    preloaded: str,
    spec: str,
    honest: str,
    planted: str,
    case: str,
    said: tuple[str, ...],
):
    """The file is edited after rendering, as a person would; the test says which tensor, element and program."""
    write(files(make(load(ROOT / "specs" / f"{spec}.yaml"), Templates()), tmp_path))
    source = tmp_path / "submission.py"
    text = source.read_text()
    assert honest in text
    source.write_text(text.replace(honest, planted))
    report = kgen.run.test_bundle(
        tmp_path, mode="interpret", seed=1, filter=case, timeout=120, python=preloaded
    )
    assert not report.passed
    assert report.summary.edited
    found = "\n".join(map(str, report.diagnostics()))
    assert all(word in found for word in said), found[:3000]
