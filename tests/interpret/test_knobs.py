"""A file whose parts the environment sets, run with the least, the greatest and other numbers of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "generated/attention/gqa4_bf16_knobs"
NAME = "KGEN_GQA4_BF16_KNOBS_"


def _run(**knobs: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "tests/interpret/with_knobs.py"), str(BUNDLE)]
    environment = {**os.environ, **{NAME + name: value for name, value in knobs.items()}}
    return subprocess.run(
        [*command, "700", "0", "65"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env=environment,
    )


@pytest.mark.parametrize(
    ("knobs", "values", "parts"),
    [
        ({}, [2, 256, 64], 3),
        ({"MOST_PARTS": "1"}, [2, 256, 1], 1),
        ({"MOST_PARTS": "128", "LEAST_PART": "64", "PART_WAVES": "4"}, [4, 64, 128], 11),
        ({"MOST_PARTS": "7", "LEAST_PART": "64"}, [2, 64, 7], 7),
    ],
)
def test_every_number_of_parts_gives_the_same_results(knobs, values, parts):
    done = _run(**knobs)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == 0 and found["knobs"] == values
    # one output, and three tensors of scratch with a place for each part
    assert [shape[2] for shape in found["shapes"][1:]] == [parts] * 3


def test_a_file_is_not_imported_with_a_knob_out_of_bounds():
    done = _run(MOST_PARTS="129")
    assert done.returncode == 1
    message = f"ValueError: {NAME}MOST_PARTS is '129'; this file takes an integer from 1 to 128"
    assert message in done.stderr
