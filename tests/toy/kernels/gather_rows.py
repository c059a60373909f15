import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(p_table, p_ids, p_out, stride_row: tl.int64, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    row = tl.load(p_ids + i)
    b = tl.load(p_table + row * stride_row + o, mask=o < n, other=0.0)
    tl.store(p_out + i * n + o, b, mask=o < n)


def run(table, ids):
    n = table.shape[1]
    out = torch.empty((ids.numel(), n), dtype=table.dtype, device=table.device)
    gather_kernel[(ids.numel(),)](table, ids, out, table.stride(0), n, triton.next_power_of_2(n))
    return out
