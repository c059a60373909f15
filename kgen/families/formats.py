"""Number formats, and what no kernel may use."""

from __future__ import annotations

import torch

TORCH = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
    "uint8": torch.uint8,
}
ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp32": 2.0**-24}
STRANGE_IDS = (2**30, -1)
NAN_BYTE = 0x7F
"""NaN in both fp8 formats."""


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, fp8 as bytes: indexing is not there for fp8 everywhere."""
    return tensor.view(torch.uint8) if tensor.element_size() == 1 else tensor
