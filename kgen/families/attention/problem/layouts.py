"""How arguments lie in memory."""

from __future__ import annotations

from typing import Any

import torch

from kgen.families.memory import far_apart, within

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
        return within(value, wide, 0)
    if layout == "shifted" and name != "block_table":
        return within(value, [*value.shape[:-1], value.shape[-1] + 1], 1)
    if layout == "expanded" and name in QUERIES:
        return value[..., :1, :].expand(value.shape)
    if layout == "far" and name not in QUERIES and value.dim() > 2:
        return far_apart(value)
    return value
