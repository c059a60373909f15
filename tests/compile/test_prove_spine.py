"""Every kernel of every committed file is proved, with symbolic sizes; faults planted in a file are refuted."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.check import Proof, prove
from kgen.render.assemble import raw_text, render
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).parents[2]
QUICK = ("norm/rms_odd", "norm/rms_4096", "merge/merge_h16_d512", "attention/gqa8_fp8_page1")
REST = (
    *("attention/gqa4_bf16_fixed_chunk", "attention/gqa4_bf16_early_combine"),
    *("attention/gqa8_bf16_page16", "attention/gqa8_fp8_page64", "attention/gqa7_bf16_page64"),
    *("attention/broad_paged_split_k", "attention/suite_bf16_1", "attention/suite_bf16_8"),
    *("attention/suite_fp8_1", "attention/suite_fp8_8"),
    *("attention/gqa4_bf16_hnd", "attention/gqa4_e5m2_bytes", "attention/gqa4_e4m3_head_scales"),
    *("attention/gqa4_e4m3_softcap", "attention/gqa4_bf16_sinks_softcap"),
    *("attention/gqa4_bf16_gated", "attention/gqa4_bf16_tree"),
    *("attention/mha_dqk192_dv128", "attention/gqa4_bf16_contiguous"),
    *("attention/gqa40_bf16", "attention/gqa4_bf16_packed", "attention/gqa4_bf16_ragged"),
    *("attention/gqa4_e4m3_interleaved_token_scales", "attention/gqa4_bf16_csr"),
    *("attention/gqa8_fp8_page1_ragged", "attention/gqa4_bf16_ragged_even"),
    *("attention/gqa4_bf16_knobs", "attention/mla_h16_bf16_page64"),
    *("attention/mla_h128_fp8_page1", "attention/gqa4_e4m3_joint"),
    "attention/mla_h24_bf16_page16_split",
    *("attention/mla_sparse_h128_bf16", "attention/mla_sparse_h16_fp8"),
    *("attention/prefill_gqa4_bf16_ragged", "attention/prefill_gqa8_fp8_contiguous"),
)
ALL = (*QUICK, *(pytest.param(name, marks=pytest.mark.full) for name in REST))


@functools.cache
def planned(name: str):
    plan = build(load(ROOT / "specs" / f"{name}.yaml"))
    return plan, list(launchers(plan, workshop(Templates())))


@functools.cache
def file(name: str) -> tuple[str, dict]:
    folder = ROOT / "generated" / name
    return (folder / "submission.py").read_text(), json.loads(
        (folder / "manifest.json").read_text()
    )


@functools.cache
def honest(name: str) -> Proof:
    return prove(*planned(name), *file(name))


def test_every_spec_is_here():
    found = {
        str(path.relative_to(ROOT / "specs"))[:-5] for path in (ROOT / "specs").rglob("*.yaml")
    }
    assert found == {*QUICK, *REST}


@pytest.mark.parametrize("name", ALL)
def test_a_committed_file_is_wholly_proved(name):
    proof = honest(name)
    assert [one for one in proof.kernels if one.status is not Status.PROVED] == []
    assert [one for one in proof.host if one.status is not Status.PROVED] == []
    assert proof.clean and proof.certificates


@pytest.mark.parametrize("name", ALL)
def test_every_kernel_of_a_file_has_its_obligations(name):
    proof = honest(name)
    text, manifest = file(name)
    subjects: dict[str, Counter] = {}
    for one in proof.kernels:
        subjects.setdefault(one.kernel, Counter())[one.subject] += 1
    for kernel in manifest["kernels"]:
        wanted = {"bounds", "widths", "understood", "argument types"}
        if kernel.startswith("schedule"):
            wanted.remove("widths")  # the ranges of its integers alone keep them within 32 bits
        assert wanted <= set(subjects[kernel]), kernel
    lines = text.splitlines()
    for one in proof.kernels:
        if one.subject == "bounds":
            span = " ".join(lines[max(one.line - 9, 0) : one.line + 8])
            assert "tl.load" in span or "tl.store" in span, one


def test_outputs_reads_and_scratch_are_met_exactly_once():
    says = [one.says for one in honest("attention/gqa8_fp8_page1").kernels]
    assert "every element of out is written exactly once" in says
    for cache in ("k_cache", "v_cache"):
        assert f"{cache} is read exactly once for each b, h, p, d, and nowhere else" in says
    assert "what is stored to partial_out is read exactly once" in says
    assert any("partial_max" in one and "finds what was written before" in one for one in says)


def test_evidence_reads_like_a_person_wrote_it():
    found = [
        one.evidence
        for one in honest("attention/gqa8_fp8_page1").kernels
        if one.says.startswith("load k_cache[page, slot, h, d]")
    ]
    assert all(
        "0 <= page < PAGES because block_table is declared so" in evidence for evidence in found
    )


ODD, PAGES = "norm/rms_odd", "attention/gqa8_fp8_page1"
LONG, TILE = "lengths beyond the table", "a second tile of rows that misses a key"
FAULTS = {
    "a row too far": (
        ODD,
        "p_x + i_t * stride_x_t",
        "p_x + (i_t + 1) * stride_x_t",
        "bounds",
        "T = ",
    ),
    "no mask": (ODD, "o_h, mask=m_h, other=0.0)", "o_h)", "bounds", "T = "),
    "one column more": (ODD, "o_h < H", "o_h <= H", "bounds", "T = "),
    "one column more without a mask": (
        "norm/rms_4096",
        "p_weight + o_h)",
        "p_weight + o_h + 1)",
        "bounds",
        "T = ",
    ),
    LONG: (
        PAGES,
        "tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)",
        "tl.maximum(tl.load(p_seq_lens + i_b), 0)",
        "bounds",
        "CAP",
    ),
    "a stride of 32 bits": (
        PAGES,
        "stride_k_page: tl.int64",
        "stride_k_page",
        "widths",
        "k_cache.stride(0) = ",
    ),
    "keys without a mask": (
        PAGES,
        "p_block_table + i_b * stride_block_table_b + o_n, mask=o_n < b_hi, other=0)",
        "p_block_table + i_b * stride_block_table_b + o_n)",
        "bounds",
        "CAP = ",
    ),
    "a state that is left out": (
        "merge/merge_h16_d512",
        "m_n = o_n < N",
        "m_n = o_n < N - 1",
        "exactly once",
        "is read 0 times, not 1, by programs (0, 0, *)",
    ),
    TILE: (
        "attention/gqa40_bf16",
        "b_hi = tl.minimum(b_lo + b_chunk, b_len)",
        "b_hi = tl.minimum(b_lo + b_chunk, b_len - i_m)",
        "exactly once",
        "is read 0 times, not 1, by programs (0, 1, *)",
    ),
}


@pytest.mark.parametrize(
    "fault",
    [pytest.param(one, marks=pytest.mark.full) if one in (LONG, TILE) else one for one in FAULTS],
)
def test_a_planted_fault_is_refuted_with_values_that_a_person_can_check(fault):
    name, before, after, subject, shown = FAULTS[fault]
    text, manifest = file(name)
    assert before in text
    proof = prove(*planned(name), text.replace(before, after, 1), manifest)
    refuted = [one for one in proof.kernels if one.status is Status.REFUTED]
    found = [one.evidence for one in refuted if one.subject == subject]
    assert any(shown in evidence and "program" in evidence for evidence in found), [
        (one.status, one.subject, one.says, one.evidence)
        for one in proof.kernels
        if one.status is not Status.PROVED
    ]


SMALL = ROOT / "tests" / "proving" / "small.yaml"
ROWS, PARTS = "launch_rows", "launch_decode"
CALLS = {
    "a stride of 32 bits, at the fewest rows that show it": (
        *("norm/rms_4096", ROWS, "stride_x_t: tl.int64", "stride_x_t"),
        *(
            "widths",
            "* of 3 and 715827888 is 2147483664",
            "T = 4, H = 4096, x.stride(0) = 715827888",
        ),
    ),
    "strides swapped in a launcher": (
        *("norm/rms_4096", ROWS, "x.stride(0),\n        out.stride(0)"),
        *(
            "out.stride(0),\n        x.stride(0)",
            "bounds",
            "program (1, 0, 0) of rms_kernel",
            "T = 2",
        ),
    ),
    "a program too many": (
        *("norm/rms_4096", ROWS, "rms_kernel[(T,)]", "rms_kernel[(T + 1,)]"),
        *("bounds", "program (1, 0, 0) of rms_kernel reads x at offset 4112", "T = 1"),
    ),
    "a program too few": (
        *("norm/rms_4096", ROWS, "rms_kernel[(T,)]", "rms_kernel[(T - 1,)]"),
        *("exactly once", "out[t=0, h=0] is written never", "T=1"),
    ),
    "rows stored to the first": (
        *("norm/rms_4096", ROWS, "p_out + i_t * stride_out_t + o_h", "p_out + o_h"),
        *("exactly once", "out[t=1, h=0] is written never", "T=3"),
    ),
    "a block that no kernel is pinned for": (
        *("norm/rms_odd", ROWS, "BLOCK_H=BLOCK_H", "BLOCK_H=BLOCK_H // 2"),
        *("exactly once", "out[t=0, h=2] is written never", "T=1, H=3"),
    ),
    "a loop that ends a key early": (
        *("small", PARTS, "tl.range(b_lo, b_hi, BLOCK_N)", "tl.range(b_lo, b_hi - 1, BLOCK_N)"),
        *("exactly once", "key 0 of request 0 (length 1), is read 0 times, not 1", "CAP=4"),
    ),
    "a part that ends a key late": (
        *(
            "small",
            PARTS,
            "tl.minimum(b_lo + b_chunk, b_len)",
            "tl.minimum(b_lo + b_chunk + 1, b_len)",
        ),
        *("exactly once", "is read 2 times, not 1, by programs (0, 0, *)", "lengths ["),
    ),
    "parts that no program stores": (
        *("small", PARTS, "split_kernel[(B, HK, SPLITS)]", "split_kernel[(B, HK, SPLITS - 1)]"),
        *("initialised", "reads partial_sum[b=0, h=0, s=0, m=0], which nothing has written", "B=1"),
    ),
    "a combine that leaves out a part": (
        *("small", PARTS, "tl.range(0, b_parts, BLOCK_S)", "tl.range(1, b_parts, BLOCK_S)"),
        *("exactly once", "which program (0, 0, 0) stores in line ", "is read 0 times, not once"),
    ),
    "scratch a row short": (
        *("small", PARTS, "torch.empty((B, HK, SPLITS, 3, D)", "torch.empty((B, HK, SPLITS, 2, D)"),
        *("bounds", "of split_kernel writes partial_out at offset ", "past its last"),
    ),
}


@functools.cache
def small() -> tuple:
    plan = build(load(SMALL))
    source = render(plan, Templates())
    return plan, list(launchers(plan, workshop(Templates()))), source.text, source.manifest


def _quick(fault: str) -> bool:
    return CALLS[fault][0] != "small"


@pytest.mark.parametrize(
    "fault",
    [one if _quick(one) else pytest.param(one, marks=pytest.mark.full) for one in CALLS],
)
def test_a_planted_fault_is_refuted_by_a_small_call(fault):
    name, launcher, before, after, subject, *shown = CALLS[fault]
    plan, every, text, manifest = small() if name == "small" else (*planned(name), *file(name))
    assert before in text
    concerned = [one for one in every if one.function == launcher]
    proof = prove(plan, concerned, text.replace(before, after, 1), manifest)
    refuted = [one for one in proof.kernels if one.status is Status.REFUTED]
    found = [one.evidence for one in refuted if one.subject == subject]
    assert any(all(part in evidence for part in shown) for evidence in found), [
        (one.status, one.subject, one.says, one.evidence)
        for one in proof.kernels
        if one.status is not Status.PROVED
    ]


@pytest.mark.full
def test_what_small_calls_show_refutes_only_the_statement_that_does_it():
    plan, every, text, manifest = small()
    concerned = [one for one in every if one.function == "launch_decode"]
    changed = text.replace("b_hi = tl.minimum(b_lo + b_chunk, b_len)", "b_hi = b_lo + b_chunk", 1)
    lines = changed.splitlines()
    for one in prove(plan, concerned, changed, manifest).kernels:
        if one.status is Status.REFUTED and one.subject == "bounds" and ": line " in one.evidence:
            told = int(one.evidence.split(": line ")[1].split(":")[0])
            assert abs(told - one.line) < 4, (one, lines[told - 1])


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("split_kernel[(B, HK, SPLITS)](", "split_kernel[(B, HK, SPLITS - 1)](", "exactly once"),
        pytest.param(
            "partial_out = torch.empty((B, HK, SPLITS, 8, D)",
            "partial_out = torch.empty((B, HK, SPLITS, 7, D)",
            "bounds",
            marks=pytest.mark.full,
        ),
        ("combine_kernel[(B, HK, 8)](", "combine_kernel[(B, HK, 7)](", "exactly once"),
    ],
)
def test_a_fault_in_a_launcher_is_not_proved(before, after, what):
    name = "attention/gqa8_fp8_page1"
    text, manifest = file(name)
    assert before in text
    proof = prove(*planned(name), text.replace(before, after, 1), manifest)
    open_ones = {one.subject for one in proof.kernels if one.status is not Status.PROVED}
    assert what in open_ones


def test_a_file_that_is_not_followed_is_said_to_be():
    name = "norm/rms_odd"
    text, manifest = file(name)
    proof = prove(*planned(name), text.replace("rms_kernel[(T,)](", "rms_kernel[SIZE]("), manifest)
    assert not proof.clean and {one.subject for one in proof.kernels} == {"understood"}
    proof = prove(*planned(name), text.replace("def rms_kernel(", "def rms_kernel(("), manifest)
    assert not proof.clean


def test_a_template_that_is_written_by_the_documents_is_wholly_proved(tmp_path):
    location = importlib.util.spec_from_file_location("documented", ROOT / "tests/documented.py")
    documented = importlib.util.module_from_spec(location)
    location.loader.exec_module(documented)
    spec, folder = documented.write_softmax(ROOT / "docs" / "templates.md", tmp_path)
    templates = Templates([folder])
    plan = build(load(spec), templates)
    shop = workshop(templates)
    proof = prove(plan, list(launchers(plan, shop)), raw_text(plan, templates))
    assert proof.clean and {"bounds", "exactly once"} <= {one.subject for one in proof.kernels}


def test_a_failure_of_the_prover_is_unknown_and_said(monkeypatch):
    from kgen.prove import check

    def fails(*_, **__):
        raise KeyError("what was that")

    monkeypatch.setattr(check, "prove_world", fails)
    proof = prove(*planned(ODD), *file(ODD))
    assert not proof.clean
    assert any("KeyError: 'what was that'" in one.evidence for one in proof.kernels)
