"""FlashInfer over the problem's own cache and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers.flashinfer_paged import attend as run
from benchmarks.peers.flashinfer_paged import missing as available
from benchmarks.peers.flashinfer_paged import plan

__all__ = ["available", "prepare", "run"]

TERMS = (
    "same cache, pages and q; page lists and the schedule are made outside of timing from the lengths; a v scale costs "
    "it one more launch, inside of timing; several query tokens go through its prefill wrapper; an LSE to base e is "
    "not compared"
)
TOLERANCE = 1e-2


def prepare(
    problem: Mapping[str, Any],
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    window: int | None = None,
) -> dict[str, Any]:
    """The plan of this set of inputs."""
    return plan(problem, q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window)
