"""FlashInfer over a cache in pages of 64 tokens, which it reads faster than smaller ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers.flashinfer_paged import attend as run
from benchmarks.peers.flashinfer_paged import missing as available
from benchmarks.peers.flashinfer_paged import plan
from benchmarks.peers.offered import NotOffered
from benchmarks.peers.paging import repacked, visible

__all__ = ["available", "prepare", "run"]

TERMS = (
    "the cache is repacked to scattered pages of 64 tokens outside of timing; same q; page lists and the schedule are "
    "made outside of timing from the lengths; a v scale costs it one more launch, inside of timing; several query "
    "tokens go through its prefill wrapper; an LSE to base e is not compared"
)
TOLERANCE = 1e-2
NEW_PAGE = 64


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
    """The repacked cache and the plan of this set of inputs."""
    if k_cache.shape[1] == NEW_PAGE:
        raise NotOffered("the cache has pages of 64 already: see flashinfer_same_pages")
    seen = visible(q, k_cache, block_table, seq_lens, window)
    k_cache, v_cache, block_table = repacked(k_cache, v_cache, block_table, seen, NEW_PAGE)
    return plan(problem, q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window)
