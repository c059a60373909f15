"""A projection of a few tokens, y = x W^T: what a gemv kernel is asked for, as a problem of its own.

kgen has no gemv family yet; with this any file with `run(x, w)` is measured and checked by the same harness as kgen's own.
x is [M, K], w is [N, K] as `torch.nn.Linear` holds it, both BF16; y is [M, N] in BF16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgen.runner.case import Case, Expected, Work

SIZES = ((1, 4096, 4096), (1, 512, 7168), (1, 28672, 8192), (8, 4096, 4096), (16, 7168, 4096))
BYTES = 2
ROUNDING = 2.0**-8
"""Half a unit in the last place of BF16 is 2^-9 of the value; twice that is allowed."""
PRODUCT = 2.0**-24
"""Half a unit in the last place of FP32. A sum of K products in FP32 loses about the square root of K times that of the
sum of all |x| |w|, in whatever order it is taken: Higham and Mary, A New Approach to Probabilistic Rounding Error
Analysis, 2019.
"""


def cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """All sizes; of the second mode the same."""
    return workloads(problem)


def workloads(problem: Mapping[str, Any]) -> list[Case]:
    """One for each of `SIZES`."""
    return [
        Case(f"M {m} N {n} K {k}", {"M": m, "N": n, "K": k}, {}, "plain", "") for m, n, k in SIZES
    ]


def work(problem: Mapping[str, Any], case: Case) -> Work:
    """Every weight and token read once, every output written once."""
    m, n, k = (case.axes[name] for name in "MNK")
    return Work(BYTES * (m * k + n * k + m * n), 2 * m * n * k)


def inputs(
    problem: Mapping[str, Any], case: Case, generator: torch.Generator, device: torch.device
) -> dict[str, torch.Tensor]:
    """Tokens of unit variance, and weights by which y has about that too."""
    m, n, k = (case.axes[name] for name in "MNK")
    place = {"generator": generator, "device": generator.device}
    x, w = torch.randn(m, k, **place), torch.randn(n, k, **place) * k**-0.5
    return {"x": x.bfloat16().to(device), "w": w.bfloat16().to(device)}


def expected(
    problem: Mapping[str, Any], case: Case, arguments: Mapping[str, torch.Tensor]
) -> dict[str, Expected]:
    """The product in FP64."""
    x, w = arguments["x"].double(), arguments["w"].double()
    lost = PRODUCT * case.axes["K"] ** 0.5 * (x.abs() @ w.abs().T)
    why = "one rounding to BF16 of a product in FP32"
    return {"y": Expected(x @ w.T, lost, ROUNDING, why, torch.bfloat16)}
