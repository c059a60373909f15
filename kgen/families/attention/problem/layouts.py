"""How arguments lie in memory."""

from __future__ import annotations

import math
from typing import Any

import torch

from kgen.families.attention.problem.formats import NAN_BYTE, STRANGE_IDS
from kgen.families.memory import far_apart

QUERIES = ("q", "q_nope", "q_pe")


def lay_out(value: Any, name: str, layout: str, device: torch.device) -> Any:
    """An argument on the device, as the layout has it; numbers and vectors are the same in each."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.to(device)
    if value.dim() < 2 or not value.numel():
        return value
    if layout == "padded":
        # every dimension but the last wider than it need be, by what keeps rows 16 elements apart
        wide = [extent + 1 for extent in value.shape[:-1]] + [value.shape[-1] + 16]
        return _within(value, wide, 0)
    if layout == "shifted" and name != "block_table":
        return _within(value, [*value.shape[:-1], value.shape[-1] + 1], 1)
    if layout == "expanded" and name in QUERIES:
        return value[..., :1, :].expand(value.shape)
    if layout == "far" and name not in QUERIES and value.dim() > 2:
        return far_apart(value)
    return value


def _within(value: torch.Tensor, wide: list[int], start: int) -> torch.Tensor:
    """A copy of `value` inside a larger tensor whose other elements are poison."""
    if value.is_floating_point():
        whole = torch.full(wide, math.nan, dtype=torch.float32)
    else:
        poison = NAN_BYTE if value.dtype == torch.uint8 else STRANGE_IDS[0]
        whole = torch.full(wide, poison, dtype=value.dtype)
    view = whole.to(value.dtype).to(value.device)
    index = tuple(slice(0, extent) for extent in value.shape[:-1])
    view = view[(*index, slice(start, start + value.shape[-1]))]
    view.copy_(value)
    return view
