"""Rows of different lengths in pieces: a schedule, a kernel whose programs look for their row in it, and one that sums."""

import triton
import triton.language as tl


@triton.jit
def schedule(lengths, begins, N, W, MORE, ROWS: tl.constexpr):
    """Where the pieces of each row begin, and those of the last one end."""
    r = tl.arange(0, ROWS)
    live = tl.load(lengths + r - 1, mask=(r > 0) & (r <= N), other=0)
    live = tl.minimum(tl.maximum(live, 0), W)
    chunk = tl.maximum(tl.cdiv(tl.sum(live, 0), MORE), 1)
    more = tl.cumsum(tl.maximum(live - 1, 0) // chunk, 0)
    tl.store(begins + r, r + tl.minimum(more, MORE))


@triton.jit
def pieces(k, lengths, begins, part, N, W, ROWS: tl.constexpr, B: tl.constexpr):
    """One piece of one row."""
    i = tl.program_id(0)
    r = tl.arange(0, ROWS)
    row = tl.sum(((tl.load(begins + r) <= i) & (r < N)).to(tl.int32), 0) - 1
    begin = tl.load(begins + row)
    count = tl.load(begins + row + 1) - begin
    live = tl.minimum(tl.maximum(tl.load(lengths + row), 0), W)
    size = tl.cdiv(live, count)
    low = (i - begin) * size
    high = tl.minimum(low + size, live)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(low, high, B):
        p = c + tl.arange(0, B)
        total += tl.load(k + row * W + p, mask=p < high, other=0.0)
    if low < high:
        tl.store(part + i, tl.sum(total))


@triton.jit
def add(part, lengths, begins, o, W):
    """The sum of all pieces of a row that are not empty."""
    row = tl.program_id(0)
    begin = tl.load(begins + row)
    count = tl.load(begins + row + 1) - begin
    live = tl.minimum(tl.maximum(tl.load(lengths + row), 0), W)
    size = tl.cdiv(live, count)
    total = tl.zeros((), tl.float32)
    for s in tl.range(0, tl.cdiv(live, tl.maximum(size, 1))):
        total += tl.load(part + begin + s)
    tl.store(o + row, total)
