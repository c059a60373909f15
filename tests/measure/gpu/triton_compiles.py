"""One Triton kernel that is another one at each call, for as long as somebody may be timing."""

import torch
import triton
import triton.language as tl

FLAG = "compiles_while_timed"
_calls = [0]


@triton.jit
def rows_kernel(p_x, p_w, p_ids, p_out, n, CALL: tl.constexpr, BLOCK: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(p_x + row * n + o, mask=o < n)
    w = tl.load(p_w + o, mask=o < n)
    shift = tl.load(p_ids + row).to(tl.float32) + 0.0 * CALL
    tl.store(p_out + row * n + o, x * w + shift, mask=o < n)


def run(x, w, ids):
    _calls[0] += 1
    out, n = torch.empty_like(x), x.shape[1]
    block = triton.next_power_of_2(n)
    rows_kernel[(x.shape[0],)](x, w, ids, out, n, CALL=min(_calls[0], 40), BLOCK=block)
    return out
