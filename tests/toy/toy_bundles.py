"""Toy bundles: a hand-made kernel file, perhaps with a planted fault, and the manifest that a
render would write.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import kgen.run

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Toy:
    """What the manifest of a kernel file says."""

    operation: str
    arguments: tuple[str, ...]
    kernel: str
    cases: tuple[dict, ...]


def _case(name: str, layout: str = "plain", runtime: dict | None = None, **axes: int) -> dict:
    runtime = runtime or {}
    return {"name": name, "axes": axes, "runtime": runtime, "layout": layout, "regime": "all"}


TOYS = {
    "vector_add": Toy(
        "add", ("x", "y"), "add_kernel", (_case("one_block", N=32), _case("ragged", N=75))
    ),
    "row_softmax": Toy(
        "softmax",
        ("x",),
        "softmax_kernel",
        (_case("plain", ROWS=3, N=20), _case("padded_rows", "padded", ROWS=3, N=20)),
    ),
    "split_sum": Toy(
        "sum",
        ("x",),
        "split_sum_kernel",
        (_case("two_rows", ROWS=2, N=150), _case("one_row", ROWS=1, N=70)),
    ),
    "gather_rows": Toy(
        "gather",
        ("table", "ids"),
        "gather_kernel",
        (
            _case("near", ROWS=4, N=20, runtime={"ID": [3, 0, 1]}),
            _case("far", "far", ROWS=3, N=20, runtime={"ID": [2, 0, 1]}),
        ),
    ),
}


def write_bundle(directory: Path, name: str, *faults: tuple[str, str], **manifest: object) -> Path:
    """A bundle of the kernel file `name`; each fault is (honest text, what to write instead)."""
    toy = TOYS[name]
    source = (KERNELS / f"{name}.py").read_text()
    for honest, planted in faults:
        assert (
            source.count(honest) == 1
        ), f"{honest!r} occurs {source.count(honest)} times in {name}.py"
        source = source.replace(honest, planted)
    (directory / "submission.py").write_text(source)
    contents = {
        "bytes_sha256": hashlib.sha256(source.encode()).hexdigest(),
        "entry": "run",
        "family": "toy",
        "problem_module": "toy_family",
        "arguments": list(toy.arguments),
        "returns": ["out"],
        "regimes": [{"name": "all", "launches": [[toy.kernel]]}],
        "problem": {"operation": toy.operation, "cases": list(toy.cases)},
        "source_map": [],
        "templates_index": [],
    }
    (directory / "manifest.json").write_text(json.dumps(contents | manifest))
    return directory


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`write_bundle` into this test's own folder, with the toy family importable by the runner."""
    monkeypatch.setenv("PYTHONPATH", str(KERNELS.parent))
    return lambda name, *faults, **manifest: write_bundle(tmp_path, name, *faults, **manifest)


@pytest.fixture
def interpret(bundle: Callable[..., Path], preloaded: str) -> Callable[..., kgen.run.Report]:
    """Tests a toy bundle in the interpreter, in a process of the Python `preloaded`."""
    return _tester(bundle, "interpret", preloaded)


@pytest.fixture
def on_gpu(bundle: Callable[..., Path]) -> Callable[..., kgen.run.Report]:
    """Tests a toy bundle on the GPU."""
    return _tester(bundle, "gpu", sys.executable)


def _tester(bundle: Callable[..., Path], mode: str, python: str) -> Callable[..., kgen.run.Report]:
    def run(
        name: str, *faults: tuple[str, str], timeout: float = 60, **manifest: object
    ) -> kgen.run.Report:
        directory = bundle(name, *faults, **manifest)
        return kgen.run.test_bundle(directory, mode=mode, seed=1, timeout=timeout, python=python)

    return run
