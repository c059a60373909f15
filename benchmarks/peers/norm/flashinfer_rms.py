"""RMSNorm of FlashInfer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers.flashinfer_paged import importable
from benchmarks.peers.flashinfer_paged import missing as available
from benchmarks.peers.rows import one_dtype, only_rms

__all__ = ["available", "prepare", "run"]

TERMS = "same tensors; its CUDA kernel, compiled at first use; no dependent launch"
TOLERANCE = 1e-2


def prepare(problem: Mapping[str, Any], x: torch.Tensor, weight: torch.Tensor) -> dict[str, Any]:
    """The function that launches the kernel, and its arguments."""
    only_rms(problem)
    one_dtype(problem)
    importable()
    import flashinfer

    return {"rmsnorm": flashinfer.rmsnorm, "x": x, "weight": weight, "eps": problem["eps"]}


def run(rmsnorm: Any, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """[T, H]: every row normalised."""
    return rmsnorm(x, weight, eps, enable_pdl=False)
