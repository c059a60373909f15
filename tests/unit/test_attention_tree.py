"""Draft tokens that are a tree: what each one sees, in the reference and in the emitted file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kgen.diagnostics import KgenError
from kgen.families.attention.problem.tree import random_trees, seen_of_tree
from kgen.plan.build import build
from kgen.render.assemble import render
from kgen.spec import load

TREE = "specs/attention/gqa4_bf16_tree.yaml"


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """The parent of each token, -1 for a root."""
    count = draw(st.integers(2, 12))
    return [draw(st.integers(-1, token - 1)) for token in range(count)]


def _path(parents: list[int], token: int) -> list[int]:
    above = _path(parents, parents[token]) if parents[token] >= 0 else []
    return [*above, token]


@given(trees(), st.integers(0, 40), st.none() | st.integers(12, 60))
def test_a_token_sees_what_it_would_see_if_it_were_decoded_behind_its_ancestors(
    parents, context, window
):
    tokens = len(parents)
    for token in range(tokens):
        path = _path(parents, token)
        mask = sum(1 << one for one in path)
        # decoded alone: the context, then the path, and the window over both
        alone = [*range(context), *(context + one for one in path)]
        alone = alone if window is None else alone[-window:]
        assert seen_of_tree(mask, context + tokens, tokens, window) == alone


@given(st.integers(2, 32), st.integers(0, 40), st.none() | st.integers(1, 60))
def test_a_chain_is_the_causal_mask(tokens, context, window):
    live = context + tokens
    for token in range(tokens):
        last = live - tokens + token
        first = 0 if window is None else max(last - window + 1, 0)
        found = seen_of_tree((1 << token + 1) - 1, live, tokens, window)
        # a window shorter than the chain bounds the keys before it, and bits those of the chain
        assert [key for key in found if key >= first] == list(range(first, last + 1))


def test_bits_of_tokens_before_the_first_key_count_for_nothing():
    assert seen_of_tree(0b1111, 2, 4, None) == [0, 1]
    assert seen_of_tree(0b0011, 2, 4, None) == []


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.sampled_from(["int32", "int64"]))
def test_masks_to_test_with_are_those_of_trees_with_strange_bits_behind(counts, kind):
    masks = random_trees(counts, kind, anything=False, generator=torch.Generator().manual_seed(7))
    assert masks.dtype == getattr(torch, kind) and len(masks) == sum(counts)
    rows = iter(masks.tolist())
    for count in counts:
        own = [next(rows) & (1 << count) - 1 for _ in range(count)]
        for token, mask in enumerate(own):
            above = mask & ~(1 << token)
            assert mask >> token == 1
            assert above == 0 or own[above.bit_length() - 1] == above


def test_strange_bits_and_masks_that_are_no_tree_are_tried():
    generator = torch.Generator().manual_seed(3)
    masks = random_trees([8] * 6, "int64", anything=True, generator=generator).tolist()
    assert any(mask < 0 for mask in masks) and any(mask >> 8 for mask in masks)
    assert any(not mask >> token % 8 & 1 for token, mask in enumerate(masks))


@pytest.mark.parametrize("bits", [32, 64])
def test_the_emitted_file_looks_at_the_bits(root: Path, bits):
    text = render(build(load(root / TREE, [f"masking.tree=int{bits}"]))).text
    assert f"m_j = ((b_bits[:, None] >> (o_j & {bits - 1})[None, :]) & 1) != 0" in text
    assert f'check_tensor("tree_mask", tree_mask, torch.int{bits}, 2, q.device)' in text
    # what the fallback serves outside of the declared axes has no more tokens than bits
    assert f'check_range("Q", Q, 1, {bits})' in text


def test_bits_and_keys_have_names_of_their_own(root: Path):
    # Triton refuses a name whose shape changes in a loop, and a tile seldom has as many keys as a mask has bits
    text = render(build(load(root / TREE))).text
    assert "o_u = tl.arange(0, 32)" in text and "o_j = tl.arange" not in text


def test_a_spec_without_a_tree_has_no_trace_of_one(root: Path):
    made = render(build(load(root / "specs/attention/gqa4_bf16_hnd.yaml")))
    assert "tree" not in made.text and "tree" not in made.manifest["problem"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            ["axes.Q={values: [1, 4]}"],
            "KG442: a request may have one query token, which is no tree\n"
            "help: give Q values from 2 on, and a spec without `tree` for one token",
        ),
        (
            ["axes.Q={const: 40}"],
            "KG443: a request may have 40 query tokens, and a tree_mask of int32 has 32 bits\n"
            "help: write `tree: int64`, or give Q at most 32",
        ),
        (
            ["axes.Q={range: [2, 65]}", "masking.tree=int64"],
            "KG443: a request may have 65 query tokens, and a tree_mask of int64 has 64 bits\n"
            "help: give Q at most 64",
        ),
        (
            ["axes.Q={range: [2, B]}"],
            "KG443: a request may have 4096 query tokens, and a tree_mask of int32 has 32 bits\n"
            "help: give Q at most 32",
        ),
    ],
)
def test_trees_that_cannot_be_are_refused(root: Path, changes, told):
    with pytest.raises(KgenError) as raised:
        build(load(root / TREE, ["workloads={check: [], bench: []}", *changes]))
    (one,) = [each for each in raised.value.diagnostics if each.code in ("KG442", "KG443")]
    assert f"{one.code}: {one.message}\nhelp: {one.hint}" == told


def test_a_mask_without_its_argument_is_missed(root: Path):
    wanted = "interface.args=[q, k_cache, v_cache, block_table, seq_lens, window]"
    with pytest.raises(KgenError, match="tree_mask"):
        build(load(root / TREE, [wanted]))
