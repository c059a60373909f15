"""Prefill: what a tile of rows reads, which calls are tried, and what is refused."""

from __future__ import annotations

import pytest

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
from kgen.make import make
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.render.assemble import render
from kgen.spec import load

RAGGED, CONTIGUOUS = (
    "specs/attention/prefill_gqa4_bf16_ragged.yaml",
    "specs/attention/prefill_gqa8_fp8_contiguous.yaml",
)

TREE = "interface.args=[q, k_cache, v_cache, seq_lens, tree_mask, k_scale, v_scale]"


def _source(root, spec: str, *overrides: str):
    return render(build(load(root / spec, ["workloads={}", *overrides])))


def test_a_tile_reads_up_to_its_last_token_s_key_and_from_its_first_token_s_window(root):
    text = _source(root, RAGGED).text
    assert "b_to = tl.minimum(tl.cdiv(i_m * BLOCK_M + BLOCK_M, G), b_tokens)" in text
    assert "b_first = tl.maximum(b_len - b_tokens + b_from + 1 - WINDOW, 0)" in text
    assert "for i_n in tl.range(b_first, b_hi, BLOCK_N):" in text
    plain = _source(root, CONTIGUOUS).text
    assert "b_hi = tl.maximum(b_len - Q + b_to, 0)" in plain
    assert "for i_n in tl.range(0, b_hi, BLOCK_N):" in plain


@pytest.mark.parametrize(
    ("spec", "overrides", "text"),
    [
        (
            CONTIGUOUS,
            ["axes.Q={const: 16}", "regimes.0.when=B <= 64", "masking.tree=int32", TREE],
            "KG409: variant flash_forward does not cover masking.tree: int32",
        ),
        (
            RAGGED,
            ["regimes.0.splits={max: 4}"],
            "KG410: variant flash_forward has no parameter splits.max",
        ),
    ],
)
def test_what_prefill_has_not_is_refused(root, spec, overrides, text):
    with pytest.raises(KgenError) as caught:
        build(load(root / spec, ["workloads={}", *overrides]))
    assert text in str(caught.value)


def test_one_query_token_is_not_for_it(root):
    changes = ["workloads={}", "axes.Q={const: 1}", "regimes.0.when=B <= 64"]
    (found,) = make(load(root / CONTIGUOUS, changes), Templates()).findings
    assert found.code == "KG420"
    assert found.message == (
        "regime prefill: MANY_TOKENS == 1 is false at Q = 1, HK = 1, G = 8, D = 128 "
        "(one query token sees all keys; split_k divides them)"
    )


def test_calls_have_tokens_around_a_tile_of_rows(root):
    made = _source(root, RAGGED).manifest["problem"]
    tried = [case for case in attention.cases(made, "interpret") if case.regime == "prefill"]
    # a tile of 128 rows has 32 tokens of four heads
    assert {case.axes["Q"] for case in tried} == {32, 33}
    assert {case.axes["WINDOW"] for case in tried} == {None, 1024}
    assert any(length < case.axes["Q"] for case in tried for length in case.runtime["S"])


def test_a_file_serves_all_that_its_spec_declares_where_that_is_beyond_what_others_serve(root):
    """The fallback of other specs is held to 4096 tokens of a request."""
    assert 'check_range("Q", Q, 1, 16384)' in _source(root, CONTIGUOUS).text
    few = _source(root, CONTIGUOUS, "axes.Q={range: [2, 100]}")
    assert 'check_range("Q", Q, 1, 4096)' in few.text
