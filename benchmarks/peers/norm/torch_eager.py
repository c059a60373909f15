"""RMSNorm of torch itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.peers.rows import DTYPES, only_rms

TERMS = "same tensors; where the output has another dtype than x, x is cast first, one launch more"
TOLERANCE = 1e-2


def available() -> str:
    """torch is there wherever this runs."""
    return ""


def prepare(
    problem: Mapping[str, Any], x: torch.Tensor, weight: torch.Tensor | None = None
) -> dict[str, Any]:
    """Nothing is prepared but what torch wants to know."""
    only_rms(problem)
    return {
        "x": x,
        "weight": weight,
        "eps": problem["eps"],
        "out": DTYPES[problem["dtypes"]["out"]],
    }


def run(x: torch.Tensor, weight: torch.Tensor | None, eps: float, out: torch.dtype) -> torch.Tensor:
    """[T, H]: every row normalised."""
    return F.rms_norm(x.to(out), x.shape[-1:], weight, eps)
