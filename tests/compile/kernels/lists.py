"""Keys through lists of pages that lie one behind the other, and what breaks that."""

import triton
import triton.language as tl


@triton.jit
def through_lists(k, starts, pages, lengths, o, PAGE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(starts + i)
    most = (tl.load(starts + i + 1) - lo) * PAGE
    live = tl.minimum(tl.maximum(tl.load(lengths + i), 0), most)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, live, B):
        p = c + tl.arange(0, B)
        page = tl.load(pages + lo + p // PAGE, mask=p < live, other=0)
        total += tl.load(k + page * PAGE + p % PAGE, mask=p < live, other=0.0)
    tl.store(o + i, tl.sum(total))


@triton.jit
def from_the_next_list(k, starts, pages, lengths, o, PAGE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(starts + i + 1)
    most = (lo - tl.load(starts + i)) * PAGE
    live = tl.minimum(tl.maximum(tl.load(lengths + i), 0), most)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, live, B):
        p = c + tl.arange(0, B)
        page = tl.load(pages + lo + p // PAGE, mask=p < live, other=0)
        total += tl.load(k + page * PAGE + p % PAGE, mask=p < live, other=0.0)
    tl.store(o + i, tl.sum(total))


@triton.jit
def one_too_few(k, starts, pages, lengths, o, PAGE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(starts + i)
    most = (tl.load(starts + i + 1) - lo) * PAGE
    live = tl.minimum(tl.maximum(tl.load(lengths + i), 0), most) - 1
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, live, B):
        p = c + tl.arange(0, B)
        page = tl.load(pages + lo + p // PAGE, mask=p < live, other=0)
        total += tl.load(k + page * PAGE + p % PAGE, mask=p < live, other=0.0)
    tl.store(o + i, tl.sum(total))


@triton.jit
def length_not_clamped(k, starts, pages, lengths, o, PAGE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(starts + i)
    live = tl.load(lengths + i)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, live, B):
        p = c + tl.arange(0, B)
        page = tl.load(pages + lo + p // PAGE, mask=p < live, other=0)
        total += tl.load(k + page * PAGE + p % PAGE, mask=p < live, other=0.0)
    tl.store(o + i, tl.sum(total))


@triton.jit
def slot_of_another_page_size(k, starts, pages, lengths, o, PAGE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(starts + i)
    most = (tl.load(starts + i + 1) - lo) * PAGE
    live = tl.minimum(tl.maximum(tl.load(lengths + i), 0), most)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, live, B):
        p = c + tl.arange(0, B)
        page = tl.load(pages + lo + p // PAGE, mask=p < live, other=0)
        total += tl.load(k + page * PAGE + p % (PAGE // 2), mask=p < live, other=0.0)
    tl.store(o + i, tl.sum(total))


@triton.jit
def make_schedule(lengths, who, N, R):
    """For each of N places, a row of R."""
    i = tl.program_id(0)
    row = 0
    for r in tl.range(0, R):
        row = tl.where(tl.load(lengths + r) > i, r, row)
    tl.store(who + i, tl.minimum(row, R - 1))


@triton.jit
def use_schedule(x, who, o, N):
    i = tl.program_id(0)
    row = tl.load(who + i)
    tl.store(o + i, tl.load(x + row))


@triton.jit
def use_schedule_one_further(x, who, o, N):
    i = tl.program_id(0)
    row = tl.load(who + i) + 1
    tl.store(o + i, tl.load(x + row))


@triton.jit
def make_wide_schedule(lengths, who, N, R):
    i = tl.program_id(0)
    tl.store(who + i, tl.minimum(tl.maximum(tl.load(lengths), 0), R))
