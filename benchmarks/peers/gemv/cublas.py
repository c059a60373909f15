"""cuBLAS, through torch: the projection of a few tokens (`problem.py` beside this file)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

TERMS = "same tensors; which of cuBLAS's kernels runs is torch's choice"


def available() -> str:
    """cuBLAS comes with torch's CUDA build; without one torch's own product runs."""
    return "" if torch.version.cuda else "this torch has no cuBLAS"


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """[M, N]: x times the transposed weights."""
    return F.linear(x, w)
