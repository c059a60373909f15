"""What becomes of outputs before they are stored: in the emitted file and in the reference."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.plan.build import build
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

PAGED = "specs/attention/gqa8_bf16_page16.yaml"
ARGS = "q, k_cache, v_cache, block_table, seq_lens"
NORM = ("epilogue={norm: rms, eps: 0.125}", f"interface.args=[{ARGS}, norm_weight]")
BOTH = ("epilogue={norm: rms, gate: silu}", f"interface.args=[{ARGS}, norm_weight, gate]")
GATES = {"sigmoid": torch.sigmoid, "silu": functional.silu}


def _gated(gate: str) -> tuple[str, str]:
    return (f"epilogue.gate={gate}", f"interface.args=[{ARGS}, gate]")


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    small = ("axes.HK={const: 1}", "axes.G={const: 2}", "axes.D={const: 80}")
    return functools.cache(lambda *changes: render(build(load(root / PAGED, (*small, *changes)))))


def _tried(problem: dict[str, Any], layout: str = "plain") -> tuple[Any, dict[str, Any]]:
    case = case_of(problem, 1, None, [40, 0], layout)
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


def _plain(problem: dict[str, Any], case: Any, arguments: dict[str, Any]) -> torch.Tensor:
    """What attention gives before any epilogue."""
    bare = {name: value for name, value in problem.items() if name != "epilogue"}
    return attention.expected(bare, case, arguments)["out"].values


def test_the_norm_comes_before_the_gate_and_both_before_the_rounding(rendered):
    text = rendered(*BOTH).text
    for kernel in re.findall(r"    b_out = b_acc(?:.|\n)*?tl\.store", text):
        found = [kernel.index(one) for one in ("b_acc /", "tl.rsqrt", "* b_weight", "tl.sigmoid")]
        assert found == sorted(found)
    assert text.count("tl.sigmoid(b_gate)") == text.count("b_out.to(p_out.dtype.element_ty)") == 2


def test_the_combine_asks_for_operands_before_it_sums(rendered):
    """A program of the combine is short: a load at its end would be waited for."""
    text = rendered(*BOTH).text
    combine = text[text.index("def combine_kernel") : text.index("def attend_kernel")]
    loads = [combine.index(one) for one in ("p_norm_weight +", "b_gate = ", "p_partial_max +")]
    assert loads == sorted(loads)


def test_columns_that_are_not_there_are_neither_read_nor_averaged(rendered):
    text = rendered(*BOTH).text
    assert text.count("tl.load(p_norm_weight + o_d, mask=o_d < D, other=0.0)") == 2
    assert text.count(" / D + EPS)") == 2
    uneven = rendered(*BOTH, "axes.DV={const: 48}").text
    assert uneven.count("tl.load(p_norm_weight + o_v, mask=o_v < DV, other=0.0)") == 2
    assert uneven.count(" / DV + EPS)") == 2


@pytest.mark.parametrize(("changes", "absent"), [((), "norm gate"), (NORM, "gate")])
def test_what_a_spec_leaves_out_has_no_trace(rendered, changes, absent):
    source = rendered(*changes)
    words = {"norm": ("rsqrt", "EPS", "norm_weight"), "gate": ("sigmoid", "p_gate", "b_gate")}
    for name in absent.split():
        assert not [word for word in words[name] if word in source.text]
        assert name not in source.manifest["problem"].get("epilogue", {})


def test_the_reference_normalises_each_head_over_its_columns(rendered):
    problem = rendered(*NORM).manifest["problem"]
    case, arguments = _tried(problem)
    plain = _plain(problem, case, arguments)
    right = functional.rms_norm(plain, (80,), arguments["norm_weight"].double(), eps=0.125)
    found = attention.expected(problem, case, arguments)["out"].values
    assert torch.allclose(found, right, rtol=1e-12)
    assert not torch.allclose(found, plain, rtol=0.1)


@pytest.mark.parametrize("gate", GATES)
def test_the_reference_gates_each_output(rendered, gate):
    problem = rendered(*_gated(gate)).manifest["problem"]
    for layout in ("plain", "extreme"):
        case, arguments = _tried(problem, layout)
        right = _plain(problem, case, arguments) * GATES[gate](arguments["gate"].double())
        found = attention.expected(problem, case, arguments)["out"]
        assert torch.allclose(found.values, right, rtol=1e-12)
        # what a gate closes has to be closed: no error of the attention is left of it
        closed = right.abs() < 1e-30
        assert found.absolute[closed].max() <= 1e-6 or layout == "plain"
        assert closed.any() and found.values[1].eq(0).all()


def test_an_error_of_the_attention_is_passed_on_as_it_is(rendered):
    """Outputs that are off by what is allowed before the epilogue are within what is allowed after it."""
    problem = rendered(*BOTH).manifest["problem"]
    case, arguments = _tried(problem)
    bare = {name: value for name, value in problem.items() if name != "epilogue"}
    before = attention.expected(bare, case, arguments)["out"]
    after = attention.expected(problem, case, arguments)["out"]
    weight, gate = arguments["norm_weight"].double(), arguments["gate"].double()
    largest = 0.0
    for seed in range(20):
        sign = torch.randn(
            before.values.shape, generator=torch.Generator().manual_seed(seed)
        ).sign()
        moved = before.values + 0.5 * before.absolute * sign
        moved = functional.rms_norm(moved, (80,), weight, eps=1e-6) * functional.silu(gate)
        largest = max(largest, float(((moved - after.values).abs() / after.absolute)[0].max()))
    assert 0.3 < largest < 1.0
