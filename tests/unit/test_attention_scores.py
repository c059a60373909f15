"""What changes scores before the softmax: in the emitted file and in the reference."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.families.attention.problem.shape import shape_of
from kgen.families.attention.problem.tensors import EXTREME_SINKS, drawn_sinks
from kgen.plan.build import build
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

PAGED = "specs/attention/gqa8_bf16_page16.yaml"
SMALL = ("axes.HK={const: 1}", "axes.D={const: 16}")


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    return functools.cache(lambda *overrides: render(build(load(root / PAGED, overrides))))


# ---------------------------------------------------------------- softcap

CAPPED = re.compile(r"\n +b_s = (SOFTCAP .*)\n +b_s = tl.where\(m_s, b_s, float")
SCALED = re.compile(r"\n +b_scale = (.*)\n")


@pytest.mark.parametrize("cap", [0.01, 50.0])
def test_emitted_scores_are_capped_whatever_their_size(rendered, cap):
    """Each kernel's own expressions, in fp32, beside cap * tanh(score / cap) * log2 e in fp64."""
    text = rendered(f"masking.softcap={cap}").text
    names = {
        "SOFTCAP": cap,
        "SM_SCALE_LOG2": math.log2(math.e),
        "tl": SimpleNamespace(exp2=np.exp2),
    }
    scores = np.array([0, 1e-6, 0.3, 2, 30, 50, 300, 5000, 1e4, 1e30], np.float32)
    scores = np.concatenate([scores, -scores])
    capped = cap * np.tanh(scores.astype(np.float64) / cap) * math.log2(math.e)
    expressions = list(zip(SCALED.findall(text), CAPPED.findall(text), strict=True))
    assert len(expressions) == 2
    for scale, expression in expressions:
        with np.errstate(over="ignore"):
            factor = np.float32(eval(scale, {}, names))
            found = eval(expression, {}, {**names, "b_s": scores, "b_scale": factor})
        assert found.dtype == np.float32
        assert np.abs(found - capped).max() <= cap * 2.0**-20


def test_a_spec_without_a_softcap_has_no_trace_of_one(rendered):
    assert not re.search("softcap", rendered().text, re.IGNORECASE)
    assert "softcap" not in rendered().manifest["problem"]


def test_scales_of_keys_and_rows_are_factors_before_the_cap(rendered):
    """With rows of fp8 keys, all factors are in what is capped, and none is applied after it."""
    args = "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale]"
    text = rendered("masking.softcap=50.0", "dtypes.kv=fp8_e4m3", "scales.k=per_tensor", args).text
    scaled = "b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale) * (2 / SOFTCAP))[:, None]"
    assert text.count(scaled) == 2 == len(CAPPED.findall(text))


@pytest.mark.parametrize("size", [5000.0, 1e4])
def test_the_reference_caps_scores(rendered, size):
    """Two keys of scores +size and -size: their capped scores differ by twice the cap, here 2."""
    problem = rendered("masking.softcap=1.0", "scales.softmax=1.0", *SMALL).manifest["problem"]
    case = case_of(problem, 1, None, [2], "plain")
    arguments = attention.inputs(
        problem, case, torch.Generator().manual_seed(1), torch.device("cpu")
    )
    page = arguments["block_table"][0, 0]
    arguments["q"].fill_(1.0)
    for slot, sign in ((0, 1.0), (1, -1.0)):
        arguments["k_cache"][page, slot] = sign * size / 16
        arguments["v_cache"][page, slot] = sign
    found = attention.expected(problem, case, arguments)["out"]
    assert torch.allclose(found.values, torch.tensor(math.tanh(1.0), dtype=torch.float64))
    # what a score lost in its sum does not pass a cap that it is far beyond
    assert found.absolute.max() <= 4 * (2.0**-8 + 2.0**-21) * math.sqrt(0.881**2 + 0.12**2) + 2e-6


# ---------------------------------------------------------------- sinks

SINKS = (
    "masking.sinks=true",
    "interface={args: [q, k_cache, v_cache, block_table, seq_lens, sinks], returns: [out, lse], lse: base_2}",
)
ADDED = re.compile(r"\n +(b_sink = .*)\n +b_l \+= (.*)\n")
LSE = re.compile(r"p_lse .*,\n +(tl.where\((?:.|\n)*?\)),\n(?: +mask=m_m,\n)? +\)\n\n")
EDGES = [-math.inf, -1e4, -200.0, -1.0, 0.0, 3.0, 200.0, 1e4]


def _kernels(text: str) -> dict[str, str]:
    parts = re.split(r"\ndef (\w+)\(", text)
    return {name: body for name, body in zip(parts[1::2], parts[2::2]) if name.endswith("_kernel")}


def test_a_sink_is_read_where_all_keys_are_counted(rendered):
    kernels = _kernels(rendered(*SINKS, "masking.softcap=5.0").text)
    found = {name: ADDED.findall(body) for name, body in kernels.items()}
    assert {name for name, one in found.items() if one} == {"combine_kernel", "attend_kernel"}
    logits = {sink for ((sink, _),) in filter(None, found.values())}
    mask = ", mask=m_m, other=0.0"
    assert logits == {
        f"b_sink = tl.load(p_sinks + i_h * G + i_m) * {math.log2(math.e)}",
        f"b_sink = tl.load(p_sinks + i_h * G + o_m{mask}) * {math.log2(math.e)}",
    }


def test_emitted_sums_hold_the_sink_at_every_edge(rendered):
    """Each kernel's own expressions for largest score, sum and sink: no NaN, and the LSE of all of them."""
    tl = SimpleNamespace(exp2=np.exp2, log2=np.log2, where=np.where)
    for name, body in _kernels(rendered(*SINKS).text).items():
        for (_, added), lse in zip(ADDED.findall(body), LSE.findall(body + "\n"), strict=True):
            for most, sink in itertools.product(EDGES, [*EDGES, math.inf]):
                b_l = np.float32(0.0 if most == -math.inf else 1.5)
                names = {"tl": tl, "b_m": np.float32(most), "b_sink": np.float32(sink)}
                with np.errstate(over="ignore", invalid="ignore"):
                    b_l += eval(added, {}, names)
                    found = eval(lse, {}, {**names, "b_l": b_l})
                keys = -math.inf if most == -math.inf else most + math.log2(1.5)
                right = np.logaddexp2(keys, sink)
                assert found == pytest.approx(right, rel=1e-6), (name, most, sink)
                if most > -math.inf:
                    assert 1.5 / b_l == pytest.approx(2.0 ** (keys - right), abs=1e-6)


def test_the_reference_counts_a_sink_once_and_as_it_is(rendered):
    """Three keys of score 0: a sink of 0 is a fourth, whatever scales and caps scores."""
    changes = ("scales.softmax=0.05", "masking.softcap=5.0")
    problem = rendered(*SINKS, *SMALL, *changes).manifest["problem"]
    case = case_of(problem, 1, None, [3, 0], "plain")
    arguments = attention.inputs(
        problem, case, torch.Generator().manual_seed(1), torch.device("cpu")
    )
    arguments["q"].zero_()
    for page in arguments["block_table"][:, 0].clamp(min=0)[:1]:
        arguments["v_cache"][page, :3] = 1.0
    sinks = [0.0, 2.0, -math.inf, math.inf, 500.0, -500.0, math.log(3.0), -1.0]
    arguments["sinks"] = torch.tensor(sinks)
    found = attention.expected(problem, case, arguments)
    weights = torch.tensor([3 / (3 + math.exp(min(sink, 700.0))) for sink in sinks])
    assert torch.allclose(found["out"].values[0, 0, :, 0], weights.double(), atol=1e-7)
    assert torch.equal(found["out"].values[1], torch.zeros_like(found["out"].values[1]))
    lse = found["lse"].values[:, 0]
    logits = torch.tensor(sinks, dtype=torch.float32).double()
    assert torch.allclose(
        lse[0], torch.logaddexp(logits, torch.tensor(3.0).log().double()) / math.log(2)
    )
    assert torch.allclose(lse[1], logits / math.log(2))


def test_a_spec_without_sinks_has_no_trace_of_them(rendered):
    assert "sink" not in rendered().text and "sinks" not in rendered().manifest["problem"]


def test_sinks_of_every_kind_are_tried(rendered):
    problem = rendered(*SINKS).manifest["problem"]
    layouts = {}
    for case in attention.cases(problem, "interpret"):
        if case.axes["B"]:
            generator = torch.Generator().manual_seed(1)
            shape = shape_of(problem, case)
            layouts[case.layout] = drawn_sinks(shape, case.layout, generator)
    assert layouts["plain"].isfinite().all() and layouts["plain"].unique().numel() == 64
    for layout in ("extreme", "check"):
        assert set(EXTREME_SINKS) <= set(layouts[layout].tolist())
