"""The tables of docs/performance.md are those of the committed receipts, and say what limits them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from records import TEXTS, record, shape  # noqa: E402

from benchmarks.performance import (
    BEGIN,
    DOCUMENT,
    END,
    NONE,
    document,
    newest,
    tables,
)  # noqa: E402
from kgen.evidence.ledger import entries  # noqa: E402
from kgen.evidence.receipts import receipt, write  # noqa: E402
from kgen.evidence.record import Failure  # noqa: E402


def times(**seconds: float):
    return {name: {"a": [one] * 5, "b": [2 * one] * 5} for name, one in seconds.items()}


BESIDE = record(times(baseline=2e-5, again=2e-5, peer=1e-5))
JUDGED = record(times(candidate=1e-5, baseline=2e-5, again=2e-5))


@pytest.fixture
def home(tmp_path) -> Path:
    (tmp_path / "files").mkdir()
    for role, text in TEXTS.items():
        (tmp_path / "files" / f"{role}.py").write_text(text)
    return tmp_path


def kept(home: Path, *records) -> list:
    for one in records:
        write(home / "receipts", receipt(one))
    return entries([home / "receipts"])


def told(home: Path, *records) -> str:
    return "\n".join(tables(kept(home, *records), home))


def test_the_document_matches_the_receipts(root):
    done = subprocess.run(
        [sys.executable, str(root / "benchmarks/performance.py"), "--check"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_receipts_the_document_says_that_there_are_none(home):
    text = document(f"before\n{BEGIN}\nan old table\n{END}\nafter\n", [], home)
    assert text == f"before\n{BEGIN}\n\n{NONE}\n\n{END}\nafter\n"
    assert document(text, [], home) == text


def test_a_document_without_a_place_for_tables_is_refused(home):
    with pytest.raises(ValueError, match="performance.md needs the lines"):
        document("nothing", [], home)
    assert DOCUMENT.read_text().count(BEGIN) == 1


def test_rows_have_times_ratios_intervals_and_words(home):
    text = told(home, BESIDE)
    assert "### rms_small beside its peers" in text
    assert "| a | peer | 10.00 us | 2.000 [1.970, 2.030] | 9% | faster |" in text
    assert "- a: behind peer" in text
    assert "- Geometric mean of peer: 2.000 [1.970, 2.030]; faster." in text


def test_a_judgement_has_its_decision(home):
    text = told(home, JUDGED)
    assert "### rms_small judged against baseline" in text
    assert "Decision: promoted. every gate passed" in text


def test_a_fallback_a_refusal_and_a_change_are_told(home):
    refused = Failure("peer", "a", "error", "NotOffered: one query token only")
    turns = tuple(t for t in BESIDE.turns if (t.candidate, t.shape) != ("peer", "a"))
    shapes = (shape("a"), shape("b", fallback=("baseline", "again")))
    changed = replace(BESIDE, failures=(refused,), turns=turns, shapes=shapes)
    (home / "files/peer.py").write_text("def run(x):\n    return 3\n")
    text = told(home, changed)
    assert "| a | peer | - | - | - | not offered |" in text
    assert "| b | baseline | 40.00 us | - | 2% | fallback |" in text
    assert "- peer computes something else now: its times are of the file as it was." in text
    assert "- peer has no time at a: NotOffered: one query token only" in text


def test_a_void_run_is_told(home):
    text = told(home, record(times(baseline=2e-5, again=3e-5, peer=1e-5)))
    assert (
        "- The run is void, and nothing is concluded from it: the baseline against itself" in text
    )


def test_the_newest_run_of_the_same_files_is_shown(home):
    later = replace(BESIDE, started="2026-06-30T12:00:00Z")
    other = replace(later, environment=replace(later.environment, device="NVIDIA H100"))
    found = newest(kept(home, BESIDE, later, other, JUDGED))
    told = [
        (one.receipt.record.started[:7], one.receipt.record.environment.device) for one in found
    ]
    assert sorted(told) == [
        ("2026-05", "NVIDIA H200"),
        ("2026-06", "NVIDIA H100"),
        ("2026-06", "NVIDIA H200"),
    ]


def test_what_is_no_receipt_of_a_run_is_refused(home):
    (home / "receipts").mkdir()
    (home / "receipts/one.json").write_text("{}")
    with pytest.raises(ValueError, match="one.json is no receipt of a measuring run"):
        newest(entries([home / "receipts"]))


def test_a_run_of_a_peer_alone_is_no_run_of_a_file_of_kgen(root):
    lines = (root / "docs/performance.md").read_text().split("### gemv: cublas\n")[1].split("### ")
    assert "kgen has no file for this problem, `benchmarks/peers/gemv/problem.py`." in lines[0]
    assert "python -m kgen.measure bench benchmarks/peers/gemv/cublas.py --problem" in lines[0]
    assert "did not run" not in lines[0] and "kgen's file beside" not in lines[0]


def test_a_mean_says_how_many_of_its_shapes_the_fallback_serves(root):
    text = (root / "docs/performance.md").read_text()
    means = [line for line in text.splitlines() if line.startswith("- Geometric mean of gqa8")]
    assert len(means) == 2 and all(", 1 of 3 shapes by the fallback; " in line for line in means)
