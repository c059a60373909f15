"""The committed store of a sweep is of the kernels that kgen renders today, or the documents say that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "benchmarks/receipts/swept/h200.sqlite"
SWEPT = "benchmarks/sweeps/gqa8_fp8_page1.yaml"
TUNED = ROOT / "benchmarks/sweeps/gqa8_fp8_page1_tuned.yaml"
STALE = "These figures are of an earlier kernel."


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy, which a test may change."""
    path = tmp_path / "h200.sqlite"
    path.write_bytes(STORE.read_bytes())
    return path


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A copy of the swept spec beside a copy of the one that it extends."""
    for name in (SWEPT, "specs/attention/gqa8_fp8_page1.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path / SWEPT


def test_tuning_by_it_gives_the_committed_spec_or_the_documents_call_it_stale(kgen, store, swept):
    done = kgen("tune", swept, "--store", store, "--regimes")
    if STALE in (ROOT / "docs/sweep.md").read_text():
        assert "nothing to change" in done.out + done.err or done.code
    else:
        assert done.code == 0, done.err
        assert swept.read_text().splitlines()[1:] == TUNED.read_text().splitlines()[1:]


def test_a_replay_of_it_is_the_same_every_time(kgen, store):
    first, again = (kgen("sweep", "--replay", store, "--seed", "3") for _ in range(2))
    assert first.code == again.code == 0
    assert first.out == again.out
    assert "gqa8_fp8_page1          decode  NVIDIA H200  tpe" in first.out
