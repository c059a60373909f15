"""The keys of all requests divided evenly, with what its committed file does not have: proved all the same."""

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

SPEC = Path(__file__).parents[2] / "specs" / "attention" / "gqa8_fp8_page1_ragged.yaml"
PLAIN = "interface.args=[q, k_cache, v_cache, block_table, seq_lens, window]"
CHANGES = {
    "heads first, pages of 16, scales per head, lse": [
        *("layout.cache=paged_hnd", "layout.page_size=16", "scales={k: per_head, v: per_head}"),
        *("axes.HK={const: 3}", "axes.D={const: 80}"),
        *("interface.lse=base_2", "interface.returns=[out, lse]"),
    ],
    "bf16, more waves, many requests": [
        *("dtypes.kv=bf16", "scales={k: none, v: none}", PLAIN, "axes.B={range: [1, 127]}"),
        *("axes.HK={const: 8}", "regimes.0.splits.waves=3", "regimes.1.splits.waves=3"),
    ],
    "rows in several tiles": ["axes.G={const: 40}", "axes.HK={const: 3}"],
    "pieces summed in one turn, early, kept as bf16, values of another width": [
        "axes.DV={const: 80}",
        "regimes.0.combine={BLOCK_S: 256, launch: dependent, partials: bf16}",
    ],
    "keys and values in one tensor, a scale for each token": [
        "interface.args=[q, kv_cache, block_table, seq_lens, k_scale, v_scale, window]",
        *("layout.kv=packed", "scales={k: per_token, v: per_token}"),
    ],
    "latents, rows in several tiles": [
        *("layout.kv=latent", "axes.DR={const: 32}", "axes.G={const: 80}"),
        *("scales={softmax: 0.1, k: per_tensor}", "regimes.0.tile.BLOCK_N=32"),
        "interface.args=[q, kv_cache, block_table, seq_lens, k_scale, window]",
    ],
    "page lists, pages of 16": [
        "interface.args=[q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, k_scale, v_scale, window]",
        *("layout.table=csr", "layout.page_size=16"),
    ],
    "ragged queries, several KV heads, lse": [
        "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window, cu_q, max_q]",
        *(
            "layout.queries=ragged",
            "axes.T={range: [1, 256]}",
            "axes.N={range: [0, Q], runtime: true}",
        ),
        *(
            "workloads={}",
            "axes.HK={const: 3}",
            "interface.lse=base_2",
            "interface.returns=[out, lse]",
        ),
    ],
    "sinks, a softcap": [
        "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window, sinks]",
        *("masking.sinks=true", "masking.softcap=20.0"),
    ],
}

FAULTS = {
    "keys without a mask": (
        """            p_k + b_page[:, None] * stride_k_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
""",
        """            p_k + b_page[:, None] * stride_k_page + o_d[None, :],
""",
        "exactly once",
        "lengths [1]: k_cache[page=0, slot=0, h=0, d=0], key 0 of request 0 (length 1), is read 128 times",
    ),
    "a length behind the last": (
        "(o_b <= B)",
        "(o_b <= B + 1)",
        "bounds",
        "reads seq_lens at offset 1, past its last (elements 1, strides 1)",
    ),
    "pieces that are none": (
        "o_b + tl.minimum(b_more, MORE)",
        "tl.minimum(b_more, MORE)",
        "widths",
        "program (0, 0, 0) of piece_kernel: 0 // 0 has no value",
    ),
    "the next request": (
        "b_begun.to(tl.int32), 0) - 1",
        "b_begun.to(tl.int32), 0)",
        "bounds",
        "B=64, Q=1, WINDOW=None, CAP=385, length 129",
    ),
    "pieces of the first request": (
        "o_p = ((b_begin + o_s) * HK + i_h) * ROWS + i_m",
        "o_p = (o_s * HK + i_h) * ROWS + i_m",
        "exactly once",
        "lengths [32, 31]: partial_out[p=1, h=0, m=0, d=0], which program (1, 0, 0) stores in line",
    ),
    "scratch for requests": (
        "partial_out = torch.empty((PIECES, ",
        "partial_out = torch.empty((B, ",
        "bounds",
        "writes partial_out at offset 2048, past its last (elements 2 x 1 x 8 x 128, strides",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refuted_with_values_that_a_person_can_check(fault):
    before, after, subject, shown = FAULTS[fault]
    plan = build(load(SPEC))
    source, (first, *_) = render(plan), launchers(plan, workshop(Templates()))
    assert before in source.text
    proof = prove(plan, [first], source.text.replace(before, after, 1), source.manifest)
    refuted = [one for one in proof.kernels if one.status is Status.REFUTED]
    found = [one.evidence for one in refuted if one.subject == subject]
    assert any(shown in evidence for evidence in found), found


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_file_is_wholly_proved(change):
    plan = build(load(SPEC, ["workloads.check=[]", *CHANGES[change]]))
    source = render(plan)
    proof = prove(plan, list(launchers(plan, workshop(Templates()))), source.text, source.manifest)
    assert [one for one in proof.kernels if one.status is not Status.PROVED] == []
    assert proof.clean
