"""What of a file decides a result: nothing of other regimes, no comment, everything of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.render.assemble import render
from kgen.spec import load
from kgen.sweep.served import served_core, served_signature

SPEC = "specs/attention/gqa8_fp8_page1.yaml"


@pytest.fixture(scope="module")
def rendered(root: Path, cache: Path):
    def keys(*overrides: str, regime: str = "decode") -> tuple[str, str]:
        templates = Templates([])
        made = render(build(load(root / SPEC, overrides), templates), templates, cache)
        return (
            served_core(made.text, made.manifest, regime),
            served_signature(made.manifest, regime),
        )

    return keys


def test_what_another_regime_has_does_not_matter(rendered):
    assert rendered("regimes.verify_one.splits.waves=2") == rendered()


def test_the_spec_s_words_do_not_matter(rendered):
    assert rendered("doc=Another text.", "workloads.bench=[{B: 2, Q: 1, S: 100}]") == rendered()


def test_the_regime_s_name_does_not_matter(rendered):
    assert rendered("regimes.decode.name=other", "sweep={}", regime="other") == rendered()


def test_a_regime_that_shares_kernels_with_another_has_its_own_launchers(rendered):
    two = (
        "regimes=[{name: few, when: Q == 1 and B <= 7, variant: split_k, tile: {BLOCK_N: 128}, splits: {waves: 2,"
        " min_chunk: 256, max: 128}, launch: {num_warps: 8, num_stages: 3}}, {name: decode, when: Q == 1, variant:"
        " split_k, tile: {BLOCK_N: 128}, splits: {waves: 1, min_chunk: 256, max: 128}, launch: {num_warps: 8,"
        " num_stages: 3}}, {name: rest, when: otherwise, fallback: generic}]"
    )
    assert rendered(two) == rendered()
    assert rendered(two, "sweep={}", regime="few") == rendered("regimes.decode.splits.waves=2")


def test_a_kernel_that_another_regime_launches_first_is_no_other_kernel(rendered):
    """The combine kernel stands in the manifest where the first regime has it, before this one's own kernels."""
    split = "variant: split_k, tile: {BLOCK_N: 128}, splits: {waves: 1, min_chunk: 256, max: 128}"
    two = (
        f"regimes=[{{name: few, when: Q == 1 and B <= 7, {split}, launch: {{num_warps: 4, num_stages: 3}}}},"
        f" {{name: decode, when: Q == 1, {split}, launch: {{num_warps: 8, num_stages: 3}}}},"
        " {name: rest, when: otherwise, fallback: generic}]"
    )
    assert rendered(two) == rendered()
    assert rendered(two, "sweep={}", regime="few") == rendered("regimes.decode.launch.num_warps=4")


@pytest.mark.parametrize("change", ["splits.waves=2", "launch.num_stages=2"])
def test_each_parameter_of_the_regime_matters(rendered, change):
    assert rendered(f"regimes.decode.{change}") != rendered()


def test_two_regimes_of_a_file_have_keys_of_their_own(rendered):
    assert rendered(regime="decode") != rendered(regime="verify_one")


def test_a_comment_does_not_matter_and_a_statement_does(root: Path, cache: Path):
    templates = Templates([])
    made = render(build(load(root / SPEC), templates), templates, cache)
    same = made.text.replace("@triton.jit", "# a comment\n@triton.jit", 1)
    other = made.text.replace("tl.cdiv(b_len, SPLITS)", "tl.cdiv(b_len, 2)", 1)
    assert other != made.text
    core = served_core(made.text, made.manifest, "decode")
    assert served_core(same, made.manifest, "decode") == core
    assert served_core(other, made.manifest, "decode") != core
