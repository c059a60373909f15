"""The table that puts kgen's files beside their peers, from receipts."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest

from benchmarks.side_by_side import adapters, bundles, side_by_side, summary


def row(candidate, seconds, word, point=None, flags=()):
    ratio = None if point is None else {"point": point, "low": point, "high": point, "rounds": 9}
    named = {"candidate": candidate, "role": "peer", "shape": "B 1", "flags": list(flags)}
    named["marks"] = []
    return {**named, "seconds": seconds, "word": word, "to_baseline": ratio}


def candidate(role, name, terms="", unavailable=""):
    return {"role": role, "name": name, "terms": terms, "unavailable": unavailable}


RECEIPT = {
    "record": {
        "problem": {"name": "gqa"},
        "environment": {"device": "NVIDIA H200"},
        "candidates": [
            candidate("baseline", "gqa"),
            candidate("again", "the baseline again"),
            candidate("peer", "fa3", "pages of 64"),
            candidate("peer", "sglang", "same pages"),
        ],
        "shapes": [{"name": "B 1"}],
        "failures": [],
    },
    "analysis": {
        "void": "",
        "rows": [
            row("gqa", 10e-6, "baseline"),
            row("the baseline again", 10e-6, "inconclusive", 1.0),
            row("fa3", 20e-6, "slower", 0.5),
            row("sglang", 40e-6, "slower", 0.25),
        ],
    },
}


@pytest.fixture
def receipt():
    return copy.deepcopy(RECEIPT)


def line_of(receipt):
    return next(line for line in side_by_side(receipt) if line.startswith("B 1"))


def peer(receipt, name):
    return next(one for one in receipt["analysis"]["rows"] if one["candidate"] == name)


def test_a_row_has_every_time_and_ratio_and_the_terms_follow(receipt):
    lines = list(side_by_side(receipt))
    wanted = "B 1    10.00 us  20.00 us (0.50)  40.00 us (0.25)  ahead of all"
    assert line_of(receipt) == wanted
    assert "fa3: pages of 64" in lines and "sglang: same pages" in lines


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("faster", "behind fa3"),
        ("inconclusive", "not distinguishable from fa3"),
        ("no interval", "none: no interval"),
    ],
)
def test_the_verdict_follows_the_word_of_each_peer(receipt, word, verdict):
    peer(receipt, "fa3")["word"] = word
    assert line_of(receipt).endswith(verdict)


def test_a_row_whose_named_peer_did_not_run_has_no_verdict(receipt):
    peer(receipt, "fa3").update(seconds=None, to_baseline=None, word="not measured")
    receipt["record"]["candidates"][2]["unavailable"] = "vllm is not installed"
    assert "did not run" in line_of(receipt)
    assert line_of(receipt).endswith("none: fa3 did not run")
    assert "fa3: vllm is not installed" in list(side_by_side(receipt))


def test_a_peer_that_refuses_a_shape_is_no_peer_there(receipt):
    peer(receipt, "sglang").update(seconds=None, to_baseline=None, word="not measured")
    message = "NotOffered: sglang's decode kernel takes one query token, not 8"
    failure = {"candidate": "sglang", "shape": "B 1", "what": "error", "message": message}
    receipt["record"]["failures"].append(failure)
    assert "not offered" in line_of(receipt) and line_of(receipt).endswith("ahead of all")
    assert f"sglang has no time at B 1: {message}" in list(side_by_side(receipt))


def test_a_peer_that_torch_does_not_implement_did_not_run(receipt):
    """Only the adapter itself says that the peer does not do a shape."""
    peer(receipt, "sglang").update(seconds=None, to_baseline=None, word="failed")
    message = "NotImplementedError: There was no rule registered" + 400 * "x"
    failure = {"candidate": "sglang", "shape": "B 1", "what": "error", "message": message}
    receipt["record"]["failures"].append(failure)
    assert line_of(receipt).endswith("none: sglang did not run")
    assert f"sglang has no time at B 1: {message[:240]}..." in list(side_by_side(receipt))


def test_a_shape_that_the_fallback_serves_is_marked(receipt):
    peer(receipt, "gqa")["marks"] = ["fallback"]
    assert "10.00 us, fallback  20.00 us" in line_of(receipt)


def test_the_summary_names_the_fastest_peer_that_nothing_is_held_against(receipt):
    other = copy.deepcopy(receipt)
    other["record"]["problem"]["name"] = "rms"
    peer(other, "fa3")["flags"] = ["wrong_output"]
    lines = [line.split("  ") for line in summary([receipt, other])]
    told = ["  ".join(one.strip() for one in line if one) for line in lines]
    assert told[1:] == [
        "gqa  B 1  10.00 us  fa3, 20.00 us (0.50)  ahead of all",
        "rms  B 1  10.00 us  sglang, 40.00 us (0.25)  none: flags at fa3",
    ]


def test_no_verdict_is_drawn_from_a_void_run_or_from_wrong_outputs(receipt):
    peer(receipt, "fa3")["flags"] = ["wrong_output"]
    assert line_of(receipt).endswith("none: flags at fa3")
    receipt["analysis"]["void"] = "the baseline against itself is 1.1"
    assert line_of(receipt).endswith("none: the run is void")


def test_every_family_has_files_and_peers(root):
    for family in ("attention", "norm"):
        assert bundles(family) and adapters(family)


def test_an_unknown_peer_is_refused_with_the_names_there_are(root, tmp_path):
    command = [
        sys.executable,
        str(root / "benchmarks/side_by_side.py"),
        "norm",
        "--out",
        str(tmp_path),
    ]
    done = subprocess.run([*command, "--peer", "apex"], capture_output=True, text=True, cwd=root)
    assert done.returncode == 2
    assert "no peer is called 'apex': there are flashinfer_rms, liger, torch_compile" in done.stderr
