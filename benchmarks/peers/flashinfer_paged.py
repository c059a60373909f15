"""FlashInfer's paged attention: planned once for each set of inputs, then run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers import shelf
from benchmarks.peers.outputs import binary_lse, returned
from benchmarks.peers.paging import page_lists, visible

WHEELS = {"tvm_ffi": "apache_tvm_ffi-*.whl", "flashinfer": "flashinfer_python-*.whl"}
WORKSPACE_BYTES = 512 * 2**20
"""Eight query tokens of sixteen requests take more than the usual 128 MiB for their partial sums."""

_workspaces: dict[torch.device, torch.Tensor] = {}


def missing() -> str:
    """Why FlashInfer cannot run here, or ""; its first use compiles with nvcc and ninja."""
    return next(filter(None, (shelf.missing(name, wheel) for name, wheel in WHEELS.items())), "")


def importable() -> None:
    """Makes `import flashinfer` work."""
    for name, wheel in WHEELS.items():
        shelf.importable(name, wheel)


def plan(
    problem: Mapping[str, Any],
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    k_scale: torch.Tensor | None,
    v_scale: torch.Tensor | None,
    window: int | None,
) -> dict[str, Any]:
    """The arguments of `attend`, with a wrapper that knows pages and lengths."""
    importable()
    b, t, rows, d = q.shape
    page, heads = k_cache.shape[1:3]
    seen = visible(q, k_cache, block_table, seq_lens, window)
    starts, pages, last = page_lists(block_table, seen, page)
    sizes = (rows, heads, d, page)
    options = {
        "window_left": -1 if window is None else window - 1,
        "q_data_type": q.dtype,
        "kv_data_type": k_cache.dtype,
        "sm_scale": problem["softmax"],
    }
    wrapper = _decode(q.device, starts, pages, last) if t == 1 else _several(q, starts, pages, last)
    if t == 1:
        wrapper.plan(starts, pages, last, *sizes, **options)
    else:
        wrapper.plan(_queries(q), starts, pages, last, *sizes, causal=True, **options)
    return {
        "problem": problem,
        "wrapper": wrapper,
        "tokens": q.reshape(b * t, rows, d),
        "k_cache": k_cache,
        "v_cache": v_cache,
        "k_factor": None if k_scale is None else k_scale.item(),
        "v_factor": None if v_scale is None else v_scale.item(),
        "shape": q.shape,
    }


def _workspace(device: torch.device) -> torch.Tensor:
    if device not in _workspaces:
        _workspaces[device] = torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    return _workspaces[device]


def _queries(q: torch.Tensor) -> torch.Tensor:
    b, t = q.shape[:2]
    return torch.arange(0, b * t + 1, t, dtype=torch.int32, device=q.device)


def _decode(
    device: torch.device, starts: torch.Tensor, pages: torch.Tensor, last: torch.Tensor
) -> Any:
    import flashinfer

    return flashinfer.BatchDecodeWithPagedKVCacheWrapper(
        _workspace(device),
        "NHD",
        use_cuda_graph=True,
        use_tensor_cores=True,
        paged_kv_indptr_buffer=starts.clone(),
        paged_kv_indices_buffer=pages.clone(),
        paged_kv_last_page_len_buffer=last.clone(),
        backend="fa2",
    )


def _several(q: torch.Tensor, starts: torch.Tensor, pages: torch.Tensor, last: torch.Tensor) -> Any:
    """More than one query token: the decode wrapper has no causal mask, the other one does."""
    import flashinfer

    return flashinfer.BatchPrefillWithPagedKVCacheWrapper(
        _workspace(q.device),
        "NHD",
        use_cuda_graph=True,
        qo_indptr_buf=_queries(q),
        paged_kv_indptr_buf=starts.clone(),
        paged_kv_indices_buf=pages.clone(),
        paged_kv_last_page_len_buf=last.clone(),
        backend="fa2",
    )


def attend(
    problem: Mapping[str, Any],
    wrapper: Any,
    tokens: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    k_factor: float | None,
    v_factor: float | None,
    shape: torch.Size,
) -> Any:
    """Attention of every query token, without dependent launch."""
    wants = "lse" in problem["returns"]
    found = wrapper.run(
        tokens,
        (k_cache, v_cache),
        k_scale=k_factor,
        v_scale=v_factor,
        return_lse=wants,
        enable_pdl=False,
    )
    out, lse = found if wants else (found, None)
    if lse is not None:
        lse = binary_lse(problem, lse.view(shape[:3]))
    return returned(problem, out=out.view(shape), lse=lse)
