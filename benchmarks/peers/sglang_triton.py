"""sglang's Triton decode kernels, imported without the rest of sglang."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers import shelf
from benchmarks.peers.offered import NotOffered
from benchmarks.peers.outputs import returned
from benchmarks.peers.paging import slot_lists, visible

KERNELS = "sglang.kernels.ops.attention"
ARCHIVE = "sglang-*-decode.zip"
TERMS = (
    "same cache, pages and q, given as a list of token slots for each request; the lists and the number of splits are "
    "made outside of timing from the lengths; an FP8 cache makes it cast q and the probabilities to E4M3; one query "
    "token only; returns no LSE"
)
TOLERANCE = 5e-2


def missing() -> str:
    """Why sglang's kernels cannot run here, or ""."""
    return shelf.missing("sglang", ARCHIVE)


@functools.cache
def _modules() -> tuple[types.ModuleType, types.ModuleType]:
    """`decode_attention` and `metadata`: from `.peers/` with stand-ins for what they import, else as installed."""
    folder = shelf.importable("sglang", ARCHIVE)
    if folder is not None:
        _stand_in(folder)
    return (
        importlib.import_module(f"{KERNELS}.decode_attention"),
        importlib.import_module(f"{KERNELS}.metadata"),
    )


def _stand_in(folder: Path) -> None:
    """The packages above the kernels without their `__init__`, and the helpers that tell an AMD GPU: this is none."""
    parts = KERNELS.split(".")
    for depth in range(1, len(parts) + 1):
        package = types.ModuleType(".".join(parts[:depth]))
        package.__path__ = [str(folder.joinpath(*parts[:depth]))]
        sys.modules[package.__name__] = package
    helpers = dict.fromkeys(("is_hip", "is_gfx95_supported", "is_gfx1250_supported"), _no)
    helpers["get_device_core_count"] = _cores
    for name, contents in (
        ("sglang.srt", {}),
        ("sglang.srt.environ", {"envs": None}),
        ("sglang.srt.utils", helpers),
    ):
        module = types.ModuleType(name)
        module.__dict__.update(contents)
        sys.modules[name] = module


def _no() -> bool:
    return False


def _cores(device: Any = 0) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def plan(
    most_splits: int,
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
    """The arguments of `attend`: slot lists, the splits that sglang's own rule gives under a cap, and scratch.

    With its cap given, it is the `prepare` of an adapter.
    """
    b, t, rows, d = q.shape
    if t != 1:
        raise NotOffered(f"sglang's decode kernel takes one query token, not {t}")
    pages, page, heads = k_cache.shape[:3]
    seen = visible(q, k_cache, block_table, seq_lens, window)
    starts, slots = slot_lists(block_table, seen, page)
    keys = torch.tensor(seen.counts, dtype=torch.int32, device=q.device)
    splits = torch.empty_like(keys)
    _modules()[1].get_num_kv_splits_triton[(1,)](
        splits, keys, b, 1, rows, heads, most_splits, _cores(q.device), MAX_NUM_SEQ=max(256, _power(b)),
    )  # fmt: skip
    scratch = {"dtype": torch.float32, "device": q.device}
    return {
        "problem": problem,
        "tokens": q.view(b, rows, d),
        "k_slots": k_cache.view(pages * page, heads, d),
        "v_slots": v_cache.view(pages * page, heads, d),
        "starts": starts,
        "slots": slots,
        "partial": torch.empty((b, rows, most_splits, d), **scratch),
        "partial_lse": torch.empty((b, rows, most_splits), **scratch),
        "splits": splits,
        "scales": tuple(1.0 if scale is None else scale.item() for scale in (k_scale, v_scale)),
        "page": page,
    }


def _power(number: int) -> int:
    return 1 << (number - 1).bit_length()


def attend(
    problem: Mapping[str, Any],
    tokens: torch.Tensor,
    k_slots: torch.Tensor,
    v_slots: torch.Tensor,
    starts: torch.Tensor,
    slots: torch.Tensor,
    partial: torch.Tensor,
    partial_lse: torch.Tensor,
    splits: torch.Tensor,
    scales: tuple[float, float],
    page: int,
) -> Any:
    """The split kernel and the one that combines, without dependent launch."""
    out = torch.empty_like(tokens)
    _modules()[0].decode_attention_fwd(
        tokens, k_slots, v_slots, out, starts, slots, partial, partial_lse, splits, partial.shape[2],
        problem["softmax"], *scales, page_size=page,
    )  # fmt: skip
    return returned(problem, out=out.unsqueeze(1))
