"""Kernels that compile, with what the tests look for: widths, matrix instructions, spills."""

import torch
import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)


@triton.jit
def scaled(x):
    """A helper, so that a kernel's core has more than one function."""
    return x * SCALE


@triton.jit(do_not_specialize=["n"])
def copy(p_x, p_y, n: tl.int64, BLOCK: tl.constexpr):
    # 16 bytes a thread when p_x and p_y are aligned: 8 elements of 2 bytes
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p_y + o, scaled(tl.load(p_x + o)).to(p_y.dtype.element_ty))


@triton.jit(do_not_specialize=["stride"])
def matmul(
    p_a, p_b, p_c, stride: tl.int64, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr
):
    o_m = tl.arange(0, M)
    o_n = tl.arange(0, N)
    o_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(p_a + o_m[:, None] * stride + (k + o_k)[None, :])
        b = tl.load(p_b + o_n[None, :] * stride + (k + o_k)[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(p_c + o_m[:, None] * N + o_n[None, :], acc)


@triton.jit
def hoard(p_x, p_y, M: tl.constexpr, N: tl.constexpr):
    # Every element lives across a reduction of all, in too few warps: registers run out.
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(p_x + o)
    total = tl.sum(tl.exp2(x), 1)
    y = tl.exp2(x) / total[:, None] + tl.sum(x * x, 1)[:, None]
    tl.store(p_y + o, y - tl.max(x, 1)[:, None])


@triton.jit
def doubles(p_x):
    p = p_x + tl.program_id(0)
    tl.store(p, tl.load(p) * 3.0)


@triton.jit
def by_target(p_x, COUNT: tl.constexpr):
    # More stores on Hopper and later: only a compiler that knows its target gets this right.
    if tl.target_info.cuda_capability_geq(9, 0):
        for i in tl.static_range(COUNT):
            tl.store(p_x + i * 3, i)
    else:
        tl.store(p_x, 0)


@triton.jit
def optional(p_x, p_bias, DTYPE: tl.constexpr):
    # A pointer that may be None is a constant when it is.
    x = tl.load(p_x + tl.program_id(0)).to(DTYPE)
    if p_bias is not None:
        x += tl.load(p_bias)
    tl.store(p_x + tl.program_id(0), x.to(tl.float32))
