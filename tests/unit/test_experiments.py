"""What experiments found belongs to the scripts as they are."""

import hashlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOUND = sorted((ROOT / "benchmarks" / "experiments").glob("*.json"))


def test_there_are_experiments():
    assert FOUND


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_results_name_the_bytes_of_the_script_that_ran(path):
    found = json.loads(path.read_text())
    script = (ROOT / found["source"]).read_bytes()
    assert hashlib.sha256(script).hexdigest() == found["sha256"], "stale: run the script again"


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_time_is_told_only_of_a_right_variant(path):
    for row in json.loads(path.read_text())["rows"]:
        right = isinstance(row["error"], float) and row["error"] < 1e-2
        assert (row["us"] is not None) == right
