"""The replay evaluator against Triton's own interpreter: random integer expressions give the same
numbers.

The evaluator never imports Triton, so that this is where its rules of typing, wrapping and division
meet Triton's.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

from kgen.prove.replay.host import contiguous
from kgen.prove.replay.memory import Memory
from kgen.prove.replay.model import Dim, Instance, Launch, Number, Pointer, TensorSpec
from kgen.prove.replay.run import run_program
from kgen.prove.replay.scenes import entries

EXPRESSIONS = 150
LANES = 8
COLUMNS = {
    "i16": [0, 1, -1, 255, -256, 999, 32767, -32768],
    "i32": [0, 3, -7, 65536, -65537, 2**31 - 1, -(2**31), 12345],
    "i64": [5, -5, 2**31, -(2**31) - 1, 2**40, -(2**45), 0, 77],
}
TORCH = {"i16": "int16", "i32": "int32", "i64": "int64"}
NAMES = {"i16": "a", "i32": "b", "i64": "c"}

DRIVER = """
import json, sys, torch
sys.path.insert(0, sys.argv[1])
from kernel import k
columns = json.loads(sys.argv[2])
tensors = [torch.tensor(values, dtype=getattr(torch, dtype)) for dtype, values in columns]
out = torch.zeros((int(sys.argv[3]), 8), dtype=torch.int64)
k[(1,)](*tensors, out, 40000)
print(json.dumps(out.tolist()))
"""


def _expression(draw: random.Random, depth: int, constants: bool = False) -> str:
    """Constants stand on the right only, so that they never fold into one that no type holds."""
    if depth == 0:
        return draw.choice(
            ["a", "b", "c", "n", "lane", *(["3", "-2", "1000"] if constants else [])]
        )
    left = _expression(draw, depth - 1)
    right = _expression(draw, draw.randrange(depth), constants=True)
    form = draw.choice(
        [
            "({l} + {r})",
            "({l} - {r})",
            "({l} * {r})",
            "({l} // ({r} * 2 + 1))",
            "({l} % ({r} | 1))",
            "({l} & {r})",
            "({l} | {r})",
            "({l} ^ {r})",
            "tl.minimum({l}, b + {r})",
            "tl.maximum({l}, c - {r})",
            "tl.where(lane < {l}, {r}, b)",
            "({l} + b).to(tl.int16)",
            "({l} + a).to(tl.int64)",
            "tl.cdiv({l} + lane, 7)",
            "(({l} + b) >> 3)",
        ]
    )
    return form.format(l=left, r=right)


def _kernel(draw: random.Random) -> str:
    lines = [
        "import triton",
        "import triton.language as tl",
        "",
        "",
        "@triton.jit",
        "def k(p_a, p_b, p_c, p_out, n):",
        f"    lane = tl.arange(0, {LANES})",
        *(f"    {name} = tl.load(p_{name} + lane)" for name in NAMES.values()),
    ]
    for row in range(EXPRESSIONS):
        text = f"{_expression(draw, 3)} + lane * 0"
        lines.append(f"    tl.store(p_out + {row * LANES} + lane, {text})")
    return "\n".join(lines) + "\n"


def _replayed(source: str) -> list[list[int]]:
    dims = (Dim("row", EXPRESSIONS, LANES), Dim("lane", LANES, 1))
    tensors = [TensorSpec("p_out", "i64", dims, "output")]
    for type, values in COLUMNS.items():
        lanes = (Dim("lane", LANES, *contiguous((1,))),)
        tensors.append(TensorSpec(f"p_{NAMES[type]}", type, lanes, "input", entries(values)))
    arguments = {tensor.name: Pointer(tensor.name) for tensor in tensors}
    launch = Launch("k", {**arguments, "n": Number(40000, "i32")}, (1, 1, 1))
    instance = Instance({}, tuple(tensors), (launch,))
    memory = Memory(instance.tensors)
    run_program(source, instance, launch, (0, 0, 0), memory=memory)
    state = memory["p_out"]
    numbers, opaque = state.read(np.arange(EXPRESSIONS * LANES), state.type)
    assert not opaque.any()
    return numbers.reshape(EXPRESSIONS, LANES).tolist()


def test_random_integer_expressions_give_the_numbers_of_tritons_interpreter(tmp_path: Path):
    source = _kernel(random.Random(20240607))
    (tmp_path / "kernel.py").write_text(source)
    (tmp_path / "driver.py").write_text(DRIVER)
    columns = json.dumps([(TORCH[type], values) for type, values in COLUMNS.items()])
    done = subprocess.run(
        [sys.executable, tmp_path / "driver.py", tmp_path, columns, str(EXPRESSIONS)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout.splitlines()[-1])
    found = _replayed(source)
    lines = source.splitlines()
    for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        text = lines[len(lines) - EXPRESSIONS + row].strip()
        assert ours == theirs, text
