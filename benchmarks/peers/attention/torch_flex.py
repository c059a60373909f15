"""Attention that torch.compile makes: FlexAttention over a dense cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from benchmarks.peers.compiled import compiled_for
from benchmarks.peers.outputs import natural_lse, returned
from benchmarks.peers.paging import Visible, by_head, visible

TERMS = (
    "has no page table: the visible keys of each request are gathered into a dense cache of q's dtype outside of "
    "timing, so an FP8 cache is read as twice its bytes, already scaled; compiled for each shape with torch's "
    "defaults; an LSE to base 2 is not compared"
)
TOLERANCE = 1e-2


def available() -> str:
    """torch.compile comes with torch."""
    return ""


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
    """Dense caches [B, HK, S, D], a block mask unless every key is seen, and the compiled function."""
    seen = visible(q, k_cache, block_table, seq_lens, window)
    width = max(*seen.counts, 1)
    where = (block_table, seen, width, q.dtype)
    mask = None if seen.uniform and q.shape[1] == 1 else _mask(seen, q, width, window)
    key = (tuple(q.shape), width, mask is None, window)
    return {
        "problem": problem,
        "q": q,
        "k": by_head(k_cache, *where),
        "v": by_head(v_cache, *where, v_scale),
        "mask": mask,
        "scale": problem["softmax"] * (1.0 if k_scale is None else k_scale.item()),
        "attend": compiled_for(key, flex_attention),
    }


def _mask(seen: Visible, q: torch.Tensor, width: int, window: int | None) -> BlockMask:
    """Which keys a row sees, in blocks; key 0 of the dense cache is the request's first visible one."""
    queries = q.shape[1]
    live, first = (torch.tensor(values, device=q.device) for values in (seen.live, seen.first))

    def sees(b: Any, h: Any, row: Any, key: Any) -> Any:
        last = live[b] - queries + row
        position = first[b] + key
        within = position <= last
        return within if window is None else within & (position > last - window)

    return create_block_mask(sees, q.shape[0], None, queries, width, device=q.device)


def run(
    problem: Mapping[str, Any],
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: BlockMask | None,
    scale: float,
    attend: Any,
) -> Any:
    """Attention of every query token."""
    wants = "lse" in problem["returns"]
    found = attend(
        q.transpose(1, 2), k, v, block_mask=mask, scale=scale, enable_gqa=True, return_lse=wants
    )
    out, lse = found if wants else (found, None)
    if lse is not None:
        lse = natural_lse(problem, lse.transpose(1, 2))
    return returned(problem, out=out.transpose(1, 2), lse=lse)
