"""How a cache lies in memory: what that changes in the emitted file, in its tests, and in what a replay expects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kgen.families.attention import problem as attention
from kgen.plan.build import build
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

CONTIGUOUS = "gqa4_bf16_contiguous"


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
    case = attention._case(problem, len(lengths), 1, None, lengths, layout)
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


def _replayed(source: Source, axes: dict, lengths: list[int], old: str, new: str) -> list[str]:
    """What a replay finds in the file, and that it finds nothing before `old` becomes `new`."""
    assert source.text.count(old) >= 1
    scene = attention_scene(source.manifest["problem"], axes, lengths)

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    return findings(source.text.replace(old, new))


# ---------------------------------------------------------------- contiguous


@pytest.mark.parametrize(
    ("cache", "shape", "axis"),
    [("contiguous_nhd", "(B, CAP, HK, D)", 1), ("contiguous_hnd", "(B, HK, CAP, D)", 2)],
)
def test_a_contiguous_cache_has_no_trace_of_pages(rendered, cache, shape, axis):
    text = rendered(CONTIGUOUS, f"layout.cache={cache}").text
    assert "page" not in text.lower()
    assert "table" not in text.replace("in the table at the top", "").replace("as the table", "")
    assert f"    CAP = k_cache.shape[{axis}]\n" in text
    assert f'check_shape("v_cache", v_cache, {shape})' in text


def test_slots_past_the_live_length_are_poisoned(rendered):
    case, arguments = _inputs(rendered(CONTIGUOUS), [40, 0, 3])
    assert case.axes == {"B": 3, "Q": 1, "CAP": 43}
    for name in ("k_cache", "v_cache"):
        live = (~arguments[name].isnan()).all(-1).all(-1)
        assert live.sum(1).tolist() == [40, 0, 3]
        assert arguments[name].isnan().all(-1).all(-1).logical_not().equal(live)
        assert live[0, :40].all() and live[2, :3].all()


def test_a_contiguous_cache_gives_what_a_paged_one_gives(rendered):
    plain, by_head = rendered(CONTIGUOUS), rendered(CONTIGUOUS, "layout.cache=contiguous_hnd")
    paged = rendered("gqa4_bf16_hnd", "layout.page_size=1", "layout.cache=paged_nhd")
    case, arguments = _inputs(plain, [40, 0, 3])
    _, swapped = _inputs(by_head, [40, 0, 3])
    tokens = {name: arguments[name].flatten(0, 1) for name in ("k_cache", "v_cache")}
    table = torch.arange(3 * 43, dtype=torch.int32).view(3, 43)
    listed = attention._case(paged.manifest["problem"], 3, 1, None, [40, 0, 3], "plain", keys=43)
    through = {
        **arguments,
        **{name: one[:, None] for name, one in tokens.items()},
        "block_table": table,
    }
    calls = ((plain, case, arguments), (by_head, case, swapped), (paged, listed, through))
    results = [
        attention.expected(source.manifest["problem"], one, given)["out"].values
        for source, one, given in calls
    ]
    assert results[0].abs().sum() > 0
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "p_k + i_b * stride_k_b + o_n",
            "p_k + i_b * stride_k_b + (o_n + 1)",
            "k_cache[b=0, slot=0, h=0, d=0], key 0 of request 0 (length 33), is read 0 times, not 1",
        ),
        ("CAP)\n", "CAP + 1)\n", ""),
        ("i_b * stride_v_b", "(i_b ^ 1) * stride_v_b", "h=1, d=0], no key of request 1,"),
    ],
)
def test_a_replay_knows_the_slots_of_a_contiguous_cache(rendered, old, new, said):
    axes = {"B": 2, "Q": 1, "CAP": 48}
    lengths = [33, 20] if said else [33, 49]
    found = _replayed(rendered(CONTIGUOUS), axes, lengths, old, new)
    assert found and any(said in one for one in found), found


def test_a_capacity_of_any_number_is_served(rendered):
    assert "CAP" in rendered(CONTIGUOUS, "axes.CAP={values: [77, 300]}").text
