"""Reductions in two levels of last blocks: an honest one, and what breaks it."""

import triton
import triton.language as tl


@triton.jit
def two_levels(p_x, p_part, p_row, p_count, p_done, p_out, PARTS: tl.constexpr, ROWS: tl.constexpr):
    i_part, i_row, i_r = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = i_r * ROWS + i_row
    tl.store(p_part + at * PARTS + i_part, 2 * tl.load(p_x + at * PARTS + i_part))
    tl.debug_barrier()
    if tl.atomic_add(p_count + at, 1, sem="acq_rel", scope="gpu") == PARTS - 1:
        tl.store(p_row + at, tl.sum(tl.load(p_part + at * PARTS + tl.arange(0, PARTS))))
        tl.store(p_count + at, 0)
        tl.debug_barrier()
        if tl.atomic_add(p_done + i_r, 1, sem="acq_rel", scope="gpu") == ROWS - 1:
            tl.store(p_out + i_r, tl.sum(tl.load(p_row + i_r * ROWS + tl.arange(0, ROWS))))
            tl.store(p_done + i_r, 0)


@triton.jit
def no_second_barrier(
    p_x, p_part, p_row, p_count, p_done, p_out, PARTS: tl.constexpr, ROWS: tl.constexpr
):
    i_part, i_row, i_r = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = i_r * ROWS + i_row
    tl.store(p_part + at * PARTS + i_part, 2 * tl.load(p_x + at * PARTS + i_part))
    tl.debug_barrier()
    if tl.atomic_add(p_count + at, 1, sem="acq_rel", scope="gpu") == PARTS - 1:
        tl.store(p_row + at, tl.sum(tl.load(p_part + at * PARTS + tl.arange(0, PARTS))))
        tl.store(p_count + at, 0)
        if tl.atomic_add(p_done + i_r, 1, sem="acq_rel", scope="gpu") == ROWS - 1:
            tl.store(p_out + i_r, tl.sum(tl.load(p_row + i_r * ROWS + tl.arange(0, ROWS))))
            tl.store(p_done + i_r, 0)


@triton.jit
def no_second_reset(
    p_x, p_part, p_row, p_count, p_done, p_out, PARTS: tl.constexpr, ROWS: tl.constexpr
):
    i_part, i_row, i_r = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = i_r * ROWS + i_row
    tl.store(p_part + at * PARTS + i_part, 2 * tl.load(p_x + at * PARTS + i_part))
    tl.debug_barrier()
    if tl.atomic_add(p_count + at, 1, sem="acq_rel", scope="gpu") == PARTS - 1:
        tl.store(p_row + at, tl.sum(tl.load(p_part + at * PARTS + tl.arange(0, PARTS))))
        tl.store(p_count + at, 0)
        tl.debug_barrier()
        if tl.atomic_add(p_done + i_r, 1, sem="acq_rel", scope="gpu") == ROWS - 1:
            tl.store(p_out + i_r, tl.sum(tl.load(p_row + i_r * ROWS + tl.arange(0, ROWS))))


@triton.jit
def second_counts_all(
    p_x, p_part, p_row, p_count, p_done, p_out, PARTS: tl.constexpr, ROWS: tl.constexpr
):
    # every program counts itself in the second level, not the last one of each row
    i_part, i_row, i_r = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = i_r * ROWS + i_row
    tl.store(p_part + at * PARTS + i_part, 2 * tl.load(p_x + at * PARTS + i_part))
    tl.debug_barrier()
    if tl.atomic_add(p_count + at, 1, sem="acq_rel", scope="gpu") == PARTS - 1:
        tl.store(p_row + at, tl.sum(tl.load(p_part + at * PARTS + tl.arange(0, PARTS))))
        tl.store(p_count + at, 0)
    tl.debug_barrier()
    if tl.atomic_add(p_done + i_r, 1, sem="acq_rel", scope="gpu") == ROWS - 1:
        tl.store(p_out + i_r, tl.sum(tl.load(p_row + i_r * ROWS + tl.arange(0, ROWS))))
        tl.store(p_done + i_r, 0)


@triton.jit
def stores_late(
    p_x, p_part, p_row, p_count, p_done, p_out, PARTS: tl.constexpr, ROWS: tl.constexpr
):
    # the row is stored behind the counter that tells others of it
    i_part, i_row, i_r = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = i_r * ROWS + i_row
    tl.store(p_part + at * PARTS + i_part, 2 * tl.load(p_x + at * PARTS + i_part))
    tl.debug_barrier()
    if tl.atomic_add(p_count + at, 1, sem="acq_rel", scope="gpu") == PARTS - 1:
        b_row = tl.sum(tl.load(p_part + at * PARTS + tl.arange(0, PARTS)))
        tl.store(p_count + at, 0)
        tl.debug_barrier()
        if tl.atomic_add(p_done + i_r, 1, sem="acq_rel", scope="gpu") == ROWS - 1:
            tl.store(p_row + at, b_row)
            tl.store(p_out + i_r, tl.sum(tl.load(p_row + i_r * ROWS + tl.arange(0, ROWS))))
            tl.store(p_done + i_r, 0)
        else:
            tl.store(p_row + at, b_row)
