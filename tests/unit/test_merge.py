"""Merging partial states of attention: the emitted file, what it gives, and which specs are refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.families.merge import problem as merge
from kgen.plan.build import build
from kgen.prove.replay.host import capture
from kgen.prove.replay.judge import judge
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import merge_scene, scenes
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.runner.case import Case
from kgen.spec import load

NAME = "merge/merge_h16_d512"
SMALL = ("axes.H={const: 2}", "axes.D={const: 8}")


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    """The named spec with changes, as a file."""
    return functools.cache(
        lambda *overrides, name=NAME: render(build(load(root / f"specs/{name}.yaml", overrides)))
    )


@pytest.mark.parametrize(
    ("order", "parts", "lse"),
    [
        ("states_first", "(N, T, H, D)", "(N, T, H)"),
        ("tokens_first", "(T, N, H, D)", "(T, N, H)"),
    ],
)
def test_states_lie_as_the_spec_says(rendered, order, parts, lse):
    text = rendered(f"states.order={order}").text
    assert f'check_shape("parts", parts, {parts})' in text
    assert f'check_shape("lse", lse, {lse})' in text
    assert f"    T = parts.shape[{order == 'states_first':d}]\n" in text


def test_bases_are_those_of_the_spec(rendered):
    natural, binary = rendered().text, rendered("states.lse=base_2").text
    assert natural.count("* 1.4426950408889634") == natural.count("* 0.6931471805599453") == 1
    assert "1.4426" not in binary and "0.6931" not in binary


def test_an_lse_that_nobody_asks_for_is_not_stored(rendered):
    text = rendered("interface.returns=[out]").text
    assert "merged_lse" not in text and "tl.log2" not in text


def test_what_empty_states_hold_is_poison(rendered):
    problem = rendered(*SMALL).manifest["problem"]
    case = Case("", {"T": 5, "N": 9}, {}, "empty", "rest")
    given = merge.inputs(problem, case, torch.Generator().manual_seed(3), torch.device("cpu"))
    empty = given["lse"] == float("-inf")
    assert given["parts"].isnan().all(-1).equal(empty) and 10 < empty.sum() < 50
    found = merge.expected(problem, case, given)
    assert not found["out"].values[0].any() and not found["out"].values.isnan().any()
    assert (found["merged_lse"].values[0] == float("-inf")).all()
    assert found["merged_lse"].values[1:].isfinite().all()


def test_parts_of_a_request_merge_to_the_whole(rendered):
    """A36: keys cut by hand in 70 and 30, and a part without any."""
    source = rendered(
        "axes.D={const: 32}", "axes.DR={const: 16}", name="attention/mla_h16_bf16_page64"
    )
    problem = source.manifest["problem"]
    case = case_of(problem, 1, None, [100], "plain")
    given = attention.inputs(problem, case, torch.Generator().manual_seed(5), torch.device("cpu"))
    whole = attention.expected(problem, case, given)
    cache = given["kv_cache"].flatten(0, 1)
    tokens = cache[
        (given["block_table"][0, :2, None] * 64 + torch.arange(64)).flatten()[:100].long()
    ]
    states = []
    for keys in (tokens[:70], tokens[70:], tokens[:0]):
        own = case_of(problem, 1, None, [len(keys)], "plain")
        pages = torch.full((2, 64, 1, 48), float("nan"), dtype=torch.bfloat16)
        pages.flatten(0, 1)[: len(keys)] = keys
        table = torch.tensor([[0, 1]], dtype=torch.int32)
        lengths = torch.tensor([len(keys)], dtype=torch.int32)
        part = {**given, "kv_cache": pages, "block_table": table, "seq_lens": lengths}
        states.append(attention.expected(problem, own, part))
    merged = rendered("axes.H={const: 16}", "axes.D={const: 32}").manifest["problem"]
    arguments = {
        "parts": torch.stack([one["out"].values[0] for one in states]),
        "lse": torch.stack([one["lse"].values[0] for one in states]),
    }
    found = merge.expected(merged, Case("", {"T": 1, "N": 3}, {}, "plain", "rest"), arguments)
    assert torch.allclose(found["out"].values, whole["out"].values[0], atol=1e-12)
    assert torch.allclose(found["merged_lse"].values, whole["lse"].values[0], atol=1e-12)


def test_the_work_counts_states_once(rendered):
    found = merge.work(
        rendered().manifest["problem"], Case("", {"T": 7, "N": 3}, {}, "plain", "rest")
    )
    assert found.bytes == 7 * 16 * (3 * (512 * 2 + 4) + 512 * 2 + 4)
    assert found.operations == 2 * 7 * 16 * 3 * 512


def test_the_file_is_clean_in_every_scene(rendered):
    source = rendered(*SMALL)
    found = judge(source.text, scenes(source.manifest))
    assert str(found.outcome) == "clean" and found.ran > 4, found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("m_n = o_n < N", "m_n = o_n < N - 1", "is read 0 times, not 1"),
        ("tl.range(0, N, BLOCK_N)", "tl.range(0, N, BLOCK_N // 2)", "is read 2 times, not 1"),
        ("p_parts\n            + o_n", "p_parts\n            + 1\n            + o_n", "parts"),
    ],
)
def test_a_replay_knows_the_states(rendered, old, new, said):
    source = rendered(*SMALL)
    scene = merge_scene(source.manifest["problem"], {"T": 3, "N": 9})

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert source.text.count(old) >= 1 and findings(source.text) == []
    found = findings(source.text.replace(old, new))
    assert any(said in one for one in found), found


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["axes.H={range: [1, 64]}"], "KG211: the axis `H` is a constant of the kernel and has to be `const`"),
        (["axes.N={range: [0, 64]}"], "KG211: the axis `N` counts something and is at least 1"),
        (["states.lse=base_10"], "base_2"),
        (["interface.returns=[out, lse]"], "KG405: interface.returns names `lse`, which this spec does not have"),
        (["regimes.0.fallback=torch"], "KG417: merge has no torch path to fall back to"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(rendered, overrides, said):
    with pytest.raises(KgenError) as caught:
        rendered(*overrides)
    assert said in str(caught.value)
