"""What importing the engine loads."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from kgen.algebra import Space, Status, decide, ge, space_of
from kgen.algebra import lower_condition
from kgen.expr import parse
space = Space()
names = {"N": space.axis("N", 0, 8)}
verdict = decide(space, lower_condition(parse("ceil_div(N, 4) * 4 >= N"), space, names))
assert verdict.status is Status.PROVED and verdict.text
print(sorted(sys.modules))
"""


def test_deciding_imports_neither_sympy_nor_anything_heavy(root):
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for heavy in ("sympy", "torch", "triton", "pydantic", "numpy", "black"):
        assert f"'{heavy}'" not in run.stdout
