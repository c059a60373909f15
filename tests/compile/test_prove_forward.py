"""Prefill, with what its committed files do not have: proved all the same, and refuted where a tile reads other keys than its rows see."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.check import prove
from kgen.render.assemble import render
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

SPECS = Path(__file__).parents[2] / "specs" / "attention"
RAGGED, CONTIGUOUS = "prefill_gqa4_bf16_ragged", "prefill_gqa8_fp8_contiguous"
CHANGES = {
    "heads first, groups that are no power of two, values of another width, sinks, softcap, lse": (
        RAGGED,
        *("layout.cache=paged_hnd", "axes.G={const: 7}", "axes.D={const: 80}", "axes.DV={const: 96}"),
        *("masking.sinks=true", "masking.softcap=20.0"),
        "interface={args: [q, k_cache, v_cache, block_table, seq_lens, cu_q, max_q, window, sinks], returns: [out, lse], lse: base_2}",
    ),
    "page lists, keys and values in halves, a scale for each token": (
        RAGGED,
        *("layout={cache: paged_nhd, page_size: 16, queries: ragged, table: csr, kv: interleaved}",),
        *("scales={k: per_token, v: per_token}", "dtypes.kv=fp8_e4m3"),
        "interface.args=[q, kv_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, max_q, window, k_scale, v_scale]",
    ),
    "a window, more heads in a group than rows in a tile": (
        CONTIGUOUS,
        *("axes.WINDOW={values: [100]}", "masking.window=WINDOW", "axes.G={const: 160}"),
    ),
    "latents": (
        CONTIGUOUS,
        *("layout={cache: contiguous_nhd, kv: latent}", "axes.DR={const: 32}", "axes.G={const: 20}"),
        *("scales={softmax: 0.1, k: per_tensor}", "interface.args=[q, kv_cache, seq_lens, k_scale]"),
    ),
}  # fmt: skip
NEXT = "tl.cdiv(i_m * BLOCK_M + BLOCK_M, G)"
FAULTS = {
    "the last token is left out": (
        *(CONTIGUOUS, "b_len - Q + b_to, 0)", "b_len - Q + b_to - 1, 0)"),
        "lengths [17, 14, 82]: k_cache[b=0, slot=15, h=0, d=0], key 15 of request 0 (length 17), is read 0 times",
    ),
    "the tokens of the next tile": (
        *(RAGGED, NEXT, "tl.cdiv(i_m * BLOCK_M + 2 * BLOCK_M, G)"),
        "key 32 of request 0 (length 33), is read 1 times, not 0, by programs (0, 0, 0)",
    ),
    "a tile that rounds its tokens down": (
        *(CONTIGUOUS, "tl.cdiv(i_m * BLOCK_M + BLOCK_M, G)", "(i_m * BLOCK_M + BLOCK_M) // G - 1"),
        "is read 0 times, not 1",
    ),
    "a window that begins with the last token": (
        *(RAGGED, "b_len - b_tokens + b_from + 1 - WINDOW", "b_len - b_tokens + b_to - WINDOW"),
        "is read 0 times, not 1",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_file_is_wholly_proved(change):
    name, *overrides = CHANGES[change]
    plan = build(load(SPECS / f"{name}.yaml", ["workloads={}", *overrides]))
    source = render(plan)
    proof = prove(plan, list(launchers(plan, workshop(Templates()))), source.text, source.manifest)
    assert [one for one in proof.kernels if one.status is not Status.PROVED] == []
    assert proof.clean


@pytest.mark.parametrize(
    "fault",
    [next(iter(FAULTS)), *(pytest.param(one, marks=pytest.mark.full) for one in [*FAULTS][1:])],
)
def test_a_tile_that_reads_other_keys_is_refuted_with_the_key(fault):
    name, before, after, shown = FAULTS[fault]
    plan = build(load(SPECS / f"{name}.yaml"))
    source, (first, *_) = render(plan), launchers(plan, workshop(Templates()))
    assert before in source.text
    proof = prove(plan, [first], source.text.replace(before, after, 1), source.manifest)
    found = [one.evidence for one in proof.kernels if one.status is Status.REFUTED]
    assert any(shown in evidence for evidence in found), [
        (one.status, one.says, one.evidence)
        for one in proof.kernels
        if one.status is not Status.PROVED
    ]
