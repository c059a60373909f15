"""Indices for each query token: what is proved of other specs with them, and what a load that looks elsewhere leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.check import Proof, prove
from kgen.render.assemble import render
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).parents[2]
BF16, FP8 = "mla_sparse_h128_bf16", "mla_sparse_h16_fp8"
SMALL = ("axes.D={const: 32}", "axes.DR={const: 16}")
FEW = (*SMALL, "axes.G={const: 24}", "regimes.tiles.tile={BLOCK_M: 16, BLOCK_N: 32}")
ONE_TOKEN = (*SMALL, "axes.Q={const: 1}")


def _proof(name: str, overrides: tuple[str, ...], honest: str = "", planted: str = "") -> Proof:
    plan = build(load(ROOT / f"specs/attention/{name}.yaml", overrides))
    source = render(plan)
    assert honest in source.text
    text = source.text.replace(honest, planted) if honest else source.text
    return prove(plan, list(launchers(plan, workshop(Templates()))), text, source.manifest)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        (BF16, (*FEW, "layout.page_size=3", "layout.cache=paged_hnd", "regimes.tiles.combine={launch: dependent, partials: bf16}")),
        (BF16, (*FEW, "layout.kv=latent_split", "interface.args=[q_nope, q_pe, ckv_cache, kpe_cache, indices, valid_topk]", "regimes.tiles.splits={max: 1, direct: true}")),
        (FP8, (*ONE_TOKEN, "axes.G={const: 20}", "masking.sinks=true", "masking.softcap=5.0", "epilogue={norm: rms, gate: silu}", "interface.args=[q, kv_cache, indices, valid_topk, k_scale, sinks, norm_weight, gate]")),
        (FP8, (*SMALL, "layout.storage=uint8", "regimes.decode.splits={chunk: 64, max: 64}", "regimes.decode.combine.BLOCK_S=64")),
    ],
)  # fmt: skip
def test_other_specs_with_indices_are_wholly_proved(name: str, overrides: tuple[str, ...]):
    proof = _proof(name, overrides)
    assert [one for one in proof.kernels if one.status is not Status.PROVED] == []
    assert proof.clean


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "overrides", "honest", "planted", "tensor"),
    [
        (BF16, FEW, "b_token // PAGE < PAGES", "b_token // PAGE <= PAGES", "kv_cache"),
        (BF16, FEW, "i_q // Q, i_q % Q", "i_q // Q, 1 - i_q % Q", "kv_cache"),
        (BF16, FEW, "(b_token % PAGE)", "(b_token % (PAGE - 1))", "kv_cache"),
        (BF16, FEW, "i_m // HEAD_TILES, i_m % HEAD_TILES", "i_m % HEAD_TILES, i_m // HEAD_TILES", "indices"),
        (FP8, ONE_TOKEN, "(b_token >= 0) & ", "", "kv_cache"),
        (FP8, ONE_TOKEN, "(b_token < PAGES)", "(b_token < PAGES - 1)", "kv_cache"),
        (FP8, ONE_TOKEN, "(b_token >= 0)", "(b_token >= 1)", "kv_cache"),
        (FP8, ONE_TOKEN, "other=-1", "other=0", "kv_cache"),
        (FP8, ONE_TOKEN, "+ o_n, mask", "+ o_n // 2, mask", "kv_cache"),
        (FP8, ONE_TOKEN, "stride_valid_topk_b), 0), CAP)", "stride_valid_topk_b), 0), CAP + 1)", "indices"),
    ],
)  # fmt: skip
def test_what_looks_elsewhere_is_not_proved(name, overrides, honest, planted, tensor):
    proof = _proof(name, overrides, honest, planted)
    open_ = [one for one in proof.kernels if one.status is not Status.PROVED]
    assert any(tensor in one.says for one in open_), [one.says for one in open_]
