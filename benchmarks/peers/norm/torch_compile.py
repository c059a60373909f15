"""RMSNorm as torch.compile makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.peers.compiled import compiled_for
from benchmarks.peers.rows import DTYPES, only_rms

TERMS = "same tensors; compiled for each shape with torch's defaults"
TOLERANCE = 1e-2


def available() -> str:
    """torch.compile comes with torch."""
    return ""


def _norm(
    x: torch.Tensor, weight: torch.Tensor | None, eps: float, out: torch.dtype
) -> torch.Tensor:
    return F.rms_norm(x.float(), x.shape[-1:], None if weight is None else weight.float(), eps).to(
        out
    )


def prepare(
    problem: Mapping[str, Any], x: torch.Tensor, weight: torch.Tensor | None = None
) -> dict[str, Any]:
    """The compiled function: it is compiled at its first call."""
    only_rms(problem)
    out = DTYPES[problem["dtypes"]["out"]]
    norm = compiled_for((x.shape, x.stride(), x.dtype, out), _norm)
    return {"norm": norm, "x": x, "weight": weight, "eps": problem["eps"], "out": out}


def run(
    norm: Callable[..., torch.Tensor],
    x: torch.Tensor,
    weight: torch.Tensor | None,
    eps: float,
    out: torch.dtype,
) -> torch.Tensor:
    """[T, H]: every row normalised."""
    return norm(x, weight, eps, out)
