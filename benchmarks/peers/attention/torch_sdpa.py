"""Attention of torch itself: `scaled_dot_product_attention` over a dense cache."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention.bias import CausalBias, causal_lower_right

from benchmarks.peers.outputs import returned
from benchmarks.peers.paging import Visible, by_head, visible

TERMS = (
    "has no page table: the visible keys of each request are gathered into a dense cache of q's dtype outside of "
    "timing, so an FP8 cache is read as twice its bytes, already scaled; the backend is torch's choice; returns no LSE"
)
TOLERANCE = 1e-2
PAD = 16
"""The mask's rows start at multiples of 16 elements, as the memory-efficient backend wants them."""


@functools.cache
def _causal(queries: int, keys: int) -> CausalBias:
    """The mask that torch knows by name; made once, since it is no data."""
    return causal_lower_right(queries, keys)


def available() -> str:
    """torch is there wherever this runs."""
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
    """Dense caches [B, HK, S, D] and how to mask them: not at all, causally, or by a tensor."""
    seen = visible(q, k_cache, block_table, seq_lens, window)
    queries = q.shape[1]
    how = "masked"
    if seen.uniform and queries == 1:
        how = "whole"
    elif seen.uniform and window is None and seen.live[0] >= queries:
        how = "causal"
    width = max(seen.counts)
    if how == "masked":
        # one zero key at least is left over, for rows that see nothing
        width = -(-(width + 1) // PAD) * PAD
    where = (block_table, seen, width, q.dtype)
    bias = _bias(seen, q, k_cache.shape[2], width, window) if how == "masked" else None
    if how == "causal":
        _causal(queries, width)
    return {
        "problem": problem,
        "q": q,
        "k": by_head(k_cache, *where),
        "v": by_head(v_cache, *where, v_scale),
        "bias": bias,
        "causal": how == "causal",
        "scale": problem["softmax"] * (1.0 if k_scale is None else k_scale.item()),
    }


def _bias(
    seen: Visible, q: torch.Tensor, heads: int, width: int, window: int | None
) -> torch.Tensor:
    """[B, HK, Q * G, width]: 0 where a row sees a key, -inf elsewhere; an empty row sees the last key, a zero."""
    queries, group = q.shape[1], q.shape[2] // heads
    live, first = (
        torch.tensor(values, device=q.device)[:, None, None] for values in (seen.live, seen.first)
    )
    key = first + torch.arange(width, device=q.device)
    last = live - queries + torch.arange(queries, device=q.device)[:, None]
    sees = (key <= last) & (last >= 0)
    if window is not None:
        sees &= key > last - window
    sees[..., -1] |= ~sees.any(-1)
    bias = torch.where(sees, 0.0, float("-inf")).to(q.dtype)
    bias = bias.repeat_interleave(group, dim=1)
    return bias[:, None].expand(-1, heads, -1, -1)


def run(
    problem: Mapping[str, Any],
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor | None,
    causal: bool,
    scale: float,
) -> Any:
    """Attention of every query token; with a mask, the query heads of a KV head are rows of one head."""
    b, t, _, d = q.shape
    if bias is None:
        mask = _causal(t, k.shape[2]) if causal else None
        out = F.scaled_dot_product_attention(
            q.transpose(1, 2), k, v, attn_mask=mask, scale=scale, enable_gqa=True
        ).transpose(1, 2)
    else:
        rows = q.view(b, t, k.shape[1], -1, d).transpose(1, 2).flatten(2, 3)
        out = F.scaled_dot_product_attention(rows, k, v, attn_mask=bias, scale=scale)
        out = out.view(b, k.shape[1], t, -1, d).transpose(1, 2).reshape(q.shape)
    return returned(problem, out=out)
