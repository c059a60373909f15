"""The committed files in the replay evaluator: launches as the file makes them, clean kernels,
planted faults found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgen.prove.replay.confirm import replay
from kgen.prove.replay.host import capture
from kgen.prove.replay.judge import corners, judge
from kgen.prove.replay.model import Claim, Number, Pointer, Unsupported
from kgen.prove.replay.run import run_grid, run_program
from kgen.prove.replay.scenes import (
    attention_corners,
    attention_scene,
    norm_scene,
    padded,
    scenes,
)

DEMO = "attention/gqa8_fp8_page1"
FILES = (
    DEMO,
    "attention/gqa8_fp8_page64",
    "attention/gqa8_bf16_page16",
    "attention/gqa7_bf16_page64",
    "attention/gqa4_bf16_hnd",
    "attention/gqa4_e5m2_bytes",
    "attention/gqa4_e4m3_head_scales",
    "attention/gqa4_e4m3_softcap",
    "attention/mha_dqk192_dv128",
    "attention/gqa4_bf16_contiguous",
    "attention/gqa4_bf16_sinks_softcap",
    "attention/gqa40_bf16",
    "attention/gqa4_bf16_packed",
    "attention/gqa4_e4m3_interleaved_token_scales",
    "attention/gqa4_bf16_gated",
    "attention/gqa4_bf16_ragged",
    "attention/gqa8_fp8_page1_ragged",
    "attention/gqa4_bf16_csr",
    "attention/mla_h24_bf16_page16_split",
    "norm/rms_4096",
    "norm/rms_odd",
)


REST = [name for name in FILES if name.startswith("attention") and name != DEMO]


@pytest.fixture(scope="module")
def emitted(root: Path):
    def read(name: str) -> tuple[str, dict]:
        folder = root / "generated" / name
        return (folder / "submission.py").read_text(), json.loads(
            (folder / "manifest.json").read_text()
        )

    return read


@pytest.fixture(scope="module")
def demo(emitted):
    """The demo file, and a decode call of two requests whose lengths end inside a part."""
    source, manifest = emitted(DEMO)
    axes = {"B": 2, "Q": 1, "CAP": 300, "WINDOW": None}
    return source, attention_scene(manifest["problem"], axes, [300, 129])


def once(source: str, old: str, new: str) -> str:
    """The source with the only `old` of its first kernel replaced."""
    start = source.index("def split_kernel")
    end = source.index("@triton.jit", start)
    body = source[start:end]
    assert body.count(old) == 1, f"{old!r} stands {body.count(old)} times in the kernel"
    return source[:start] + body.replace(old, new) + source[end:]


def test_the_replay_imports_neither_triton_nor_any_other_part_of_the_prover():
    program = (
        "import sys, kgen.prove.replay.judge, kgen.prove.replay.scenes, kgen.prove.replay.confirm\n"
        "parts = {name for name in sys.modules if name.startswith('kgen.prove.')}\n"
        "assert all(name.startswith('kgen.prove.replay') for name in parts), parts\n"
        "assert not {'triton', 'torch', 'kgen.algebra'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- launches


def test_the_launcher_gives_the_launches_with_their_arguments_and_scratch(demo):
    source, scene = demo
    instance = capture(source, scene.arguments, axes=scene.axes)
    split, combine = instance.launches
    assert (split.function, split.grid) == ("split_kernel", (2, 1, 2))
    assert (combine.function, combine.grid) == ("combine_kernel", (2, 1, 8))
    assert split.arguments["p_k"] == Pointer("k_cache")
    assert split.arguments["stride_q_h"] == Number(144, "i64")
    assert split.arguments["CAP"] == Number(300, "i32")
    assert split.arguments["BLOCK_N"] == 128
    roles = {tensor.name: tensor.role for tensor in instance.tensors}
    assert roles["out"] == "output"
    assert roles["partial_out"] == roles["partial_max"] == "scratch"
    assert instance.tensor("partial_out").extents == (2, 1, 2, 8, 128)


def test_the_signatures_of_the_manifest_are_what_the_launcher_passes(emitted, demo):
    manifest = emitted(DEMO)[1]
    source, scene = demo
    for launch in capture(source, scene.arguments).launches:
        (pinned,) = [s for s in manifest["signatures"] if s["function"] == launch.function]
        for name, type in pinned["signature"].items():
            given = launch.arguments[name]
            if type == "constexpr":
                assert given == pinned["constants"][name]
            elif isinstance(given, Number):
                assert given.type == type
            else:
                assert isinstance(given, Pointer) and type.startswith("*")


def test_a_one_is_a_constant_unless_the_parameter_is_exempt(emitted):
    source, manifest = emitted("norm/rms_odd")
    scene = norm_scene(manifest["problem"], {"T": 1, "H": 3}, gap=0)
    kept = source.replace("stride_x_t: tl.int64", "stride_x_t").replace("x.stride(0)", "1")
    (launch,) = capture(kept, scene.arguments).launches
    assert launch.arguments["stride_x_t"] == Number(1, "i32")
    plain = re.sub(r"@triton\.jit\(.*?\)\ndef", "@triton.jit\ndef", kept, flags=re.DOTALL)
    assert plain != kept
    (launch,) = capture(plain, scene.arguments).launches
    assert launch.arguments["stride_x_t"] == 1


def test_the_launchers_own_refusals_pass_through(emitted):
    source, manifest = emitted("norm/rms_odd")
    with pytest.raises(ValueError, match="H is 4; this file serves"):
        capture(source, norm_scene(manifest["problem"], {"T": 1, "H": 4}).arguments)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("import torch\n", "import torch\nimport numpy\n", "the file imports numpy"),
        ("torch.empty(", "torch.full(", "the launcher uses torch.full"),
        ("x.stride(0)", "x.item()", "the launcher uses item of a tensor"),
        ("H=H,", "H=H, W=H,", "launched with arguments that it does not have"),
        ("def run(", "def go(", "the file has no function run"),
    ],
)
def test_host_code_without_a_meaning_here_is_said(emitted, old, new, message):
    source, manifest = emitted("norm/rms_odd")
    scene = norm_scene(manifest["problem"], {"T": 2, "H": 3})
    assert old in source
    with pytest.raises(Unsupported, match=message):
        capture(source.replace(old, new), scene.arguments)


def test_padded_strides_leave_gaps_and_keep_to_multiples_of_16():
    assert padded((2, 3, 5)) == (112, 32, 1)
    assert padded((2, 3, 5), gap=1) == (19, 6, 1)
    assert padded((2, 3, 5), gap=0) == (15, 5, 1)


# ---------------------------------------------------------------- clean kernels


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("norm")])
def test_norm_kernels_are_clean_on_every_scene(emitted, name):
    source, manifest = emitted(name)
    judgement = judge(source, scenes(manifest))
    assert (judgement.outcome, judgement.ran) == ("clean", len(scenes(manifest)))


@pytest.mark.parametrize(
    "name", [DEMO, *(pytest.param(one, marks=pytest.mark.full) for one in REST)]
)
def test_attention_kernels_of_every_regime_are_clean(emitted, name):
    source, manifest = emitted(name)
    chosen: dict[tuple[str, ...], list] = {}
    for scene in scenes(manifest):
        called = tuple(launch.function for launch in capture(source, scene.arguments).launches)
        chosen.setdefault((*called, str(scene.whole)), []).append(scene)
    launched = {name for called in chosen for name in called}
    assert set(manifest["kernels"]) <= launched
    # the call at a boundary of tiles, and one of the huge ones: all of them run in the full tier
    picked = [scene for group in chosen.values() for scene in (group[-1], group[len(group) // 2])]
    judgement = judge(source, picked)
    assert judgement.outcome == "clean", judgement.why


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_every_file_is_clean_on_every_scene(emitted, name):
    source, manifest = emitted(name)
    assert judge(source, scenes(manifest)).outcome == "clean"


def test_no_scene_depends_on_data_without_values(demo):
    source, scene = demo
    report = run_grid(source, capture(source, scene.arguments))
    assert report.opaque == ()
    assert list(report.findings(scene.reads(report.instance))) == []


def test_every_key_is_read_once_by_its_request_and_named(demo):
    source, scene = demo
    report = run_grid(source, capture(source, scene.arguments))
    keys = report.counts("k_cache", "load")
    assert keys.shape == (430, 1, 1, 128)
    assert keys[:429].min() == keys[:429].max() == 1 and not keys[429].any()
    assert report.counts("out", "store").min() == 1
    lines = {line for _, _, line in report.at("k_cache", 5, "load")}
    assert all("b_k = tl.load(" in source.splitlines()[line - 1] for line in lines)


def test_the_demo_split_runs_whole_in_well_under_a_second(demo):
    source, scene = demo
    instance = capture(source, scene.arguments)
    started = time.process_time()
    report = run_grid(source, instance)
    assert list(report.findings(scene.reads(instance))) == []
    assert time.process_time() - started < 0.5


# ---------------------------------------------------------------- planted faults


@pytest.mark.parametrize(
    ("old", "new", "kind", "text"),
    [
        (
            "m_n = o_n < b_hi",
            "m_n = o_n <= b_hi",
            "read wrongly",
            "key 299 of request 0 (length 300), is read 2 times, not 1",
        ),
        (
            "b_hi = tl.minimum(b_lo + b_chunk, b_len)",
            "b_hi = b_lo + b_chunk",
            "out of range",
            "reads block_table at offset 300, between its rows",
        ),
        (
            "for i_n in tl.range(b_lo, b_hi, BLOCK_N):",
            "for i_n in tl.range(b_lo, b_hi - BLOCK_N, BLOCK_N):",
            "read wrongly",
            "key 299 of request 0 (length 300), is read 0 times, not 1",
        ),
        (
            "b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N",
            "b_chunk = tl.cdiv(b_len, SPLITS) // BLOCK_N * BLOCK_N",
            "uninitialised",
            "reads partial_max",
        ),
        (
            "i_b * stride_q_b + (i_h * G + o_m)[:, None] * stride_q_h",
            "i_b * stride_q_h + (i_h * G + o_m)[:, None] * stride_q_b",
            "out of range",
            "reads q",
        ),
        (
            "tl.store(p_partial_max + o_p, b_m, mask=m_m)",
            "tl.store(p_partial_max + o_p, b_m)",
            "out of range",
            "writes partial_max",
        ),
    ],
)
def test_a_planted_fault_is_found_with_the_element_that_shows_it(demo, old, new, kind, text):
    source, scene = demo
    judgement = judge(once(source, old, new), [scene])
    assert judgement.outcome == "wrong"
    assert judgement.finding.kind == kind
    assert text in judgement.why
    assert judgement.why.startswith("B=2, Q=1, CAP=300, WINDOW=None, lengths [300, 129]: ")


def test_scratch_that_is_too_short_is_found_from_the_launcher(demo):
    source, scene = demo
    old = "partial_sum = torch.empty((B, HK, SPLITS, 8)"
    short = source.replace(old, old.replace("SPLITS", "SPLITS - 1"), 1)
    assert "writes partial_sum at offset 16, past its last" in judge(short, [scene]).why


def test_an_offset_that_no_longer_fits_32_bits_is_found_at_a_corner_of_the_grid(emitted):
    source, manifest = emitted(DEMO)
    axes = {"B": 64, "Q": 1, "CAP": 300, "WINDOW": None}
    scene = attention_corners(manifest["problem"], axes, 129, gap=1 << 25)
    narrow = once(source, "stride_q_b: tl.int64", "stride_q_b")
    assert judge(source, [scene]).outcome == "clean"
    judgement = judge(narrow, [scene])
    assert judgement.outcome == "wrong"
    assert "program (63, 0, 0) of split_kernel reads q at offset -" in judgement.why


def test_the_corners_of_a_grid_are_its_first_and_last_programs(demo):
    source, scene = demo
    split = capture(source, scene.arguments).launches[0]
    assert corners(split) == ((0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1))


# ---------------------------------------------------------------- claims


def test_a_claim_is_confirmed_by_the_program_that_it_names(demo):
    source, scene = demo
    wrong = once(source, "b_hi = tl.minimum(b_lo + b_chunk, b_len)", "b_hi = b_lo + b_chunk")
    instance = capture(wrong, scene.arguments, axes=scene.axes)
    line = 1 + wrong[: wrong.index("b_page = tl.load(p_block_table")].count("\n")
    claim = Claim("out of range", 0, (0, 0, 1), "block_table", line)
    confirmed = replay(wrong, instance, claim)
    assert (confirmed.line, confirmed.program) == (line, (0, 0, 1))
    assert confirmed.text == (
        f"line {line}: program (0, 0, 1) of split_kernel reads block_table at offset 300, between "
        "its rows (elements 2 x 300, strides 320, 1)"
    )
    assert replay(source, capture(source, scene.arguments), claim) is None


def test_a_claim_elsewhere_than_where_it_happens_is_not_confirmed(demo):
    source, scene = demo
    wrong = once(source, "b_hi = tl.minimum(b_lo + b_chunk, b_len)", "b_hi = b_lo + b_chunk")
    instance = capture(wrong, scene.arguments)
    assert replay(wrong, instance, Claim("out of range", 0, (0, 0, 1), "q")) is None
    assert replay(wrong, instance, Claim("out of range", 1, (0, 0, 1), "block_table")) is None
    assert replay(wrong, instance, Claim("wraps", 0, (0, 0, 1))) is None


def test_claims_about_whole_tensors_run_the_whole_instance(demo):
    source, scene = demo
    short = source.replace("combine_kernel[(B, HK, 8)]", "combine_kernel[(B, HK, 7)]", 1)
    instance = capture(short, scene.arguments)
    confirmed = replay(short, instance, Claim("never written", 0, None, "out"))
    assert confirmed.text == "out[d0=0, d1=0, d2=7, d3=0] is written never"
    lost = once(source, "tl.range(b_lo, b_hi, BLOCK_N)", "tl.range(b_lo, b_hi - 1, BLOCK_N)")
    instance = capture(lost, scene.arguments)
    claim = Claim("read wrongly", 0, None, "k_cache")
    assert "key 128 of request 1" in replay(lost, instance, claim, scene.reads(instance)).text


def test_an_instance_that_is_too_large_to_run_whole_is_said_to_be(emitted):
    source, manifest = emitted("norm/rms_odd")
    scene = norm_scene(manifest["problem"], {"T": 5000, "H": 3})
    instance = capture(source, scene.arguments)
    with pytest.raises(Unsupported, match="5000 programs .* look for a smaller counterexample"):
        replay(source, instance, Claim("never written", 0, None, "out"))


def test_a_wrap_is_confirmed_by_its_line_and_numbers(emitted):
    source, manifest = emitted("norm/rms_odd")
    narrow = source.replace("stride_x_t: tl.int64", "stride_x_t")
    scene = norm_scene(manifest["problem"], {"T": 2**21, "H": 2880}, gap=16, whole=False)
    instance = capture(narrow, scene.arguments)
    line = 1 + narrow[: narrow.index("b_x = tl.load(p_x + i_t")].count("\n")
    claim = Claim("wraps", 0, (2**21 - 1, 0, 0), "", line)
    text = replay(narrow, instance, claim).text
    assert f"line {line}: program (2097151, 0, 0) of rms_kernel: * of 2097151 and 2896 is" in text
    assert "which int32 does not hold, and becomes part of an address" in text


def test_a_single_program_can_be_asked_for(demo):
    source, scene = demo
    instance = capture(source, scene.arguments)
    trace = run_program(source, instance, instance.launches[0], (1, 0, 1))
    assert trace.program == (1, 0, 1)
    # request 1 has 129 keys: its second part has one
    lanes = {access.tensor: len(access.elements) for access in trace.accesses[:6]}
    assert lanes == {
        "seq_lens": 1,
        "q": 8 * 128,
        "k_scale": 1,
        "block_table": 1,
        "k_cache": 128,
        "v_cache": 128,
    }
    assert trace.accesses[0].elements.tolist() == [1]
