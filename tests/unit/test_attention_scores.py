"""What changes scores before the softmax: in the emitted file and in the reference."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kgen.families.attention import problem as attention
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
    case = attention._case(problem, 1, 1, None, [2], "plain")
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
