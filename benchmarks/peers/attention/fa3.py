"""FlashAttention 3 for Hopper, from the kernels that vLLM ships."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers import shelf
from benchmarks.peers.outputs import natural_lse, returned
from benchmarks.peers.paging import repacked, visible

TERMS = (
    "pages of fewer than 16 tokens are repacked to scattered pages of 64 outside of timing, larger pages are used as "
    "they are; an FP8 cache needs q in E4M3: cast outside of timing, so its q is an eighth as exact; the schedule is "
    "made outside of timing from the lengths; its combine kernel uses dependent launch; an LSE to base 2 is not compared"
)
TOLERANCE = 5e-2
LIBRARY = "_vllm_fa3_C.abi3.so"
LEAST_PAGE, NEW_PAGE = 16, 64


def available() -> str:
    """Needs a Hopper GPU and the library."""
    why = shelf.missing("vllm", f"{LIBRARY}*")
    if not why and torch.cuda.get_device_capability()[0] != 9:
        why = "FA3 runs on Hopper GPUs (sm_90) only"
    return why


@functools.cache
def _operators() -> Any:
    kept = shelf.kept(f"{LIBRARY}.xz")
    if kept is not None:
        library = shelf.decompressed(kept)
    else:
        vllm = importlib.util.find_spec("vllm")
        library = Path(vllm.submodule_search_locations[0], "vllm_flash_attn", LIBRARY)
    torch.ops.load_library(library)
    return torch.ops._vllm_fa3_C


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
    """q as tokens, caches in pages that FA3 takes, scales for each request and KV head, and the schedule."""
    b, t, rows, d = q.shape
    heads = k_cache.shape[2]
    seen = visible(q, k_cache, block_table, seq_lens, window)
    if k_cache.shape[1] < LEAST_PAGE:
        k_cache, v_cache, block_table = repacked(k_cache, v_cache, block_table, seen, NEW_PAGE)
    starts = torch.arange(0, b * t + 1, t, dtype=torch.int32, device=q.device)
    # one query token sees all keys but those that the window hides, so that no mask is needed for what comes after it
    causal = t > 1
    left, right = (-1, -1) if window is None else (window - 1, 0)
    schedule = _operators().get_scheduler_metadata(
        b, t, max(seen.live), rows, heads, d, d, k_cache.dtype, seq_lens, starts,
        None, None, None, None, k_cache.shape[1], 0, causal, left, right, False, 0, None, 0,
    )  # fmt: skip
    k_descale, v_descale = (
        None if scale is None else scale.float().expand(b, heads).contiguous()
        for scale in (k_scale, v_scale)
    )
    return {
        "problem": problem,
        "tokens": q.reshape(b * t, rows, d).to(k_cache.dtype),
        "k_cache": k_cache,
        "v_cache": v_cache,
        "block_table": block_table,
        "seq_lens": seq_lens,
        "starts": starts,
        "k_descale": k_descale,
        "v_descale": v_descale,
        "sizes": (b, t, max(seen.live)),
        "mask": (causal, left, right),
        "schedule": schedule,
    }


def run(
    problem: Mapping[str, Any],
    tokens: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    starts: torch.Tensor,
    k_descale: torch.Tensor | None,
    v_descale: torch.Tensor | None,
    sizes: tuple[int, int, int],
    mask: tuple[bool, int, int],
    schedule: torch.Tensor,
) -> Any:
    """The split kernel and its combine."""
    b, t, longest = sizes
    out, lse, *_ = _operators().fwd(
        tokens, k_cache, v_cache, None, None, None, None, starts, None, None, None, seq_lens,
        t, longest, block_table, None, None, None, None, None, None, k_descale, v_descale,
        problem["softmax"], *mask, 0.0, True, schedule, 0, None, 0, None, 1, 0, None,
    )  # fmt: skip
    lse = natural_lse(problem, lse.t().view(b, t, -1))
    return returned(problem, out=out.view(b, t, *out.shape[1:]), lse=lse)
