"""Latents: what a cache of them changes in the emitted file, in its tests and plan, and which specs are refused."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

JOINED, FP8, SPLIT = "mla_h16_bf16_page64", "mla_h128_fp8_page1", "mla_h24_bf16_page16_split"
SMALL = ("axes.D={const: 32}", "axes.DR={const: 16}")
APART = "interface.args=[q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens]"


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    """A named spec with changes, as a file."""
    return functools.cache(
        lambda name, *overrides: render(
            build(load(root / f"specs/attention/{name}.yaml", overrides))
        )
    )


def _inputs(source: Source, lengths: list[int], layout: str = "plain") -> tuple[Any, dict]:
    """A case with one query token and these lengths, and its arguments."""
    problem = source.manifest["problem"]
    case = case_of(problem, 1, None, lengths, layout)
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


def _out(source: Source, case: Any, arguments: dict) -> torch.Tensor:
    return attention.expected(source.manifest["problem"], case, arguments)["out"].values


# ---------------------------------------------------------------- the emitted file


@pytest.mark.parametrize(
    ("name", "overrides", "shapes"),
    [
        (JOINED, (), ("q, (B, Q, HK * G, D + DR)", "kv_cache, (PAGES, PAGE, HK, D + DR)")),
        (JOINED, ("layout.cache=paged_hnd",), ("kv_cache, (PAGES, HK, PAGE, D + DR)",)),
        (
            SPLIT,
            (),
            (
                *("q_nope, (B, Q, HK * G, D)", "q_pe, (B, Q, HK * G, DR)"),
                *("ckv_cache, (PAGES, PAGE, D)", "kpe_cache, (PAGES, PAGE, DR)"),
            ),
        ),
    ],
)
def test_latents_lie_as_flashmla_and_flashinfer_have_them(rendered, name, overrides, shapes):
    text = rendered(name, *overrides).text
    for shape in shapes:
        tensor = shape.split(",")[0]
        assert f'check_shape("{tensor}", {shape})' in text
    tensors = "q_nope, q_pe, ckv_cache, kpe_cache" if name == SPLIT else "q, kv_cache"
    assert f"is_aligned({tensors})" in text


def test_a_token_is_loaded_once_and_multiplied_three_times(rendered):
    kernel = rendered(JOINED).text.split("def split_kernel(")[1].split("@triton")[0]
    assert kernel.count("p_kv\n") == 2 and "BLOCK_V" not in kernel
    assert kernel.count("tl.dot(") == 3
    assert "b_s = tl.dot(b_q, tl.trans(b_c))" in kernel
    assert "b_s = tl.dot(b_q_r, tl.trans(b_r), b_s)" in kernel
    assert "tl.dot(b_p.to(tl.bfloat16), b_c, b_acc" in kernel


def test_no_tile_is_wider_than_the_latents(rendered):
    for signature in rendered(JOINED).manifest["signatures"]:
        sizes = {k: v for k, v in signature["constants"].items() if k.startswith("BLOCK_")}
        assert sizes["BLOCK_D"] == 512 and sizes.get("BLOCK_R", 64) == 64
        assert max(sizes.values()) == 512


def test_fp8_becomes_fp16_where_it_is_loaded_and_nowhere_else(rendered):
    kernel = rendered(FP8).text.split("def split_kernel(")[1].split("@triton")[0]
    assert kernel.count(").to(tl.float16)\n") >= 2 and "tl.dot(b_q, tl.trans(b_c))" in kernel
    assert "b_c.to" not in kernel and "b_r.to" not in kernel
    # one power of two for all columns of a row: the products of both parts are summed
    assert kernel.count("/ b_top[:, None]).to(tl.float16)") == 2
    assert "tl.max(tl.abs(b_q_r.to(tl.float32)), 1)" in kernel


def test_the_scale_of_keys_is_that_of_values(rendered):
    text = rendered(FP8).text
    kernels = {
        name: text.split(f"def {name}(")[1].split("@triton")[0]
        for name in ("split_kernel", "combine_kernel", "attend_kernel")
    }
    assert "b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale))" in kernels["split_kernel"]
    assert (
        "b_out = b_acc / tl.where(b_l > 0, b_l, 1.0) * tl.load(p_k_scale)"
        in kernels["combine_kernel"]
    )
    assert kernels["attend_kernel"].count("tl.load(p_k_scale)") == 2
    assert "v_scale" not in text


def test_columns_that_are_no_power_of_two_are_masked(rendered):
    odd = ("axes.D={const: 80}", "axes.DR={const: 24}")
    kernel = rendered(JOINED, *odd).text.split("def split_kernel(")[1].split("@triton")[0]
    assert kernel.count("o_r < DR") == 2 and kernel.count("o_d < D)") >= 2
    even = rendered(JOINED).text.split("def split_kernel(")[1].split("@triton")[0]
    assert "o_r <" not in even and "o_d <" not in even


def test_tiles_of_whole_tokens_have_no_mask_of_rows(rendered):
    whole, part = (rendered(name).text.split("def attend_kernel(")[1] for name in (JOINED, SPLIT))
    assert "m_m" not in whole and "m_m = o_m < Q * G" in part


# ---------------------------------------------------------------- its tests


def test_what_no_row_sees_is_poison_in_both_parts(rendered):
    case, arguments = _inputs(rendered(SPLIT, *SMALL), [20, 0, 3])
    latents, rotary = (~arguments[name].isnan() for name in ("ckv_cache", "kpe_cache"))
    assert latents.all(-1).equal(rotary.all(-1)) and latents.any(-1).equal(latents.all(-1))
    assert latents.all(-1).sum() == 23
    assert arguments["q_nope"].shape == (3, 1, 24, 32) and arguments["q_pe"].shape == (3, 1, 24, 16)


def test_both_layouts_and_plain_keys_and_values_give_the_same(rendered):
    joined = rendered(JOINED, *SMALL)
    apart = rendered(JOINED, *SMALL, "layout.kv=latent_split", APART)
    case, arguments = _inputs(joined, [70, 0, 3])
    _, parts = _inputs(apart, [70, 0, 3])
    assert torch.equal(torch.cat((parts["q_nope"], parts["q_pe"]), -1), arguments["q"])
    cache = arguments["kv_cache"]
    plain = inspect.cleandoc("""
        axes.D={const: 48}
        axes.DV={const: 32}
        layout={cache: paged_nhd, page_size: 64}
        interface.args=[q, k_cache, v_cache, block_table, seq_lens]
        """).split("\n")
    wide = rendered(
        "mha_dqk192_dv128",
        *plain,
        "axes.HK={const: 1}",
        "axes.G={const: 16}",
        "scales.softmax=1/sqrt(192)",
    )
    both = {**arguments, "k_cache": cache, "v_cache": cache[..., :32]}
    results = [_out(joined, case, arguments), _out(apart, case, parts), _out(wide, case, both)]
    assert results[0].abs().sum() > 0 and not results[0][1].any()
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_a_scale_multiplies_scores_and_outputs(rendered):
    source = rendered(FP8, *SMALL)
    case, arguments = _inputs(source, [20, 0, 3])
    other = {**arguments, "k_scale": torch.tensor([1.0])}
    doubled = arguments["kv_cache"].float() * 0.5
    same = {**other, "kv_cache": doubled.to(torch.float8_e4m3fn)}
    results = [_out(source, case, given) for given in (arguments, other, same)]
    assert not torch.allclose(results[0], results[1])
    # halves of fp8 numbers are fp8 numbers, but for the smallest
    assert torch.allclose(results[0], results[2], atol=1e-3)


def test_the_work_counts_a_token_once(rendered):
    source = rendered(JOINED)
    case, _ = _inputs(source, [100])
    found = attention.work(source.manifest["problem"], case)
    assert found.operations == 2 * 100 * 16 * (576 + 512)
    rows = 16 * (576 * 2 + 512 * 2 + 4)
    assert found.bytes == 100 * 576 * 2 + rows + 4 * 2 + 4


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            JOINED,
            "+ D\n            + o_r",
            "+ o_r",
            "h=0, d=0], key 64 of request 0 (length 70), is read 2 times, not 1",
        ),
        (
            JOINED,
            "+ D\n            + o_r",
            "+ D - 1\n            + o_r",
            "h=0, d=31], key 64 of request 0 (length 70), is read 2 times, not 1",
        ),
        (
            SPLIT,
            "p_kpe\n            + b_page",
            "p_kpe\n            + 1\n            + b_page",
            "kpe_cache[",
        ),
        (
            SPLIT,
            "p_ckv\n            + b_page[:, None]",
            "p_ckv\n            + (b_page ^ 1)[:, None]",
            "ckv_cache[",
        ),
    ],
)
def test_a_replay_knows_latents_and_rotary_columns(rendered, name, old, new, said):
    source = rendered(name, *SMALL)
    axes = {"B": 2, "Q": 1, "CAP": 128} | ({"WINDOW": None} if name == SPLIT else {})
    scene = attention_scene(source.manifest["problem"], axes, [70, 20])

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert source.text.count(old) >= 1
    assert findings(source.text) == []
    found = findings(source.text.replace(old, new))
    assert any(said in one for one in found), found


# ---------------------------------------------------------------- the plan


def _plan(root: Path, *overrides: str):
    return build(load(root / f"specs/attention/{JOINED}.yaml", overrides))


def test_sizes_of_rotary_columns_are_stated_where_there_are_any(root: Path):
    says = {one.says for one in check(_plan(root)).obligations}
    assert "BLOCK_M x BLOCK_N x BLOCK_R is at least 16 each way" in says
    assert "1 tiles of BLOCK_R reach DR" in says
    other = build(load(root / "specs/attention/gqa4_bf16_packed.yaml"))
    assert not any(re.search(r"\bBLOCK_R\b", one.says) for one in check(other).obligations)


def test_tiles_that_no_program_has_room_for_are_a_finding(root: Path):
    """A18, A19: latents of 512 columns, in tiles of 128 keys and three stages of them."""
    plan = _plan(root, "regimes.decode.tile.BLOCK_N=128", "regimes.decode.launch.num_stages=3")
    found = [str(one) for one in check(plan).findings]
    assert any(
        "split: max(1, NUM_STAGES - 1) * HEADS * BLOCK_N * HELD_COLUMNS * KV_BYTES <= 232448" in one
        for one in found
    ), found


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("name", "overrides", "said"),
    [
        (JOINED, ["axes.HK={const: 2}"], "KG466: HK is 2, and latents are the keys and values of one KV head"),
        (JOINED, ["axes.HK={const: 2}"], "write HK: {const: 1}, and all query heads in G"),
        (JOINED, ["axes.DV={const: 128}"], "KG466: the axis DV is there, and values are the D latent columns of keys"),
        (JOINED, ["scales.v=per_tensor"], "KG466: scales.v is per_tensor, and values are columns of keys: their scale is that of keys"),
        (JOINED, ["scales.k=per_token"], "KG466: scales.k is per_token, and latents have one scale or none"),
        (JOINED, ["scales.k=per_head"], "write k: per_tensor, or none"),
        (SPLIT, ["layout.cache=paged_hnd"], "KG466: paged_hnd says where KV heads come, and a cache of split latents has no dimension for them"),
        (SPLIT, ["layout.cache=paged_hnd"], "write cache: paged_nhd"),
        (JOINED, ["axes.G={const: 1}"], "KG428: one query head in all: a tile of rows would have one row"),
        (JOINED, ["layout.kv=packed"], "KG465: the axis DR counts the rotary columns behind latents, and layout.kv is packed"),
        (JOINED, ["layout.kv=packed"], "write layout.kv: latent or latent_split, or count these columns in D"),
        (JOINED, ["axes.DR={range: [1, 64]}"], "KG211: the axis `DR` is a constant of the kernel and has to be `const`"),
        (JOINED, ["interface.args=[q, k_cache, v_cache, block_table, seq_lens]"], "KG404: interface.args names `v_cache`, which this spec does not have"),
        (SPLIT, ["interface.args=[q, ckv_cache, kpe_cache, block_table, seq_lens, window]"], "KG404: interface.args leaves out `q_nope`, `q_pe`"),
    ],
)  # fmt: skip
def test_what_latents_cannot_have_is_refused(rendered, name, overrides, said):
    with pytest.raises(KgenError) as caught:
        rendered(name, *overrides)
    assert said in str(caught.value)


def _without(text: str, line: str) -> str:
    assert line in text
    return "\n".join(one for one in text.split("\n") if not one.startswith(line))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scales:", "KG467: scales.softmax is left out, and 1/sqrt(D) is not the scale of latents"),
        ("scales:", "write for example scales: {softmax: 1/sqrt(192)}"),
        ("  DR:", "KG211: the axis `DR` (rotary columns of queries and keys) is missing"),
    ],
)
def test_what_latents_need_is_asked_for(root: Path, tmp_path: Path, line: str, said: str):
    text = (root / f"specs/attention/{JOINED}.yaml").read_text()
    spec = tmp_path / "spec.yaml"
    spec.write_text(_without(text, line))
    with pytest.raises(KgenError) as caught:
        build(load(spec))
    assert said in str(caught.value)
