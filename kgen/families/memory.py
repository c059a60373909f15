"""Tensors that lie in memory in unusual ways."""

from __future__ import annotations

import math

import torch

from kgen.families.formats import NAN_BYTE, STRANGE_IDS


def far_apart(value: torch.Tensor) -> torch.Tensor:
    """A copy of `value` whose first dimension is spread so far that its last offset exceeds 32 bits.

    Only the copied elements are ever touched, so on a CPU the rest takes no memory.
    """
    steps = max(value.shape[0] - 1, 1)
    stride = max(-(-(2**31) // steps), value[0].numel())
    stride += -stride % 16
    inner = value[0].contiguous().stride()
    whole = torch.empty(steps * stride + value[0].numel(), dtype=value.dtype, device=value.device)
    view = whole.as_strided(value.shape, (stride, *inner))
    return view.copy_(value)


def within(value: torch.Tensor, wide: list[int], start: int) -> torch.Tensor:
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
