"""bf16 and fp8 numbers: from the bits that Triton's interpreter keeps to float32 and back.

The interpreter stores bf16 as uint16 and fp8 as uint8. Rounding is to nearest even and fp8
saturates, as `cvt.rn.bf16.f32` and `cvt.rn.satfinite.e4m3x2.f32` do on sm_90 and sm_100 (PTX ISA,
section `cvt`).
"""

from __future__ import annotations

import functools

import numpy as np
import torch
import triton.language as tl

FP8 = {
    tl.float8e4nv: torch.float8_e4m3fn,
    tl.float8e5: torch.float8_e5m2,
    tl.float8e4b8: torch.float8_e4m3fnuz,
    tl.float8e5b16: torch.float8_e5m2fnuz,
}
STORED_AS_BITS = frozenset({tl.bfloat16, *FP8})
_ADDRESS = np.dtype(np.uint64)
_NUMPY = {
    **{name: np.dtype(name.replace("fp", "float")) for name in ("fp16", "fp32", "fp64")},
    **{
        f"{sign}int{bits}": np.dtype(f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    **{dtype.name: np.dtype(np.uint8) for dtype in (*FP8, tl.float8e4b15)},
    "int1": np.dtype(bool),
    "bf16": np.dtype(np.uint16),
}


def np_dtype(dtype: tl.dtype) -> np.dtype:
    """How elements of a type are kept. Triton's own version builds its table at each call."""
    if isinstance(dtype, tl.block_type):
        dtype = dtype.element_ty
    return _ADDRESS if isinstance(dtype, tl.pointer_type) else _NUMPY[dtype.name]


def decode(bits: np.ndarray, dtype: tl.dtype) -> np.ndarray:
    """The float32 values of `bits` (uint16 for bf16, uint8 for fp8), same shape; exact."""
    if dtype == tl.bfloat16:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return _fp8_values(dtype)[bits]


def encode(values: np.ndarray, dtype: tl.dtype) -> np.ndarray:
    """The bits of `dtype` nearest to floating-point `values`, same shape; NaN stays NaN."""
    values = np.ascontiguousarray(values, dtype=np.float32).reshape(np.shape(values))
    if dtype == tl.bfloat16:
        return _bf16_bits(values)
    top = torch.finfo(FP8[dtype]).max
    rounded = torch.from_numpy(np.clip(values, -top, top)).to(FP8[dtype])
    return rounded.view(torch.uint8).numpy()


def _bf16_bits(values: np.ndarray) -> np.ndarray:
    """Adding 0x7fff plus the lowest kept bit carries exactly when nearest-even rounds up."""
    bits = values.view(np.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


@functools.cache
def _fp8_values(dtype: tl.dtype) -> np.ndarray:
    """All 256 values of an fp8 format, by their bits."""
    return torch.arange(256, dtype=torch.uint8).view(FP8[dtype]).float().numpy()
