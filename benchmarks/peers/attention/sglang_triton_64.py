"""sglang's Triton decode attention with at most 64 splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers.sglang_triton import TERMS, TOLERANCE
from benchmarks.peers.sglang_triton import attend as run
from benchmarks.peers.sglang_triton import missing as available
from benchmarks.peers.sglang_triton import plan

__all__ = ["TERMS", "TOLERANCE", "available", "prepare", "run"]

MOST_SPLITS = 64


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
    """Slot lists, splits and scratch of this set of inputs."""
    caches = (k_cache, v_cache, block_table, seq_lens, k_scale, v_scale)
    return plan(problem, MOST_SPLITS, q, *caches, window)
