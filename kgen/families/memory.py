"""Tensors that lie in memory in unusual ways."""

from __future__ import annotations

import torch


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
