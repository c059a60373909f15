"""Kernels that a compiler refuses, each at a line that a test knows by its text."""

import torch
import triton
import triton.language as tl


@triton.jit
def widen(p_x, p_y):
    o = tl.arange(0, 64)
    tl.store(p_y + o, tl.load(p_x + o).to(tl.float32))


@triton.jit
def inner(x):
    y = x + 1
    return tl.dot(x, y)  # the dot of vectors


@triton.jit(
    do_not_specialize=["p_x"],
)
def outer(
    p_x,
):
    o = tl.arange(0, 32)
    tl.store(p_x + o, inner(tl.load(p_x + o)))


@triton.jit
def demanding(p_x, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 32, "BLOCK has to be at least 32")
    tl.store(p_x, BLOCK)


@triton.jit
def misspelt(p_x):
    o = tl.arange(0, 32)
    x = tl.load(p_x + o)
    y = tl.inline_asm_elementwise(
        "nonsense.u32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(p_x + o, y)


@triton.jit
def undefined(p_x):
    tl.store(p_x, missing)


@triton.jit
def standard(p_x):
    x = tl.load(p_x + tl.arange(0, 32))
    tl.store(p_x, tl.sum(x, 3))


@triton.jit
def nested_sums(p_x, p_y):
    # Triton 3.7 fails to lower the sum of a tile's row sums from tensor memory.
    o = tl.arange(0, 64)
    x = tl.load(p_x + o[:, None] * 64 + o[None, :])
    y = tl.dot(x, x)
    tl.store(p_y, tl.sum(tl.sum(y, 1), 0))
