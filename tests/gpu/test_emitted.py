"""On a GPU: every committed file is right, and launches only what its manifest declares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import kgen.run
from kgen.runner.bundle import read_bundle
from kgen.runner.problem import Asker

ROOT = Path(__file__).parents[2]
BUNDLES = sorted(
    str(path.parent.relative_to(ROOT)) for path in ROOT.glob("generated/*/*/submission.py")
)


@pytest.mark.parametrize("bundle", BUNDLES)
def test_it_is_right_in_every_case_and_when_replayed_from_a_graph(bundle):
    report = kgen.run.test_bundle(ROOT / bundle, mode="gpu", seed=1, timeout=300)
    assert report.passed, "\n".join(map(str, report.diagnostics()))
    assert report.summary.mode == "gpu"
    served = {result.regime for result in report.results if result.regime}
    replayed = {one.regime for one in report.results if one.name.startswith("graph:")}
    assert replayed == served


@pytest.mark.parametrize("bundle", BUNDLES)
def test_after_warming_up_nothing_is_compiled_and_what_was_is_pinned(bundle):
    from kgen.compile.loading import load
    from kgen.compile.signatures import is_pinned, recorded_compiles

    manifest = json.loads((ROOT / bundle / "manifest.json").read_text())
    module = load(ROOT / bundle / "submission.py", "gpu")
    asker, device = Asker(read_bundle(ROOT / bundle)), torch.device("cuda", 0)
    with recorded_compiles() as warmed:
        module.warmup()
    assert len(warmed) == len(manifest["signatures"])
    assert [launch for launch in warmed if not is_pinned(launch, manifest)] == []
    with recorded_compiles() as late:
        for case in asker.cases("gpu"):
            inputs = asker.inputs(case, 1, device)
            getattr(module, manifest["entry"])(*(inputs[name] for name in manifest["arguments"]))
        torch.cuda.synchronize(device)
    assert late == []
