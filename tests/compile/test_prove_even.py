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


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_file_is_wholly_proved(change):
    plan = build(load(SPEC, ["workloads.check=[]", *CHANGES[change]]))
    source = render(plan)
    proof = prove(plan, list(launchers(plan, workshop(Templates()))), source.text, source.manifest)
    assert [one for one in proof.kernels if one.status is not Status.PROVED] == []
    assert proof.clean
