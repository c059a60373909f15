"""Ragged queries of attention: each request with a number of query tokens of its own, one behind the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.families.formats import STRANGE_IDS
from kgen.plan.build import build
from kgen.plan.model import Plan
from kgen.prove.promises import promises
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.helpers import sources
from kgen.render.model import Source
from kgen.spec import load

RAGGED, BATCHED = "gqa4_bf16_ragged", "gqa8_bf16_page16"


@pytest.fixture(scope="module")
def planned(root: Path) -> Callable[..., Plan]:
    return lambda name, *overrides: build(load(root / f"specs/attention/{name}.yaml", [*overrides]))


@pytest.fixture(scope="module")
def rendered(planned) -> Callable[..., Source]:
    return functools.cache(lambda name, *overrides: render(planned(name, *overrides)))


def test_the_entry_counts_tokens_and_requests_apart(rendered):
    text = rendered(RAGGED).text
    for line in (
        "B = seq_lens.shape[0]",
        "T = q.shape[0]",
        "Q = max_q",
        'check_shape("q", q, (T, HK * G, D))',
        'check_shape("cu_q", cu_q, (B + 1,))',
        "out = torch.empty((T, HK * G, D), dtype=torch.bfloat16, device=q.device)",
        'check_integer("Q", Q, 1, 4096)',
    ):
        assert line in text


def test_batched_queries_have_no_trace_of_them(rendered):
    text = rendered(BATCHED).text
    assert not any(name in text for name in ("cu_q", "b_tokens", "b_start", "RAGGED", "T: tl."))


@pytest.mark.parametrize("value", [2.0, None, True, torch.tensor(2)])
def test_what_is_passed_for_the_most_tokens_is_an_integer(value):
    scope: dict[str, Any] = {}
    exec("\n".join(sources({"check_integer"})), scope)
    scope["check_integer"]("Q", 2, 1, 4)
    with pytest.raises(TypeError, match="not an integer"):
        scope["check_integer"]("Q", value, 1, 4)
    with pytest.raises(ValueError, match="Q is 5; this file serves 1 to 4"):
        scope["check_integer"]("Q", 5, 1, 4)


def test_what_is_promised_of_offsets_is_said(planned):
    assert (
        "cu_q[b] is from 0 to T, the first the least and the last the most, and none less than the "
        "one before it nor more than Q above it" in promises(planned(RAGGED))
    )


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["axes.N={range: [0, Q]}"], "KG211: the query tokens `N` of a request are known only on"),
        (["axes.Q={const: 4}"], "KG404: interface.args names `max_q`, which this spec does not"),
        (
            ["interface.args=[q, k_cache, v_cache, block_table, seq_lens, cu_q]"],
            "KG419: nothing in the arguments of attention gives the axis Q",
        ),
        (
            ["interface.args=[q, k_cache, v_cache, block_table, seq_lens, max_q]"],
            "KG404: interface.args leaves out `cu_q`",
        ),
    ],
)
def test_what_ragged_queries_need_is_said(planned, overrides, said):
    with pytest.raises(KgenError) as caught:
        planned(RAGGED, "workloads={check: []}", *overrides)
    assert said in str(caught.value)
    assert "help: " in str(caught.value)


@pytest.mark.parametrize(("axis", "meaning"), [("T", "of all requests"), ("N", "of a request")])
def test_an_axis_that_is_missing_is_named(root, tmp_path, axis, meaning):
    lines = (root / f"specs/attention/{RAGGED}.yaml").read_text().splitlines()
    spec = tmp_path / "spec.yaml"
    spec.write_text("\n".join(line for line in lines if not line.strip().startswith(f"{axis}: ")))
    with pytest.raises(KgenError, match=f"KG211: the axis `{axis}` .query tokens {meaning}"):
        load(spec, ["workloads={check: []}"])


# ---------------------------------------------------------------- inputs and reference


def _call(
    problem: dict[str, Any],
    counts: list[int],
    lengths: list[int],
    layout: str = "plain",
    total: int = 0,
):
    most = max(counts)
    case = case_of(problem, most, None, lengths, layout, counts=counts, total=total)
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


def test_offsets_are_sums_of_counts_and_the_queries_are_side_by_side(rendered):
    case, arguments = _call(rendered(RAGGED).manifest["problem"], [8, 1, 0, 4], [70, 9, 5, 0])
    assert arguments["cu_q"].tolist() == [0, 8, 9, 9, 13]
    assert (case.axes["T"], arguments["q"].shape) == (13, (13, 8, 64))
    assert arguments["max_q"] == 8
    # no key of a request without tokens is seen
    first = arguments["block_table"][2]
    assert set(first.tolist()) <= set(STRANGE_IDS)


def test_offsets_that_lead_outside_are_tried(rendered):
    problem = rendered(RAGGED).manifest["problem"]
    _, arguments = _call(problem, [8, 1], [20, 9], "overlong")
    assert arguments["cu_q"].tolist() == [-5, 8, 16]


def test_equal_counts_give_what_batched_queries_give(rendered):
    """The same numbers in both forms, and alone what a request gives beside others."""
    ragged = rendered(RAGGED).manifest["problem"]
    case, arguments = _call(ragged, [3, 3], [20, 9])
    found = attention.expected(ragged, case, arguments)
    batched = {key: value for key, value in ragged.items() if key != "queries"}
    same = {**arguments, "q": arguments["q"].view(2, 3, 8, 64)}
    wanted = attention.expected(batched, case, same)
    for name in ("out", "lse"):
        assert torch.equal(found[name].values, wanted[name].values.flatten(0, 1))
        assert torch.equal(found[name].absolute, wanted[name].absolute.flatten(0, 1))
    case, alone = _call(ragged, [3], [20])
    alone = {**arguments, "q": arguments["q"][:3], "block_table": arguments["block_table"][:1]}
    one = attention.expected(ragged, case, alone)
    assert torch.equal(one["out"].values, found["out"].values[:3])


def test_rows_behind_those_of_the_last_request_hold_nothing(rendered):
    problem = rendered(RAGGED).manifest["problem"]
    case, arguments = _call(problem, [2, 1], [20, 9], total=5)
    assert arguments["q"].isnan().flatten(1).all(1).tolist() == [False] * 3 + [True] * 2
    found = attention.expected(problem, case, arguments)
    assert found["out"].values[3:].eq(0).all() and found["out"].values[:3].ne(0).all()
    assert found["lse"].values[3:].eq(-torch.inf).all()


def test_work_counts_the_tokens_that_there_are(rendered):
    problem = rendered(RAGGED).manifest["problem"]
    few, _ = _call(problem, [1, 0], [16, 16])
    more, _ = _call(problem, [2, 0], [16, 16])
    pairs = [attention.work(problem, case).operations / (4 * 64 * 8) for case in (few, more)]
    assert pairs == [16, 15 + 16]


# ---------------------------------------------------------------- replays


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("p_out + b_start * stride_out_t", "p_out + i_b * stride_out_t", "out"),
        ("tl.load(p_cu_q + i_b + 1)", "tl.load(p_cu_q + i_b + 1) + 1", "out"),
        ("b_len = tl.where(b_tokens > 0, b_len, 0)", "", "reads k_cache at offset"),
    ],
)
def test_a_replay_knows_whose_tokens_are_where(rendered, old, new, said):
    source = rendered(
        RAGGED,
        "workloads={check: []}",
        "axes.Q={values: [1]}",
        "axes.D={const: 16}",
        "axes.G={const: 2}",
    )
    axes = {"B": 3, "Q": 1, "CAP": 16}
    scene = attention_scene(source.manifest["problem"], axes, [3, 2, 5])
    assert scene.axes["T"] == 2

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    assert old in source.text
    found = findings(source.text.replace(old, new))
    assert any(said in one for one in found), found
