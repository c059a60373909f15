"""Whatever emitted files are called with, Triton is asked only for forms that manifests declare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from kgen.compile.loading import load
from kgen.compile.signatures import is_pinned, recorded_launches
from kgen.runner.bundle import read_bundle
from kgen.runner.problem import Asker

ROOT = Path(__file__).parents[2]
BUNDLES = sorted(
    str(path.parent.relative_to(ROOT)) for path in ROOT.glob("generated/*/*/submission.py")
)


def _manifest(bundle: str) -> dict:
    return json.loads((ROOT / bundle / "manifest.json").read_text())


@pytest.mark.parametrize("bundle", BUNDLES)
def test_warming_up_asks_for_every_form_and_for_no_other(bundle):
    manifest = _manifest(bundle)
    with recorded_launches(manifest["targets"][0]) as launches:
        load(ROOT / bundle / "submission.py").warmup()
    assert all(is_pinned(launch, manifest) for launch in launches)
    for one in manifest["signatures"]:
        assert any(is_pinned(launch, {"signatures": [one]}) for launch in launches), one


@pytest.mark.parametrize("bundle", BUNDLES)
def test_no_case_in_any_layout_asks_for_another_form(bundle):
    manifest, asker = _manifest(bundle), Asker(read_bundle(ROOT / bundle))
    entry = getattr(load(ROOT / bundle / "submission.py"), manifest["entry"])
    served = set()
    with recorded_launches(manifest["targets"][0]) as launches:
        for case in asker.cases("interpret"):
            inputs = asker.inputs(case, 1, torch.device("cpu"))
            entry(*(inputs[name] for name in manifest["arguments"]))
            served.add(case.regime)
    assert len(served) > 1 or len(manifest["regimes"]) == 1
    assert {launch.function for launch in launches} <= set(manifest["kernels"])
    assert [launch for launch in launches if not is_pinned(launch, manifest)] == []


def test_a_form_that_is_not_declared_is_told_from_one_that_is():
    bundle = BUNDLES[-1]
    manifest = _manifest(bundle)
    with recorded_launches(manifest["targets"][0]) as launches:
        load(ROOT / bundle / "submission.py").warmup()
    (one,) = [
        entry for entry in manifest["signatures"] if entry["constants"] == launches[0].constants
    ]
    changes = (
        {"function": "other"},
        {"constants": {**one["constants"], "H": 7}},
        {"divisible_by_16": [*one["divisible_by_16"], "T"]},
        {"num_warps": 2 * one["num_warps"]},
        {"num_stages": one["num_stages"] + 1},
        {"signature": {**one["signature"], "p_x": "*fp8e4nv"}},
    )
    for change in changes:
        assert not is_pinned(launches[0], {"signatures": [{**one, **change}]})
