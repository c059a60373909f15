"""A judgement of a committed spec's file against a peer, where the file's fallback serves one of the workloads."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kgen.evidence.gates import Requirements
from kgen.evidence.receipts import parse_receipt
from kgen.measure.judge import judged
from kgen.measure.request import Request

FILES = Path(__file__).parents[1] / "measure"
sys.path.insert(0, str(FILES))

import slow_host  # noqa: E402
from here import Here  # noqa: E402

VERIFY = "B 1 Q 8 S 12"
CANDIDATE = """
import torch

MICROSECONDS = [50.0]


def run(q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window):
    keys = torch.arange(block_table.shape[1])
    live = keys < seq_lens[:, None]
    last = seq_lens[:, None] - q.shape[1] + torch.arange(q.shape[1])
    pages = torch.where(live, block_table, 0).long()
    k, v = (
        torch.where(live[..., None], cache.view(torch.uint8)[pages, 0, 0], 0)
        .view(cache.dtype)
        .double()
        for cache in (k_cache, v_cache)
    )
    scores = torch.einsum("bthd,bnd->bthn", q.double(), k * k_scale) / q.shape[3] ** 0.5
    seen = (keys <= last[..., None])[:, :, None]
    p = scores.masked_fill(~seen, float("-inf")).softmax(-1).nan_to_num(0)
    return torch.einsum("bthn,bnd->bthd", p, v * v_scale).to(q.dtype)
"""
BASELINE = """
from benchmarks.peers.attention.fa3 import TERMS, TOLERANCE
from benchmarks.peers.attention.torch_sdpa import prepare, run

MICROSECONDS = [100.0]
"""


@pytest.fixture(autouse=True)
def small(monkeypatch) -> Iterator[None]:
    """A cache so small that two input sets exceed it, and no threads for tensors that are as small."""
    monkeypatch.setattr(slow_host.Scripted, "l2_bytes", 2**10)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def candidate(root, tmp_path) -> Path:
    """The bundle of a committed spec with small workloads and a file that a CPU can run."""
    manifest = json.loads((root / "generated/attention/gqa8_fp8_page1/manifest.json").read_text())
    bench = [{"B": 1, "Q": 1, "S": 20}, {"B": 1, "Q": 8, "S": 12}]
    manifest["problem"]["workloads"]["bench"] = bench
    folder = tmp_path / "gqa8_fp8_page1"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "submission.py").write_text(CANDIDATE)
    return folder


def outcome(candidate: Path, against: Path, out: Path, problem: str = ""):
    options = {"device": "slow_host:Scripted", "seed": 3, "rounds": 5, "replays": 1}
    options["problem"] = problem
    return judged(
        Request(str(candidate), str(against), **options), out, lambda text: None, start=Here
    )


@pytest.mark.full
def test_a_row_that_the_fallback_serves_counts_one_and_is_marked(root, candidate, tmp_path):
    baseline = tmp_path / "fa3.py"
    baseline.write_text(BASELINE)
    found = outcome(candidate, baseline, tmp_path / "out")
    receipt = parse_receipt(found.receipt.read_text())
    assert receipt.record.flags == () and receipt.record.failures == ()
    assert [one.fallback for one in receipt.record.shapes] == [(), ("gqa8_fp8_page1",)]
    decode, verify = receipt.analysis.rows_of("candidate")
    assert decode.word == "faster" and "fallback" not in decode.marks
    assert decode.to_baseline.point == pytest.approx(2.0)
    # it took half the time there too, which counts for nothing
    assert verify.word == "fallback" and "fallback" in verify.marks
    assert verify.to_baseline.point == 1.0
    aggregate = receipt.analysis.aggregate_of("candidate")
    assert aggregate.to_baseline.point == pytest.approx(2.0**0.5)
    assert any("chosen by the judged file's own manifest" in one for one in found.lines)
    assert any(one.startswith("WARNING: that manifest also says") for one in found.lines)
    told = [one for one in found.lines if one.startswith(VERIFY) and "gqa8_fp8_page1" in one]
    assert "1.000x [1.000, 1.000]" in told[0] and "fallback" in told[0].split("]")[1]
    assert receipt.decision.decision == "promoted"


@pytest.mark.full
def test_a_manifest_that_is_not_asked_says_nothing_of_shapes_fallbacks_and_gates(
    candidate, tmp_path
):
    """It says that the fallback serves all, and that any loss will do; both shapes are measured as slower."""
    ours = tmp_path / "ours"
    shutil.copytree(candidate, ours)
    theirs = json.loads((candidate / "manifest.json").read_text())
    theirs["problem"]["workloads"]["bench"] = [{"B": 1, "Q": 1, "S": 1}]
    theirs["gates"] = {"min_gain": 0.0, "max_regression": 1.0}
    for regime in theirs["regimes"]:
        regime["fallback"] = "generic"
    (candidate / "manifest.json").write_text(json.dumps(theirs))
    slow = (candidate / "submission.py").read_text().replace("[50.0]", "[150.0]")
    (candidate / "submission.py").write_text(slow)
    baseline = tmp_path / "fa3.py"
    baseline.write_text(BASELINE)
    found = outcome(candidate, baseline, tmp_path / "out", str(ours))
    receipt = parse_receipt(found.receipt.read_text())
    assert [one.fallback for one in receipt.record.shapes] == [(), ()]
    assert [one.word for one in receipt.analysis.rows_of("candidate")] == ["slower", "slower"]
    assert receipt.requirements == Requirements()
    assert receipt.record.settings.options["problem"] == str(ours)
    assert any(f"chosen with --problem {ours}" in one for one in found.lines)
    assert not any("WARNING" in one for one in found.lines)


def test_against_a_peer_that_cannot_run_here_nothing_is_concluded(root, candidate, tmp_path):
    found = outcome(candidate, root / "benchmarks/peers/attention/fa3.py", tmp_path / "out")
    receipt = parse_receipt(found.receipt.read_text())
    assert receipt.analysis.void.startswith("the baseline could not run: vllm needs a GPU")
    assert receipt.decision.decision == "closed"
    assert found.code == 1
