"""Receipts of GPU runs belong to the files that are committed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECEIPTS = sorted(ROOT.glob("benchmarks/receipts/tests/*.json"))
BUNDLES = sorted(path.parent for path in ROOT.glob("generated/*/*/manifest.json"))


@pytest.mark.parametrize("path", RECEIPTS, ids=lambda path: path.stem)
def test_a_receipt_is_about_the_core_that_is_committed(path: Path):
    receipt = json.loads(path.read_text())
    manifest = json.loads((ROOT / receipt["bundle"] / "manifest.json").read_text())
    measured, committed = receipt["core_sha256"], manifest["core_sha256"]
    assert measured == committed, (
        f"{path.name} is stale: it tested the core {measured[:12]}, and {receipt['bundle']} has {committed[:12]} now; "
        "run benchmarks/gpu_tests.py on a GPU"
    )


@pytest.mark.parametrize("path", RECEIPTS, ids=lambda path: path.stem)
def test_a_receipt_counts_what_its_cases_say(path: Path):
    receipt = json.loads(path.read_text())
    statuses = [case["status"] for case in receipt["cases"]]
    counts = {status: statuses.count(status) for status in receipt["summary"]["counts"]}
    assert counts == receipt["summary"]["counts"]
    assert receipt["summary"]["passed"] == (counts["passed"] == len(statuses) > 0)


def test_every_bundle_has_a_receipt_or_is_said_to_have_run_on_no_gpu():
    document = (ROOT / "docs/attention.md").read_text()
    waiting = re.findall(r"^\| `(\w+)` \|.*\| not run \|$", document, re.MULTILINE)
    found = [*(path.stem for path in RECEIPTS), *waiting]
    assert sorted(found) == sorted(bundle.name for bundle in BUNDLES)
