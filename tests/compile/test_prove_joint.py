"""Joint heads with what their committed file does not have, proved all the same; and faults that are refuted."""

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

SPEC = Path(__file__).parents[2] / "specs" / "attention" / "gqa4_e4m3_joint.yaml"
# what a kernel without joint heads has too is in the table of pairs; here are several features at once
CHANGES = {
    "scales of tokens, 80 columns, values of 32, rows in several tiles, a softcap": [
        *("scales={k: per_token, v: per_token}", "axes.D={const: 80}", "axes.DV={const: 32}"),
        *("masking.softcap=30.0", "axes.G={const: 24}", "regimes.verify.tile.BLOCK_M=16"),
    ],
    "ragged queries, page lists, lse, sinks, norm and gate, of all heads at once": [
        *("layout.queries=ragged", "axes.T={range: [1, 256]}", "axes.N={range: [0, Q], runtime: true}"),
        *("layout.table=csr", "layout.page_size=16", "axes.Q={const: 4}", "sweep={}"),
        "regimes=[{name: verify, when: B <= 32, variant: split_k, tile: {HEADS: 8, BLOCK_N: 16}, splits: {waves: 1, min_chunk: 64, max: 16, direct: true}, launch: {num_warps: 8, num_stages: 3}}, {name: rest, when: otherwise, fallback: generic}]",
        *("masking.sinks=true", "epilogue={norm: rms, eps: 0.00001, gate: silu}"),
        "interface={args: [q, cu_q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, k_scale, v_scale, sinks, norm_weight, gate], returns: [out, lse], lse: base_2}",
    ],
}  # fmt: skip
FAULTS = {
    "heads of another program": (
        "o_h = i_j * HEADS + tl.arange(0, HEADS)",
        "o_h = i_j + tl.arange(0, HEADS)",
        "exactly once",
        "k_cache[page=0, slot=0, h=1, d=0], key 0 of request 0 (length 1), is read 1 times, not 0, by programs (0, 1, *)",
    ),
    "rows that are one head's": (
        "i_h, o_m = i_j * HEADS + o_a // BLOCK_M, o_a % BLOCK_M",
        "i_h, o_m = i_j * HEADS + o_a // BLOCK_ROWS, o_a % BLOCK_M",
        "initialised",
        "reads partial_out[b=0, h=1, s=0, m=0, d=0], which nothing has written",
    ),
    "a head beyond the last": (
        "o_h = i_j * HEADS + tl.arange(0, HEADS)",
        "o_h = i_j * HEADS + 1 + tl.arange(0, HEADS)",
        "bounds",
        "program (0, 1, 0) of split_kernel reads k_cache at offset 640, past its last",
    ),
    "rows that nobody has": (
        "m_m = o_m < ROWS",
        "m_m = o_m < BLOCK_M",
        "bounds",
        "program (0, 1, 0) of split_kernel reads q at offset 2560, past its last",
    ),
}


def _one(fault: str) -> list[tuple[str, str]]:
    """The subject and evidence of what is refuted of the first regime with a fault."""
    before, after, *_ = FAULTS[fault]
    plan = build(load(SPEC))
    source, (first, *_) = render(plan), launchers(plan, workshop(Templates()))
    assert before in source.text
    proof = prove(plan, [first], source.text.replace(before, after, 1), source.manifest)
    return [(one.subject, one.evidence) for one in proof.kernels if one.status is Status.REFUTED]


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refuted_with_values_that_a_person_can_check(fault):
    *_, subject, shown = FAULTS[fault]
    found = [evidence for about, evidence in _one(fault) if about == subject]
    assert any(shown in evidence for evidence in found), found


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_file_is_wholly_proved(change):
    plan = build(load(SPEC, ["workloads={}", *CHANGES[change]]))
    source = render(plan)
    proof = prove(plan, list(launchers(plan, workshop(Templates()))), source.text, source.manifest)
    assert [one for one in proof.kernels if one.status is not Status.PROVED] == []
    assert proof.clean
