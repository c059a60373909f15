"""What becomes of the proof of an attention file when a load of it looks elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.check import prove
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).parents[2]
CHANGED = [
    ("gqa4_bf16_contiguous", "p_k + i_b * stride_k_b", "p_k", "k_cache"),
    ("gqa4_bf16_contiguous", "p_seq_lens + i_b), 0), CAP)", "p_seq_lens + i_b), 0), CAP + 1)", "k_cache"),
    ("gqa4_bf16_packed", "+ D\n            + o_d", "+ o_d", "kv_cache"),
    ("gqa4_bf16_packed", "+ i_h * stride_kv_h\n            + o_d", "+ i_h * stride_kv_h\n            + 1\n            + o_d", "kv_cache"),
    ("gqa4_e4m3_interleaved_token_scales", "            + stride_kv_half\n", "", "kv_cache"),
    ("gqa4_e4m3_interleaved_token_scales", "stride_k_scale_slot + i_h", "stride_k_scale_slot", "k_scale"),
    ("gqa4_bf16_csr", "b_list + o_n // PAGE", "b_list + 1 + o_n // PAGE", "k_cache"),
    ("gqa4_bf16_csr", "b_full * PAGE + b_held", "b_full * PAGE + PAGE", "k_cache"),
    ("gqa4_bf16_csr", "tl.minimum(tl.maximum(tl.load(p_kv_last_page_len + i_b), 0), PAGE)", "tl.load(p_kv_last_page_len + i_b)", "k_cache"),
    ("gqa4_bf16_csr", "p_kv_indptr + i_b + 1", "p_kv_indptr + i_b + 2", "kv_indptr"),
    ("mla_h16_bf16_page64", "+ D\n            + o_r", "+ o_r", "kv_cache"),
    ("mla_h16_bf16_page64", "+ D\n            + o_r", "+ D - 1\n            + o_r", "kv_cache"),
    ("mla_h16_bf16_page64", "+ o_d[None, :],\n            mask=m_n[:, None]", "+ o_d[None, :],\n            mask=m_n[:, None] & (o_d < D - 1)[None, :]", "kv_cache"),
    ("mla_h128_fp8_page1", "p_block_table + i_b * stride_block_table_b + o_n,", "p_block_table + i_b * stride_block_table_b + o_n + i_m,", "kv_cache"),
    ("mla_h24_bf16_page16_split", "p_kpe\n            + b_page[:, None]", "p_kpe\n            + (b_page // 2)[:, None]", "kpe_cache"),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("name", "honest", "planted", "tensor"), CHANGED)
def test_what_looks_elsewhere_is_not_proved(name, honest, planted, tensor):
    plan = build(load(ROOT / f"specs/attention/{name}.yaml"))
    folder = ROOT / "generated/attention" / name
    text = (folder / "submission.py").read_text()
    assert honest in text
    manifest = json.loads((folder / "manifest.json").read_text())
    made = list(launchers(plan, workshop(Templates())))
    proof = prove(plan, made, text.replace(honest, planted), manifest)
    open_ = [one for one in proof.kernels if one.status is not Status.PROVED]
    assert any(tensor in one.says for one in open_), [one.says for one in open_]
