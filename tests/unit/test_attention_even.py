"""The keys of all requests divided evenly: what each program reads, and what a schedule with a slip does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kgen.make import make
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.replay.host import capture
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.report import Report
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

SPEC = "specs/attention/gqa8_fp8_page1_ragged.yaml"
SMALL = (
    *("axes.D={const: 16}", "axes.HK={const: 2}", "axes.WINDOW={values: [none, 50]}"),
    *("regimes.0.tile.BLOCK_N=16", "regimes.1.tile.BLOCK_N=16", "workloads.check=[]"),
)
SMS, TILE, COLUMNS, HEADS = 132, 16, 16, 2
LENGTHS = [900, 0, 30, 1, 200, 17]


@pytest.fixture(scope="module")
def source(root: Path) -> Source:
    return render(build(load(root / SPEC, SMALL)))


def replayed(
    source: Source, text: str, lengths: list[int], window: int | None = None
) -> tuple[Report, list[str]]:
    """A decode call, and what is wrong with it."""
    axes = {"B": len(lengths), "Q": 1, "CAP": max(*lengths, 1), "WINDOW": window}
    scene = attention_scene(source.manifest["problem"], axes, lengths)
    report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
    return report, [str(one) for one in report.findings(scene.reads(report.instance))]


def keys_of_programs(report: Report) -> Counter:
    """How many keys each program of the second launch reads that reads any."""
    found: Counter = Counter()
    for number, trace in report.traces():
        for access in trace.accesses:
            if access.tensor == "k_cache":
                assert number == 1
                found[trace.program] += access.elements.size // COLUMNS
    return +found


@pytest.mark.parametrize(
    ("lengths", "window"),
    [
        pytest.param(LENGTHS, None, marks=pytest.mark.full),
        ([700], None),
        pytest.param([5] * 20, None, marks=pytest.mark.full),
        ([0, 0], None),
        (LENGTHS, 50),
    ],
)
def test_no_program_reads_more_than_its_share(source, lengths, window):
    report, wrong = replayed(source, source.text, lengths, window)
    assert wrong == []
    seen = [min(length, window) if window else length for length in lengths]
    tiles = sum(-(-length // TILE) for length in seen)
    more = SMS // HEADS - len(lengths)
    found = keys_of_programs(report)
    assert sum(found.values()) == HEADS * sum(seen)
    assert all(keys <= TILE * -(-tiles // more) for keys in found.values())
    assert len(found) <= SMS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<= i_p) & (o_b < B)", "<= i_p) & (o_b < B - 1)"),
        ("o_b + tl.minimum(b_more, MORE)", "tl.minimum(b_more, MORE)"),
        ("tl.load(p_begins + i_b + 1) - b_begin", "tl.load(p_begins + i_b + 1) - b_begin + 1"),
        ("b_lo = (i_p - b_begin) * b_chunk", "b_lo = (i_p - b_begin + 1) * b_chunk"),
        ("o_p = ((b_begin + o_s) * HK", "o_p = ((b_begin + o_s + 1) * HK"),
        ("PIECES = B + MORE", "PIECES = B"),
    ],
)
def test_a_replay_finds_a_slip_in_the_division(source, old, new):
    assert old in source.text
    _, wrong = replayed(source, source.text.replace(old, new), LENGTHS)
    assert wrong != []


@pytest.mark.full
def test_more_requests_than_a_tile_holds_are_refused(root):
    made = make(load(root / SPEC, ["axes.B={range: [1, 128]}"]), Templates())
    assert any("where all requests begin" in str(one) for one in made.findings)
    assert made.wrong


def test_grid_and_scratch_depend_on_no_length(source):
    """A length is data: of the launcher's names only sizes that the entry knows decide a launch."""
    launcher = source.text.split("def launch_decode(")[1].split("\ndef ")[0]
    assert "MORE = max(1, SMS // HK - B)" in launcher
    assert "piece_kernel[(PIECES, HK)](" in launcher
    assert "torch.empty((PIECES, HK, 8, D)" in launcher


LISTED = "specs/attention/gqa4_bf16_ragged_even.yaml"


@pytest.fixture(scope="module")
def listed(root: Path) -> Source:
    """Ragged queries over page lists, in sizes that are replayed in a moment."""
    small = ("axes.D={const: 16}", "regimes.0.tile={BLOCK_N: 16, BLOCK_B: 64}", "workloads={}")
    return render(build(load(root / LISTED, small)))


def _wrong(source: Source, text: str) -> list[str]:
    """What is wrong with a call of four requests, of which one has no tokens."""
    axes = {"B": 4, "Q": 8, "CAP": 200, "T": 13}
    scene = attention_scene(source.manifest["problem"], axes, [150, 0, 30, 9])
    report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
    return [str(one) for one in report.findings(scene.reads(report.instance))]


def test_page_lists_of_ragged_queries_are_divided(listed):
    assert "schedule_kernel" in listed.text and _wrong(listed, listed.text) == []


@pytest.mark.parametrize(
    "load",
    ["p_kv_indptr + o_b - 1", "p_kv_indptr + o_b", "p_kv_last_page_len + o_b - 1", "p_cu_q + o_b"],
)
def test_a_schedule_that_asks_beyond_the_requests_is_found(listed, load):
    """A tile is wider than the batch, and its first entry has no request: what lies there has no value in a replay."""
    masked = f"tl.load({load}, mask=(o_b > 0) & (o_b <= B), other=0)"
    assert listed.text.count(masked) == 1
    with pytest.raises(Unsupported, match="depends on data that has no values here"):
        _wrong(listed, listed.text.replace(masked, f"tl.load({load})"))
