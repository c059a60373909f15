"""Honest: one Triton kernel."""

import torch
import triton
import triton.language as tl

FLAG = ""


@triton.jit
def rows_kernel(p_x, p_w, p_ids, p_out, n, BLOCK: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(p_x + row * n + o, mask=o < n)
    w = tl.load(p_w + o, mask=o < n)
    tl.store(p_out + row * n + o, x * w + tl.load(p_ids + row).to(tl.float32), mask=o < n)


def run(x, w, ids):
    out = torch.empty_like(x)
    rows_kernel[(x.shape[0],)](x, w, ids, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
