"""The epilogue in fp64 torch, and what becomes of an error on its way through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

EXTREME_GATE = 1000.0


def epilogue_inputs(
    epilogue: Mapping[str, Any],
    outputs: tuple[int, ...],
    layout: str,
    generator: torch.Generator,
) -> dict[str, torch.Tensor]:
    """The operands of an epilogue, by name; in the extreme layout the exponential of some gates is inf."""
    found = {}
    if "norm" in epilogue:
        size = outputs[-1:]
        found["norm_weight"] = 1 + torch.randn(size, generator=generator, device=generator.device)
    if "gate" in epilogue:
        gate = 3 * torch.randn(outputs, generator=generator, device=generator.device)
        if layout == "extreme":
            gate[..., ::3] = EXTREME_GATE
            gate[..., 1::3] = -EXTREME_GATE
        found["gate"] = gate
    return found


def applied(
    epilogue: Mapping[str, Any],
    arguments: Mapping[str, Any],
    out: torch.Tensor,
    error: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs after norm and gate, and the absolute error that is left of `error`."""
    if "norm" in epilogue:
        weight = arguments["norm_weight"].double()
        rstd = (out.square().mean(-1, keepdim=True) + epilogue["eps"]).rsqrt()
        # the mean square moves by twice the mean of out times its error
        moved = rstd**3 * (out.abs() * error).mean(-1, keepdim=True)
        error = (error * rstd + out.abs() * moved) * weight.abs()
        out = out * rstd * weight
    if "gate" in epilogue:
        given = arguments["gate"].double()
        factor = given.sigmoid() * (given if epilogue["gate"] == "silu" else 1.0)
        out, error = out * factor, error * factor.abs()
    return out, error
