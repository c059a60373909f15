"""The checked interpreter computes what a GPU computes, and is refused where it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = (
    "bf16 arithmetic",
    "bf16 rounding",
    "e4m3 codes",
    "e5m2 codes",
    "e4m3 saturation",
    "e5m2 saturation",
    "bf16 dot",
    "fp16 dot",
    "e4m3 dot",
    "fp32 dot",
    "tf32",
    "bf16 sum",
    "NaN in maximum and clamp",
    "reduction of pairs",
    "scan of pairs",
    "bf16 atomics",
    "types of arguments",
    "loop over loaded bounds",
    "masked scalar load",
    "pointer to a wider type",
    "wider access past the end",
    "expanded tensor",
    "same memory by two names",
    "store to what another loaded",
    "one launch after another",
    "dependent launch",
    "dependent launch that loads too early",
    "spin lock",
    "relaxed atomics",
    "tensor descriptor",
)

# what to break: (statement, name of the probe that must notice)
SABOTAGE = {
    "bf16 rounds down": (
        "formats._bf16_bits = lambda x: (x.view('uint32') >> 16).astype('uint16')",
        "bf16 arithmetic",
    ),
    "a dot on bit patterns": (
        "values.ValueOps.create_dot = it.InterpreterBuilder.create_dot",
        "bf16 dot in a loop",
    ),
    "fp8 does not saturate": (
        "formats.FP8.update({tl.float8e4nv: torch.float8_e5m2})",
        "fp8 round trip",
    ),
    "the annotation is ignored": ("launch._BY_ANNOTATION.clear()", "tl.int64 annotation"),
    "no overflow alarm": (
        "values.ValueOps._check_overflow = lambda self, *rest: None",
        "overflow alarm",
    ),
    "no race alarm": ("memory.Memory._report = lambda self, *rest: None", "race alarm"),
    "no bounds alarm": (
        "extent.Extent.contains = lambda self, offsets: offsets == offsets",
        "bounds alarm",
    ),
}


def python(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return json.loads(python(Path(__file__).with_name("arithmetic.py")))


@pytest.mark.parametrize("check", CHECKS)
def test_the_interpreter_is_right(outcomes, check):
    assert outcomes[check] == ""


def test_every_check_is_looked_at(outcomes):
    assert set(outcomes) == set(CHECKS)


@pytest.mark.parametrize(
    "name",
    [*SABOTAGE][:3] + [pytest.param(one, marks=pytest.mark.full) for one in [*SABOTAGE][3:]],
)
def test_a_broken_interpreter_is_not_trusted(name):
    statement, probe = SABOTAGE[name]
    told = python(
        "-c",
        f"""
import torch
import triton.language as tl
from triton.runtime import interpreter as it
from kgen.runner import extent
from kgen.runner.faults import Untrusted
from kgen.runner.interpreter import formats, launch, memory, probe, values
from kgen.runner.interpreter.install import install
builder = install()
{statement}
try:
    probe.check_interpreter(builder)
except Untrusted as error:
    print(error)
""",
    )
    assert f"interpreter fails the probe {probe!r}: " in told
    assert told.endswith("; nothing it computes is believed\n")
