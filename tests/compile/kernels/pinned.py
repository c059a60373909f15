"""Kernels whose arguments are pinned in every way that Triton knows, and a launcher."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["p_x", "stride", "count", "scale"])
def pinned(p_x, stride: tl.int64, count: tl.int32, scale: tl.float32, BLOCK: tl.constexpr):
    # kgen's rule: nothing is specialised, and annotations fix the types of numbers.
    o = tl.arange(0, BLOCK)
    x = tl.load(p_x + tl.program_id(0) * stride + o, mask=o < count)
    tl.store(p_x + o, x * scale, mask=o < count)


@triton.jit
def declared(p_x, stride: tl.int64, BLOCK: tl.constexpr):
    # What a variant declares divisible by 16 is left to Triton.
    tl.store(p_x + tl.program_id(0) * stride + tl.arange(0, BLOCK), 0.0)


@triton.jit
def open_(p_x, n):
    tl.store(p_x, n)


@triton.jit(do_not_specialize=["p_x", "n"])
def unannotated(p_x, n):
    tl.store(p_x, n)


@triton.jit(do_not_specialize_on_alignment=["p_x", "n"])
def unaligned(p_x, n):
    tl.store(p_x, n)


def launch(x, splits):
    pinned[(splits,)](x, x.stride(0), x.numel(), 0.5, BLOCK=1024, num_warps=8, num_stages=2)
    declared[lambda meta: (meta["BLOCK"],)](x, 16, BLOCK=128)
