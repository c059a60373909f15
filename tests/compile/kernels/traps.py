"""Small kernels on which a careless prover says `proved`, and their honest neighbours.

Each is named for what it does. What is declared about it, and whether it may be proved, stands in `test_prove_traps.py`.
"""

import triton
import triton.language as tl

# ---------------------------------------------------------------- widths


@triton.jit
def index_wraps_and_so_does_its_mask(x, o, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < N), mask=i < N)


@triton.jit
def index_of_64_bits(x, o, N, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < N), mask=i < N)


@triton.jit
def product_widened_too_late(x, stride, B: tl.constexpr):
    row = (tl.program_id(0) * stride).to(tl.int64)
    tl.load(x + row + tl.arange(0, B)).to(tl.float32)
    tl.store(x + row + tl.arange(0, B), 0.0)


@triton.jit
def rounding_up_wraps(x, o, N, B: tl.constexpr):
    tl.store(o, tl.load(x + tl.cdiv(N, B) - 1))


@triton.jit
def counter_wraps_after_the_last_turn(x, o, N, B: tl.constexpr):
    for j in range(0, N, B):
        i = tl.arange(0, B)
        tl.store(o + j + i, tl.load(x + j + i, mask=i < N - j), mask=i < N - j)


@triton.jit
def short_entries_times_a_number(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.load(table + i, mask=i < N, other=0)
    tl.store(o + i, tl.load(x + row * 128, mask=i < N), mask=i < N)


@triton.jit
def unsigned_below_zero(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B).to(tl.uint32)
    tl.store(o + i, tl.load(x + (i - 1), mask=i < N), mask=i < N)


@triton.jit
def only_masked_lanes_wrap(x, o, M, stride, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + r, tl.load(x + r * stride, mask=r < M), mask=r < M)


# ---------------------------------------------------------------- lanes and masks


@triton.jit
def one_range_on_two_axes(x, o, N, B: tl.constexpr):
    n = tl.arange(0, B)
    v = tl.load(x + n[:, None] * N + n[None, :], mask=(n < N)[:, None])
    tl.store(o + n[:, None] * B + n[None, :], v)


@triton.jit
def one_range_on_two_masked_axes(x, o, N, B: tl.constexpr):
    n = tl.arange(0, B)
    v = tl.load(x + n[:, None] * N + n[None, :], mask=(n < N)[:, None] & (n < N)[None, :])
    tl.store(o + n[:, None] * B + n[None, :], v)


@triton.jit
def two_ranges_on_one_axis(o, B: tl.constexpr):
    a = tl.arange(0, B)
    b = tl.arange(0, B)
    tl.store(o + a * B + b, 1.0)


@triton.jit
def square(o, B: tl.constexpr):
    a = tl.arange(0, B)[:, None]
    b = tl.arange(0, B)[None, :]
    tl.store(o + a * B + b, 1.0)


@triton.jit
def square_transposed(o, B: tl.constexpr):
    a = tl.arange(0, B)[:, None]
    b = tl.arange(0, B)[None, :]
    tl.store(o + tl.trans(a * B + b), 1.0)


@triton.jit
def mask_on_the_other_axis(x, o, M, N, B: tl.constexpr):
    a = tl.arange(0, B)
    b = tl.arange(0, B)
    v = tl.load(x + a[:, None] * N + b[None, :], mask=(a < M)[None, :] & (b < N)[:, None])
    tl.store(o + a[:, None] * B + b[None, :], v)


@triton.jit
def either_mask(x, o, M, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=(i < N) | (i < M)))


@triton.jit
def either_mask_within(x, o, M, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=((i < N) & (i < 7)) | (i < M)))


@triton.jit
def chosen_after_the_load(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.where(i < N, tl.load(x + i), 0.0))


@triton.jit
def chosen_before_the_load(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + tl.where(i < N, i, 0)))


@triton.jit
def low_bits_and_shifts(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + ((i >> 2) << 2) + (i & 3)))


@triton.jit
def flipped_bits(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + (i ^ 8)))


# ---------------------------------------------------------------- division


@triton.jit
def negative_remainder(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + (i - 1) % N))


@triton.jit
def negative_quotient(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + (i - 8) // 4, mask=i < 4 * N))


@triton.jit
def quotient_and_remainder(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + (i // 4) * 4 + i % 4, mask=i < N), mask=i < N)


@triton.jit
def divisor_may_be_negative(o, M, B: tl.constexpr):
    r = tl.program_id(0)
    tl.store(o + tl.minimum(r // (M - r), 0) + r, 1.0)


@triton.jit
def divisor_may_be_zero(x, o, M, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i // M))


# ---------------------------------------------------------------- tables


@triton.jit
def entry_may_be_minus_one(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.load(table + i, mask=i < N, other=0)
    tl.store(o + i, tl.load(x + p, mask=i < N), mask=i < N)


@triton.jit
def entry_tested_for_minus_one(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.load(table + i, mask=i < N, other=-1)
    tl.store(o + i, tl.load(x + p, mask=p >= 0, other=0.0), mask=i < N)


@triton.jit
def masked_entry_used_unmasked(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.load(table + i, mask=i < N)
    tl.store(o + i, tl.load(x + p), mask=i < N)


@triton.jit
def masked_entry_used_under_its_mask(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.load(table + i, mask=i < N)
    tl.store(o + i, tl.load(x + p, mask=i < N), mask=i < N)


@triton.jit
def masked_entry_used_under_a_weaker_mask(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.load(table + i, mask=i < N)
    tl.store(o + i, tl.load(x + p, mask=i < N + 1), mask=i < N)


@triton.jit
def other_entry_out_of_range(x, table, o, N, P, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.load(table + i, mask=i < N, other=P)
    tl.store(o + i, tl.load(x + p), mask=i < N)


@triton.jit
def table_written_before(x, table, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(table + i, i + N, mask=i < N)
    tl.debug_barrier()
    p = tl.load(table + i, mask=i < N, other=0)
    tl.store(o + i, tl.load(x + p), mask=i < N)


@triton.jit
def table_written_later_in_the_turn(x, table, o, N):
    for j in range(0, N):
        p = tl.load(table)
        tl.store(o + j, tl.load(x + p))
        tl.store(table, p + 1)


@triton.jit
def length_read_twice(x, lengths, o, N):
    for j in range(0, tl.load(lengths)):
        tl.store(o + j, tl.load(x + j, mask=j < tl.load(lengths)))


# ---------------------------------------------------------------- loops


@triton.jit
def index_doubles(x, o, N):
    i = 0
    for j in range(0, N):
        tl.store(o + j, tl.load(x + i))
        i = i * 2 + 1


@triton.jit
def index_counts(x, o, N):
    i = 0
    for j in range(0, N):
        tl.store(o + j, tl.load(x + i))
        i += 1


@triton.jit
def index_counts_sometimes(x, flags, o, N):
    i = 0
    for j in range(0, N):
        tl.store(o + j, tl.load(x + i))
        i = tl.where(tl.load(flags + j) > 0, i + 2, i)


@triton.jit
def index_kept_in_range(x, flags, o, N):
    i = 0
    for j in range(0, N):
        tl.store(o + j, tl.load(x + i))
        i = tl.minimum(tl.load(flags + j), N - 1)
        i = tl.maximum(i, 0)


@triton.jit
def pointers_change_places(x, y, o, N):
    a = x
    b = y
    for j in range(0, N):
        tl.store(o + j, tl.load(a + j))
        c = a
        a = b
        b = c


@triton.jit
def pointer_moves(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = x + i
    for j in range(0, N, B):
        tl.store(o + j + i, tl.load(p, mask=j + i < N), mask=j + i < N)
        p += B


@triton.jit
def index_behind_the_loop(x, o, N):
    i = 0
    for j in range(0, N):
        tl.store(o + j, 0.0)
        i += 1
    tl.store(o, tl.load(x + i))


@triton.jit
def last_index_behind_the_loop(x, o, N):
    i = 0
    for j in range(0, N):
        tl.store(o + j, 0.0)
        i += 1
    tl.load(x + i - 1)
    tl.atomic_add(x + i - 1, 1.0)


@triton.jit
def one_tile_ahead(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < N)
    for j in range(0, N, B):
        tl.store(o + j + i, v, mask=j + i < N)
        v = tl.load(x + j + B + i, mask=j + i < N)


@triton.jit
def one_masked_tile_ahead(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < N)
    for j in range(0, N, B):
        tl.store(o + j + i, v, mask=j + i < N)
        v = tl.load(x + j + B + i, mask=j + B + i < N)


@triton.jit
def entry_looked_up_one_turn_early(x, table, o, N):
    p = tl.load(table)
    for j in range(0, N):
        v = tl.load(x + p)
        p = tl.load(table + j + 1, mask=j + 1 < N, other=0)
        tl.store(o + j, v)


@triton.jit
def entry_looked_up_too_early(x, table, o, N):
    p = tl.load(table + 1, mask=N > 1, other=-5)
    for j in range(0, N):
        v = tl.load(x + p)
        p = tl.load(table + j + 1, mask=j + 1 < N, other=0)
        tl.store(o + j, v)


@triton.jit
def quotient_of_the_turn_before(x, o, N):
    i = -1
    for j in range(0, N):
        tl.store(o + j, tl.load(x + i))
        i = (3 * j + 1) // 4


@triton.jit
def remainder_of_the_turn_before(x, o, N):
    i = -2
    for j in range(0, N):
        tl.store(o + j, tl.load(x + i))
        i = (3 * j + 1) % 4


@triton.jit
def step_may_be_zero(x, o, N, s):
    for j in range(0, N, s):
        tl.store(o + j, tl.load(x + j))


@triton.jit
def bound_shadowed_in_the_loop(x, o, N, M):
    hi = N
    for j in range(0, hi):
        hi = M
        tl.store(o + j, tl.load(x + j, mask=j < hi))
    tl.store(o, tl.load(x + hi - 1))


@triton.jit
def list_followed(following, x, o, N):
    i = 0
    n = 0
    while n < 10:
        tl.store(o + n, tl.load(x + i))
        i = tl.load(following + i)
        n += 1


@triton.jit
def while_there_are_more(following, x, o, N):
    i = 0
    c = tl.load(following)
    while c > 0:
        tl.store(o, tl.load(x + i))
        i += 1
        c = tl.load(following + i, mask=i < N, other=0)


@triton.jit
def rows_in_turns(x, o, M, N, B: tl.constexpr):
    i = tl.arange(0, B)
    for r in range(tl.program_id(0), M, tl.num_programs(0)):
        for j in range(0, N, B):
            v = tl.load(x + r * N + j + i, mask=j + i < N)
            tl.store(o + r * N + j + i, v, mask=j + i < N)


@triton.jit
def last_turn_left_out(x, o, M, N, B: tl.constexpr):
    i = tl.arange(0, B)
    for r in range(tl.program_id(0), M, tl.num_programs(0)):
        for j in range(0, N - B, B):
            v = tl.load(x + r * N + j + i, mask=j + i < N)
            tl.store(o + r * N + j + i, v, mask=j + i < N)


# ---------------------------------------------------------------- branches


@triton.jit
def other_value_from_a_branch(x, flags, o, N):
    i = 0
    if tl.load(flags) > 0:
        i = N
    tl.store(o, tl.load(x + i))


@triton.jit
def value_in_range_from_a_branch(x, flags, o, N):
    i = 0
    if tl.load(flags) > 0:
        i = N - 1
    tl.store(o, tl.load(x + i))


@triton.jit
def early_return(x, o, N):
    r = tl.program_id(0)
    if r >= N:
        return
    tl.store(o + r, tl.load(x + r))


@triton.jit
def early_return_for_the_last_row(x, o, N):
    r = tl.program_id(0)
    if r >= N - 1:
        return
    tl.store(o + r, tl.load(x + r))


@triton.jit
def assumption_believed(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.assume(N >= B)
    tl.store(o + i, tl.load(x + i))


# ---------------------------------------------------------------- unknown values


@triton.jit
def where_the_largest_is(p, B: tl.constexpr):
    return tl.argmax(tl.load(p + tl.arange(0, B)), 0)


@triton.jit
def two_calls_two_values(x, o, B: tl.constexpr):
    a = where_the_largest_is(x, B)
    b = where_the_largest_is(x + B, B)
    tl.store(o, tl.load(x + (a - b)))


@triton.jit
def two_unrolled_turns_two_values(x, o, B: tl.constexpr):
    d = 0
    for s in tl.static_range(2):
        d = tl.argmax(tl.load(x + s * B + tl.arange(0, B)), 0) - d
    tl.store(o, tl.load(x + d))


@triton.jit
def largest_index_of_a_row(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    m = tl.max(tl.where(i < N, i, 0)[None, :], 1)
    tl.store(o + tl.arange(0, 1), tl.load(x + m))


@triton.jit
def index_of_the_largest(x, y, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    m = tl.argmax(tl.load(x + i, mask=i < N, other=0.0), 0)
    tl.store(o, tl.load(y + m))


@triton.jit
def index_of_the_largest_of_padded_lanes(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    m = tl.argmax(tl.load(x + i, mask=i < N, other=0.0), 0)
    tl.store(o, tl.load(x + m))


@triton.jit
def index_from_a_real_number(x, o, B: tl.constexpr):
    i = tl.load(x).to(tl.int32)
    tl.store(o, tl.load(x + i))


@triton.jit
def clamped_index_from_a_real_number(x, o, N):
    i = tl.minimum(tl.maximum(tl.load(x).to(tl.int32), 0), N - 1)
    tl.store(o, tl.load(x + i))


@triton.jit
def index_from_a_histogram(x, o, B: tl.constexpr):
    h = tl.histogram(tl.arange(0, B), B)
    tl.store(o + tl.arange(0, B), tl.load(x + h))


@triton.jit
def index_from_a_running_sum(x, o, B: tl.constexpr):
    ones = tl.full((B,), 1, tl.int32)
    tl.store(o + tl.arange(0, B), tl.load(x + tl.cumsum(ones, 0) - 1))


# ---------------------------------------------------------------- outputs


@triton.jit
def grid_axes_swapped(x, o, M, N):
    r = tl.program_id(1)
    c = tl.program_id(0)
    tl.store(o + r * N + c, tl.load(x + r * N + c))


@triton.jit
def stored_by_every_program(o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, 1.0, mask=i < N)


@triton.jit
def stored_where_data_says_so(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < N, other=0.0)
    tl.store(o + i, v, mask=(i < N) & (v > 0.0))


@triton.jit
def stored_twice(o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, 1.0)
    tl.store(o + B - 1 - i, 2.0)


@triton.jit
def added_to(o, B: tl.constexpr):
    tl.atomic_add(o + tl.arange(0, B), 1.0)


@triton.jit
def grid_may_be_empty(o):
    tl.store(o + tl.program_id(0), 1.0)


@triton.jit
def stored_in_a_while(x, o, N):
    i = 0
    while i < N:
        tl.store(o + i, 0.0)
        i += 1


@triton.jit
def first_of_the_next_row(x, o, N):
    r = tl.program_id(0)
    tl.store(o + r, tl.load(x + r * N + N))


@triton.jit
def odd_row_as_pairs(x, o, N):
    p = x.to(tl.pointer_type(tl.int16), bitcast=True)
    for j in range(0, tl.cdiv(N, 2)):
        tl.store(o + j, tl.load(p + j).to(tl.float32))


@triton.jit
def address_as_a_number(x, o, B: tl.constexpr):
    p = (x.to(tl.int64) + 4).to(tl.pointer_type(tl.float32))
    tl.store(o, tl.load(p))


@triton.jit
def through_a_descriptor(x, o, N, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [N, B], [B, 1], [1, B])
    tl.store(o + tl.arange(0, B), tl.reshape(d.load([0, 0]), (B,)))


@triton.jit
def assembly_that_may_do_anything(o, B: tl.constexpr):
    tl.inline_asm_elementwise(
        "st.global.u32 [$1], 0; mov.b32 $0, 0;",
        "=r,l",
        [tl.full((B,), 64, tl.int64)],
        tl.int32,
        False,
        1,
    )
    tl.store(o + tl.arange(0, B), 0.0)


@triton.jit
def two_stores_interleave(x, o, N, B: tl.constexpr):
    n = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + 2 * n, tl.load(x + n, mask=n < N), mask=n < N)
    tl.store(o + 2 * n + 1, tl.load(x + n, mask=n < N), mask=n < N)


@triton.jit
def two_stores_meet(x, o, N, B: tl.constexpr):
    n = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + 2 * n, tl.load(x + n, mask=n < N), mask=n < N)
    tl.store(o + 2 * n + 2, tl.load(x + n, mask=n < N), mask=n < N - 1)


@triton.jit
def one_of_two_stores_is_short(x, o, N, B: tl.constexpr):
    n = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + 2 * n, tl.load(x + n, mask=n < N), mask=n < N)
    tl.store(o + 2 * n + 1, tl.load(x + n, mask=n < N), mask=n < N - 1)


@triton.jit
def halves_of_a_row(x, o, H, B: tl.constexpr):
    i = tl.program_id(0)
    for c in tl.range(0, H, B):
        n = c + tl.arange(0, B)
        m = n < H
        left = tl.load(x + i * 2 * H + n, mask=m)
        right = tl.load(x + i * 2 * H + H + n, mask=m)
        tl.store(o + i * 2 * H + n, left - right, mask=m)
        tl.store(o + i * 2 * H + H + n, left + right, mask=m)


@triton.jit
def halves_of_a_row_that_overlap(x, o, H, B: tl.constexpr):
    i = tl.program_id(0)
    for c in tl.range(0, H, B):
        n = c + tl.arange(0, B)
        m = n < H
        left = tl.load(x + i * 2 * H + n, mask=m)
        right = tl.load(x + i * 2 * H + H + n, mask=m)
        tl.store(o + i * 2 * H + n, left - right, mask=m)
        tl.store(o + i * 2 * H + H - 1 + n, left + right, mask=m)


@triton.jit
def in_two_branches(x, o, N, F, B: tl.constexpr):
    n = tl.program_id(0) * B + tl.arange(0, B)
    if F > 0:
        tl.store(o + n, tl.load(x + n, mask=n < N), mask=n < N)
    else:
        tl.store(o + n, 2 * tl.load(x + n, mask=n < N), mask=n < N)


@triton.jit
def in_two_branches_that_meet(x, o, N, F, B: tl.constexpr):
    n = tl.program_id(0) * B + tl.arange(0, B)
    if F > 0:
        tl.store(o + n, tl.load(x + n, mask=n < N), mask=n < N)
    if F < 2:
        tl.store(o + n, 2 * tl.load(x + n, mask=n < N), mask=n < N)


@triton.jit
def in_two_branches_with_a_gap(x, o, N, F, B: tl.constexpr):
    n = tl.program_id(0) * B + tl.arange(0, B)
    if F > 0:
        tl.store(o + n, tl.load(x + n, mask=n < N), mask=n < N)
    if F < 0:
        tl.store(o + n, 2 * tl.load(x + n, mask=n < N), mask=n < N)


@triton.jit
def ragged_rows(x, offsets, o, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(offsets + i)
    hi = tl.load(offsets + i + 1)
    for c in tl.range(lo, hi, B):
        n = c + tl.arange(0, B)
        tl.store(o + n, tl.load(x + n, mask=n < hi), mask=n < hi)


@triton.jit
def ragged_tile(x, offsets, o, T, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.minimum(tl.maximum(tl.load(offsets + i), 0), T)
    n = tl.minimum(tl.maximum(tl.minimum(tl.load(offsets + i + 1), T) - lo, 0), B)
    r = tl.arange(0, B)
    tl.store(o + lo + r, tl.load(x + lo + r, mask=r < n), mask=r < n)


@triton.jit
def ragged_tile_and_rest(x, offsets, o, T, R, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.minimum(tl.maximum(tl.load(offsets + i), 0), T)
    n = tl.minimum(tl.maximum(tl.minimum(tl.load(offsets + i + 1), T) - lo, 0), B)
    r = tl.arange(0, B)
    tl.store(o + lo + r, tl.load(x + lo + r, mask=r < n), mask=r < n)
    rest = tl.minimum(tl.maximum(tl.load(offsets + R), 0), T)
    for c in tl.range(tl.where(i == 0, rest, T), T):
        tl.store(o + c, 0.0)


@triton.jit
def ragged_first(x, offsets, o, T):
    i = tl.program_id(0)
    lo = tl.minimum(tl.load(offsets + i), T)
    here = lo < tl.minimum(tl.load(offsets + i + 1), T)
    tl.store(o + lo, tl.load(x + lo, mask=here), mask=here)


@triton.jit
def ragged_rows_one_short(x, offsets, o, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(offsets + i)
    hi = tl.load(offsets + i + 1) - 1
    for c in tl.range(lo, hi, B):
        n = c + tl.arange(0, B)
        tl.store(o + n, tl.load(x + n, mask=n < hi), mask=n < hi)


@triton.jit
def ragged_rows_that_overlap(x, offsets, o, T, B: tl.constexpr):
    i = tl.program_id(0)
    lo = tl.load(offsets + i)
    hi = tl.minimum(tl.load(offsets + i + 1) + 1, T)
    for c in tl.range(lo, hi, B):
        n = c + tl.arange(0, B)
        tl.store(o + n, tl.load(x + n, mask=n < hi), mask=n < hi)


@triton.jit
def stored_to_slots(x, slots, o, N, H: tl.constexpr):
    i = tl.program_id(0)
    h = tl.arange(0, H)
    slot = tl.load(slots + i)
    tl.store(o + slot * H + h, tl.load(x + i * H + h))


@triton.jit
def stored_to_slots_of_others(x, slots, o, N, H: tl.constexpr):
    i = tl.program_id(0)
    h = tl.arange(0, H)
    slot = tl.load(slots + i // 2)
    tl.store(o + slot * H + h, tl.load(x + i * H + h))


# ---------------------------------------------------------------- what the compiler believes


@triton.jit
def true_assumption(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.assume(tl.program_id(0) >= 0)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def false_assumption(x, o, B: tl.constexpr):
    i = tl.program_id(0)
    tl.assume(i < 1)
    tl.store(o + i * B + tl.arange(0, B), tl.load(x + tl.arange(0, B)))


@triton.jit
def row_backwards_said_to_count_up(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + tl.max_contiguous(B - 1 - i, B)))


@triton.jit
def odd_start_said_to_be_even(x, o, N, B: tl.constexpr):
    i = tl.arange(0, B)
    start = tl.multiple_of(tl.program_id(0) * N, 16)
    tl.store(o + start + i, tl.load(x + i, mask=i < N), mask=i < N)


@triton.jit
def assembly_that_computes(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    y = tl.inline_asm_elementwise(
        "add.f32 $0, $1, 0f3F800000;", "=f,f", [tl.load(x + i)], tl.float32, True, 1
    )
    tl.store(o + i, y)


@triton.jit
def assembly_that_ends_the_thread(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    y = tl.inline_asm_elementwise(
        "exit; mov.b32 $0, $1;", "=r,f", [tl.load(x + i)], tl.float32, True, 1
    )
    tl.store(o + i, y)
