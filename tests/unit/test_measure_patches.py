"""A file that exchanges what times or checks it is flagged, and a compiler of torch's is not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from kgen.measure import gpu, graph, patches, session, trial
from kgen.measure.device import HOST
from kgen.measure.patches import Patches
from kgen.measure.verdict import verdict
from kgen.runner.load import load_file

FILES = Path(__file__).parents[1] / "measure"
PATCHES = sorted((FILES / "patches").glob("*.py"))


@pytest.fixture(autouse=True)
def put_back(monkeypatch) -> None:
    """The files exchange these in this very process."""
    for owner, name in (
        (time, "perf_counter"),
        (torch.cuda.Event, "elapsed_time"),
        (trial, "verdict"),
        (verdict, "__code__"),
        (graph, "NOVEL_LONGER"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))


def opened() -> session.Session:
    found = session.Session()
    task = [str(FILES / "files/plain.py"), str(FILES / "problem.py")]
    found.open({"device": HOST, "memory_share": 0.1, "task": task}, print)
    return found


def flags(file: Path) -> dict[str, str]:
    """Of one shape, before and after timing."""
    one = opened()
    one.load({"file": str(file), "compared": False}, print)
    payload = {"shape": "ROWS 4 N 64", "seed": 5, "sets": 3, "rounds": 0, "eager": False}
    begun = one.begin(payload, print)
    one.turn({"replays": 2}, print)
    return {**begun["flags"], **one.end({"seed": 5}, print)["flags"]}


@pytest.mark.parametrize("file", PATCHES, ids=lambda one: one.stem)
def test_a_file_that_exchanges_what_measures_it_is_flagged_with_its_name(file):
    found = flags(file)
    exchanged = load_file(file).EXCHANGED
    assert exchanged in found["patches_measuring"], found


def test_what_is_exchanged_for_a_turn_alone_is_kept(monkeypatch):
    one = opened()
    one.load({"file": str(FILES / "files/plain.py"), "compared": False}, print)
    payload = {"shape": "ROWS 4 N 64", "seed": 5, "sets": 3, "rounds": 0, "eager": False}
    assert one.begin(payload, print)["flags"] == {}
    with monkeypatch.context() as context:
        clock = time.perf_counter
        context.setattr(time, "perf_counter", lambda: clock() / 10)
        one.turn({"replays": 2}, print)
    assert one.end({"seed": 5}, print)["flags"] == {
        "patches_measuring": "since the file was loaded, time.perf_counter was exchanged"
    }


def test_everything_that_the_measuring_side_calls_by_name_is_kept():
    opened()
    assert gpu.__name__ in sys.modules
    kept = {one.told for one in Patches()._kept}
    assert kept >= {
        *("time.perf_counter", "torch.isfinite", "torch.Tensor.clone"),
        *(
            "torch.cuda.synchronize",
            "torch.cuda.graphs.CUDAGraph.replay",
            "torch.cuda.graphs.graph.__exit__",
        ),
        *("kgen.measure.host.Host.timed", "kgen.measure.session.Session.turn"),
        "kgen.runner.compare.compare",
        "triton.runtime.jit.JITFunction.run",
    }


def test_a_property_and_an_inherited_method_are_kept_too(monkeypatch):
    class Base:
        def turn(self):
            return 1

    class Calls(Base):
        number = property(lambda self: 1)

    kept = list(patches._members(Calls, {"turn", "number"}))
    assert [one.exchanged for one in kept] == [False, False]
    Calls.turn = lambda self: 2
    Calls.number.fget.__code__ = (lambda self: 2).__code__
    assert [one.exchanged for one in kept] == [True, True]


@pytest.mark.full
def test_torchs_compiler_exchanges_nothing_that_is_kept():
    code = (
        "import kgen.measure.session, kgen.measure.gpu, torch\n"
        "from kgen.measure.patches import Patches\n"
        "looking = Patches()\n"
        "import torch._inductor.compile_fx\n"
        "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
        "assert not list(looking.found()), list(looking.found())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
