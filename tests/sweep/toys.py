"""Rendered files for sweeps that need no spec and no GPU: plain torch functions on the problem of `tests/measure`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kgen.sweep.field import Entrant, Field
from kgen.sweep.trial import File, Job, Timing

MEASURE = Path(__file__).parents[1] / "measure"
SCRIPTED = "slow_host:Scripted"
RIGHT = "def run(x, w, ids):\n    return x * w + ids[:, None]\n"
WRONG = "def run(x, w, ids):\n    return x * w\n"
EXITS = "import os\n\n\ndef run(x, w, ids):\n    os._exit(3)\n"
HANGS = "import time\n\n\ndef run(x, w, ids):\n    time.sleep(600)\n"
FAULTS = "import ctypes\n\n\ndef run(x, w, ids):\n    ctypes.string_at(0)\n"
RAISES = "def run(x, w, ids):\n    raise ValueError('no')\n"
SHAPES = ("ROWS 4 N 64", "ROWS 8 N 128")


def toy(name: str, *microseconds: float, text: str = RIGHT) -> File:
    """A file whose k-th turn takes the k-th of `microseconds` on the scripted host."""
    whole = f"MICROSECONDS = {list(microseconds) or [100.0]}\n{text}"
    manifest = {
        "family": "toy",
        "entry": "run",
        "arguments": ["x", "w", "ids"],
        "returns": ["out"],
        "regimes": [{"name": "plain", "launches": [[]]}],
        "problem_module": str(MEASURE / "problem.py"),
        "problem": {"arguments": ["x", "w", "ids"], "axes": {}},
        "bytes_sha256": hashlib.sha256(whole.encode()).hexdigest(),
    }
    return File(name, whole, manifest)


def timing(**changes) -> Timing:
    """Settings of a trial on the scripted host."""
    return Timing(**{"device": SCRIPTED, "seed": 3, "timeout": 60.0, **changes})


def job(candidate: File, anchor: File, shape: str = SHAPES[0], rounds: int = 5, **changes) -> Job:
    """A trial of `candidate` beside `anchor`."""
    return Job(anchor, anchor, candidate, shape, rounds, timing(**changes))


def toy_entrant(number: int, *microseconds: float, text: str = RIGHT, **changes) -> Entrant:
    """A candidate that takes part, called by its number."""
    file = toy(f"candidate {number}", *microseconds, text=text)
    settings = (("tile.BLOCK_N", number), ("variant", "toy"))
    return Entrant(settings, file, f"core {number}", "signature", **changes)


def toy_field(*entrants: Entrant, shapes: str = SHAPES[0]) -> Field:
    """A sweep of these; the first is the present setting."""
    return Field("toy", "", entrants[0], entrants, shapes)
