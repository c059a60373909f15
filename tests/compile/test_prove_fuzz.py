"""Random kernels: what is proved for all sizes goes wrong in no program of any small call."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from fuzz import Fuzzed, Maker, file_of  # noqa: E402
from subjects import Subject, T, proofs_of  # noqa: E402

from kgen.algebra import Status  # noqa: E402
from kgen.prove.replay.host import contiguous  # noqa: E402
from kgen.prove.replay.model import (  # noqa: E402
    Dim,
    Instance,
    Launch,
    Number,
    Pointer,
    TensorSpec,
    Unsupported,
)
from kgen.prove.replay.run import run_grid  # noqa: E402
from kgen.prove.replay.scenes import entries  # noqa: E402

SIZES = ((1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 1), (16, 2), (17, 3))


def subject(kernel: Fuzzed) -> Subject:
    return Subject(
        kernel.name,
        {
            "x": T("fp32", "M", "N"),
            "table": T("int32", "N", entries=(0, "N - 1")),
            "o": T("fp32", *(["N"] if kernel.flat else ["M", "N"]), role="output"),
        },
        {"N": (1, 40), "M": (1, 6)},
        [kernel.grid],
        {"B": kernel.block},
    )


def instance(kernel: Fuzzed, n: int, m: int, filled: str) -> Instance | None:
    """The call with these sizes; the table counts up, or has its largest entry everywhere."""
    values = {"zero": [0] * n, "most": [n - 1] * n, "up": list(range(n))}[filled]
    extents = (n,) if kernel.flat else (m, n)
    tensors = (
        TensorSpec("x", "fp32", _dims((m, n))),
        TensorSpec("table", "i32", _dims((n,)), "input", entries(values)),
        TensorSpec("o", "fp32", _dims(extents), "output"),
    )
    arguments = {name: Pointer(name) for name in ("x", "table", "o")}
    arguments |= {"N": Number(n, "i32"), "M": Number(m, "i32"), "B": kernel.block}
    names = {"N": n, "M": m, "B": kernel.block, "ceil_div": lambda a, b: -(-a // b)}
    grid = eval(kernel.grid, names)
    if grid < 1:
        return None
    return Instance({}, tensors, (Launch(kernel.name, arguments, (grid, 1, 1)),))


def _dims(extents: tuple[int, ...]) -> tuple[Dim, ...]:
    return tuple(
        Dim("ij"[axis], extent, stride)
        for axis, (extent, stride) in enumerate(zip(extents, contiguous(extents)))
    )


def wrong(source: str, kernel: Fuzzed) -> str:
    """What goes wrong in some small call; empty if nothing does."""
    for (n, m), filled in itertools.product(SIZES, ("up", "most", "zero")):
        call = instance(kernel, n, m, filled)
        if call is None:
            return f"N = {n}, M = {m}: nothing runs"
        for finding in run_grid(source, call).findings():
            return f"N = {n}, M = {m}, table {filled}: {finding.text}"
    return ""


def check(seed: int, count: int, tmp_path: Path) -> Counter:
    kernels = Maker(seed).kernels(count)
    source = file_of(kernels)
    file = tmp_path / "fuzzed.py"
    file.write_text(source)
    seen: Counter = Counter()
    for kernel, proof in zip(kernels, proofs_of(file, [subject(one) for one in kernels])):
        if isinstance(proof, str):
            seen["refused"] += 1
            continue
        assert proof.obligations
        proved = all(one.status is Status.PROVED for one in proof.obligations)
        try:
            shown = wrong(source, kernel)
        except Unsupported:
            seen["not run"] += 1
            continue
        assert not (proved and shown), f"{kernel.source}\ngrid {kernel.grid}: {shown}"
        seen["proved" if proved else "unknown" if not shown else "wrong"] += 1
    return seen


def test_a_few_random_kernels(tmp_path):
    seen = check(1, 60, tmp_path)
    assert seen["proved"] > 10 and seen["wrong"] > 10, seen


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_random_kernels(seed, tmp_path):
    seen = check(seed, 200, tmp_path)
    assert seen["proved"] > 30 and seen["wrong"] > 30, seen
