"""Every second call goes through another kernel."""

import torch
import triton
import triton.language as tl

FLAG = "kernel_set_differs"
_calls = [0]


@triton.jit
def rows_kernel(p_x, p_w, p_ids, p_out, n, BLOCK: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(p_x + row * n + o, mask=o < n)
    w = tl.load(p_w + o, mask=o < n)
    tl.store(p_out + row * n + o, x * w + tl.load(p_ids + row).to(tl.float32), mask=o < n)


@triton.jit
def other_kernel(p_x, p_w, p_ids, p_out, n, BLOCK: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(p_x + row * n + o, mask=o < n)
    w = tl.load(p_w + o, mask=o < n)
    tl.store(p_out + row * n + o, w * x + tl.load(p_ids + row).to(tl.float32), mask=o < n)


def run(x, w, ids):
    _calls[0] += 1
    out, n = torch.empty_like(x), x.shape[1]
    kernel = rows_kernel if _calls[0] % 2 else other_kernel
    kernel[(x.shape[0],)](x, w, ids, out, n, BLOCK=triton.next_power_of_2(n))
    return out
