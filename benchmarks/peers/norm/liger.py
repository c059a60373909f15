"""RMSNorm of Liger, a Triton kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers import shelf
from benchmarks.peers.rows import one_dtype, only_rms

TERMS = (
    "same tensors; made for training: it also stores the reciprocal root of each row, and rounds to x's dtype before "
    "it multiplies by the weight"
)
TOLERANCE = 2e-2
WHEEL = "liger_kernel-*.whl"


def available() -> str:
    """Needs a GPU and the wheel."""
    return shelf.missing("liger_kernel", WHEEL)


def prepare(
    problem: Mapping[str, Any], x: torch.Tensor, weight: torch.Tensor | None = None
) -> dict[str, Any]:
    """The function that launches the kernel, and its arguments."""
    only_rms(problem)
    one_dtype(problem)
    shelf.importable("liger_kernel", WHEEL)
    from liger_kernel.ops.rms_norm import rms_norm_forward

    return {"forward": rms_norm_forward, "x": x, "weight": weight, "eps": problem["eps"]}


def run(forward: Any, x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """[T, H]: every row normalised."""
    return forward(x, weight, eps, 0.0, "llama", None)[0]
