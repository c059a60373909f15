"""What a feature of attention changes: in the emitted file, in what it is tested with, and in what a replay expects."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.families.attention.problem.layouts import lay_out
from kgen.families.formats import NAN_BYTE, TORCH
from kgen.plan.build import build
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

PAGED = "specs/attention/gqa8_bf16_page16.yaml"
HND = "layout.cache=paged_hnd"
# what a replay says of keys that another head's program reads, and of those that none reads
TAKEN = "k_cache[page=3, h=0, slot=1, d=0], key 17 of request 1 (length 20), is read 1 times, not 0"
LEFT_OUT = (
    "k_cache[page=1, h=1, slot=1, d=0], key 17 of request 0 (length 33), is read 0 times, not 1"
)


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    return functools.cache(lambda *overrides: render(build(load(root / PAGED, overrides))))


def _inputs(problem: Mapping[str, Any], lengths: list[int]) -> tuple[Any, dict[str, Any]]:
    """A case of `problem` with these lengths, and its arguments; the same numbers whatever the problem."""
    case = case_of(problem, 1, None, lengths, "plain")
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


# ---------------------------------------------------------------- heads before the tokens of a page


def test_the_order_of_a_cache_is_that_of_strides_and_shapes(rendered):
    text = rendered(HND).text
    assert 'check_shape("k_cache", k_cache, (PAGES, HK, PAGE, D))' in text
    assert (
        "            + b_page[:, None] * stride_k_page\n"
        "            + i_h * stride_k_h\n"
        "            + (o_n % PAGE)[:, None] * stride_k_slot\n" in text
    )


def test_a_cache_with_heads_first_needs_no_other_kernel(rendered):
    """The strides of head and slot change places among the parameters, and nothing else does."""

    def bodies(source: Source) -> list[list[str]]:
        functions = [node for node in ast.parse(source.text).body if _is_kernel(node)]
        return [sorted(ast.unparse(node).replace("(", " ").split()) for node in functions]

    assert bodies(rendered(HND)) == bodies(rendered())


def _is_kernel(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name.endswith("_kernel")


def test_both_orders_hold_the_same_tokens_and_give_the_same_result(rendered):
    by_token, by_head = (rendered(*one).manifest["problem"] for one in ((), (HND,)))
    case, plain = _inputs(by_token, [40, 3])
    _, swapped = _inputs(by_head, [40, 3])
    for name in ("k_cache", "v_cache"):
        back = swapped[name].transpose(1, 2)
        assert plain[name].shape == back.shape != swapped[name].shape
        assert torch.equal(plain[name].view(torch.int16), back.contiguous().view(torch.int16))
    results = [attention.expected(p, case, a) for p, a in ((by_token, plain), (by_head, swapped))]
    for name in ("out", "lse"):
        assert torch.equal(results[0][name].values, results[1][name].values)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("+ i_h * stride_k_h", "+ i_h * stride_k_slot", TAKEN),
        ("(o_n % PAGE)[:, None] * stride_k_slot", "(o_n % PAGE)[:, None] * stride_k_h", LEFT_OUT),
    ],
)
def test_a_replay_knows_where_keys_lie(rendered, old, new, said):
    source = rendered(HND, "axes.HK={const: 2}", "axes.D={const: 64}")
    axes = {"B": 2, "Q": 1, "CAP": 48}
    scene = attention_scene(source.manifest["problem"], axes, [33, 20])

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    found = findings(source.text.replace(old, new, 1))
    assert any(said in one for one in found), found


# ---------------------------------------------------------------- fp8 in two formats, and as bytes


FP8 = ("interface.args=[q, k_cache, v_cache, block_table, seq_lens]", "axes.HK={const: 2}")
BYTES = "layout.storage=uint8"
NAMES = {"fp8_e4m3": "float8e4nv", "fp8_e5m2": "float8e5"}


@pytest.mark.parametrize("kv", NAMES)
def test_bytes_become_numbers_of_the_declared_format_before_they_are_widened(rendered, kv):
    text = rendered(f"dtypes.kv={kv}", BYTES).text
    widened = f".to(tl.{NAMES[kv]}, bitcast=True).to(tl.float16)"
    assert text.count(f"b_k{widened}") == text.count(f"b_v{widened}") == 2
    assert 'check_tensor("k_cache", k_cache, torch.uint8, 4, ' in text
    assert "bitcast=True).to(tl.float16)" not in rendered(f"dtypes.kv={kv}").text


@pytest.mark.parametrize("kv", NAMES)
def test_bytes_give_what_the_numbers_give(rendered, kv):
    own, kept = (
        rendered(f"dtypes.kv={kv}", *one, *FP8).manifest["problem"] for one in ((), (BYTES,))
    )
    case, numbers = _inputs(own, [40, 3])
    _, as_bytes = _inputs(kept, [40, 3])
    for name in ("k_cache", "v_cache"):
        assert as_bytes[name].dtype == torch.uint8
        assert torch.equal(numbers[name].view(torch.uint8), as_bytes[name])
    results = [attention.expected(p, case, a) for p, a in ((own, numbers), (kept, as_bytes))]
    assert torch.equal(results[0]["out"].values, results[1]["out"].values)


def test_the_declared_format_decides_what_bytes_mean(rendered):
    results = []
    for kv in NAMES:
        problem = rendered(f"dtypes.kv={kv}", BYTES, *FP8).manifest["problem"]
        case, arguments = _inputs(problem, [1])
        # 0x3C is 1.5 in e4m3 and 1.0 in e5m2; with one key the output is its value
        arguments["v_cache"] = torch.full_like(arguments["v_cache"], 0x3C)
        arguments["k_cache"] = torch.zeros_like(arguments["k_cache"])
        results.append(attention.expected(problem, case, arguments)["out"].values.unique().tolist())
    assert results == [[1.5], [1.0]]


def test_bytes_that_no_key_needs_are_nan_in_both_formats(rendered):
    problem = rendered("dtypes.kv=fp8_e5m2", BYTES, *FP8).manifest["problem"]
    _, arguments = _inputs(problem, [3])
    assert arguments["k_cache"][0].unique().tolist() == [NAN_BYTE]
    padded = lay_out(arguments["k_cache"], "k_cache", "padded", torch.device("cpu"))
    around = padded.as_strided((padded.shape[-1] + 16,), (1,))
    assert around[padded.shape[-1] :].unique().tolist() == [NAN_BYTE]
    for kind in ("fp8_e4m3", "fp8_e5m2"):
        assert around[-1:].view(TORCH[kind]).float().isnan().all()


# ---------------------------------------------------------------- scales for each KV head


def _scaled(k: str, v: str) -> tuple[str, ...]:
    args = [f"{name}_scale" for name, mode in (("k", k), ("v", v)) if mode != "none"]
    names = ", ".join(["q", "k_cache", "v_cache", "block_table", "seq_lens", *args])
    return (f"interface.args=[{names}]", f"scales={{k: {k}, v: {v}}}", "axes.HK={const: 2}")


@pytest.mark.parametrize(
    ("k", "v", "loads"),
    [
        ("per_head", "per_head", {"p_k_scale + i_h", "p_v_scale + i_h"}),
        ("per_head", "none", {"p_k_scale + i_h"}),
        ("per_tensor", "per_head", {"p_k_scale", "p_v_scale + i_h"}),
    ],
)
def test_a_program_reads_the_scale_of_its_head(rendered, k, v, loads):
    text = rendered(*_scaled(k, v)).text
    assert set(re.findall(r"tl.load\((p_[kv]_scale[^)]*)\)", text)) == loads
    checked = {name for name, mode in (("k", k), ("v", v)) if mode == "per_head"}
    assert set(re.findall(r'check_shape\("([kv])_scale", \w+, \(HK,\)\)', text)) == checked


def test_each_head_has_its_own_scale_in_the_reference(rendered):
    problem = rendered(*_scaled("per_head", "per_head")).manifest["problem"]
    case, arguments = _inputs(problem, [40, 3])
    assert arguments["k_scale"].tolist() == [0.5, 1.0]
    assert arguments["v_scale"].tolist() == [2.0, 4.0]
    found = attention.expected(problem, case, arguments)["out"].values
    for head in (0, 1):
        one = {name: arguments[f"{name}_scale"][head].expand(2) for name in ("k", "v")}
        same = {**arguments, "k_scale": one["k"], "v_scale": one["v"]}
        rows = slice(8 * head, 8 * head + 8)
        alone = attention.expected(problem, case, same)["out"].values
        assert torch.equal(found[:, :, rows], alone[:, :, rows])
        assert not torch.equal(found, alone)


@pytest.mark.parametrize("outside", ["fallback", "raise"])
def test_a_window_that_has_one_value_and_is_an_argument_is_checked(rendered, outside):
    """A fallback is proved for that value too, so no other may reach it."""
    source = rendered(
        *("axes.WINDOW={values: [200], doc: keys}", "masking.window=WINDOW", "workloads={}"),
        "interface.args=[q, k_cache, v_cache, block_table, seq_lens, window]",
        f"interface.outside={outside}",
    )
    assert 'check_choice("WINDOW", WINDOW, (200,))' in source.text
