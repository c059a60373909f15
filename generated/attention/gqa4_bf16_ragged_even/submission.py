# gqa4_bf16_ragged_even
#
# Decode and verification in one batch of requests of very different lengths, pages in lists as
# FlashInfer has them.
#
# regime   when       kernel
# divided  B <= 32    even
#     BLOCK_N=64, BLOCK_B=64, WAVES=1, NUM_WARPS=4, NUM_STAGES=3
# rest     otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from gqa4_bf16_ragged_even.yaml
# spec 990b7a4f66174f2bfaa55e5f73daf7cbf0d07e380339959db1c50586ab22973d
# templates ae1afe3d6190274e388152fb399280fcdf69419a743807f345ec67aa8ae47c9e

import torch
import triton
import triton.language as tl

HK = 2  # KV heads on this rank
G = 4  # query heads per KV head
D = 64  # head dimension
PAGE = 16  # tokens of a page
SM_SCALE_LOG2 = 0.18033688011112042  # softmax scale times log2 e
SMS = 132  # multiprocessors of h200


def ceil_div(a, b):
    """a / b, rounded up."""
    return -(-a // b)


def next_pow2(x):
    """The smallest power of two that is at least x."""
    return 1 << max(x - 1, 0).bit_length()


def check_tensor(name, tensor, dtype, rank, device):
    if tensor.dtype != dtype:
        raise TypeError(f"{name} is {tensor.dtype}; this file was made for {dtype}")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, other arguments are on {device}")
    if rank == 0 and tensor.numel() != 1:
        raise ValueError(f"{name} has {tensor.numel()} elements, not one")
    if rank and tensor.dim() != rank:
        raise ValueError(f"{name} has {tensor.dim()} dimensions, not {rank}")
    if rank and tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        raise ValueError(f"{name} has stride {tensor.stride(-1)} in its last dimension, not 1")


def check_shape(name, tensor, shape):
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, not {shape}")


def check_range(name, value, low, high):
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; this file serves {low} to {high}")


def check_integer(name, value, low, high):
    if type(value) is not int:
        raise TypeError(f"{name} is {value!r}, not an integer")
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; this file serves {low} to {high}")


def is_aligned(*tensors):
    """Whether every base is a multiple of 16 bytes and every stride but the last of 16 elements."""
    return all(
        tensor.data_ptr() % 16 == 0 and all(stride % 16 == 0 for stride in tensor.stride()[:-1])
        for tensor in tensors
    )


@triton.jit(do_not_specialize=["p_kv_indptr", "p_kv_last_page_len", "p_cu_q", "B", "MORE", "T"])
def schedule_kernel(
    p_kv_indptr,
    p_kv_last_page_len,
    p_cu_q,
    p_begins,
    B: tl.int32,
    MORE: tl.int32,
    T: tl.int32,
    Q: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_B: tl.constexpr,
):
    # entry o_b is where request o_b begins: behind what the requests up to o_b - 1 have
    o_b = tl.arange(0, BLOCK_B)

    # offsets beyond all tokens, or a request with more of them than it may have, must not lead outside
    b_start = tl.minimum(
        tl.maximum(tl.load(p_cu_q + o_b - 1, mask=(o_b > 0) & (o_b <= B), other=0), 0), T
    )
    b_end = tl.minimum(tl.load(p_cu_q + o_b, mask=(o_b > 0) & (o_b <= B), other=0), T)
    b_tokens = tl.minimum(tl.maximum(b_end - b_start, 0), Q)

    # pages of a request lie one behind the other, and all but the last are full; that one holds at most a page
    b_list = tl.load(p_kv_indptr + o_b - 1, mask=(o_b > 0) & (o_b <= B), other=0)
    b_full = tl.load(p_kv_indptr + o_b, mask=(o_b > 0) & (o_b <= B), other=0) - b_list - 1
    b_held = tl.minimum(
        tl.maximum(tl.load(p_kv_last_page_len + o_b - 1, mask=(o_b > 0) & (o_b <= B), other=0), 0),
        PAGE,
    )
    # without a page there is no last one, whatever its length is said to be
    b_len = tl.maximum(b_full * PAGE + b_held, 0)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    # each request has one piece, and another for each chunk of tiles that it has beyond the first
    b_tiles = tl.cdiv(b_len, BLOCK_N)
    b_chunk = tl.maximum(tl.cdiv(tl.sum(b_tiles, 0), MORE), 1)
    b_more = tl.cumsum(tl.maximum(b_tiles - 1, 0) // b_chunk, 0)
    # that the sum is at most MORE follows from the size of a chunk; the minimum says it without a division
    tl.store(p_begins + o_b, o_b + tl.minimum(b_more, MORE))


@triton.jit(
    do_not_specialize=["p_kv_indptr", "p_kv_indices", "p_kv_last_page_len", "p_cu_q", "B", "T"]
)
def piece_kernel(
    p_q,
    p_k,
    p_v,
    p_kv_indptr,
    p_kv_indices,
    p_kv_last_page_len,
    p_cu_q,
    p_begins,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    B: tl.int32,
    T: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_B: tl.constexpr,
):
    i_p, i_h = tl.program_id(0), tl.program_id(1)

    # the last request that begins here or before; programs behind all pieces find no keys there
    o_b = tl.arange(0, BLOCK_B)
    b_begun = (tl.load(p_begins + o_b) <= i_p) & (o_b < B)
    i_b = tl.sum(b_begun.to(tl.int32), 0) - 1
    # pieces of a request lie side by side, up to those of the next one
    b_begin = tl.load(p_begins + i_b)
    b_pieces = tl.load(p_begins + i_b + 1) - b_begin

    # offsets beyond all tokens, or a request with more of them than it may have, must not lead outside
    b_start = tl.minimum(tl.maximum(tl.load(p_cu_q + i_b), 0), T)
    b_end = tl.minimum(tl.load(p_cu_q + i_b + 1), T)
    b_tokens = tl.minimum(tl.maximum(b_end - b_start, 0), Q)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = tl.arange(0, BLOCK_M)
    m_m = o_m < b_tokens * G
    o_d = tl.arange(0, BLOCK_D)

    # pages of a request lie one behind the other, and all but the last are full; that one holds at most a page
    b_list = tl.load(p_kv_indptr + i_b)
    b_full = tl.load(p_kv_indptr + i_b + 1) - b_list - 1
    b_held = tl.minimum(tl.maximum(tl.load(p_kv_last_page_len + i_b), 0), PAGE)
    # without a page there is no last one, whatever its length is said to be
    b_len = tl.maximum(b_full * PAGE + b_held, 0)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, b_pieces), BLOCK_N) * BLOCK_N
    b_lo = (i_p - b_begin) * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q + b_start * stride_q_t + (i_h * G + o_m)[:, None] * stride_q_h + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    o_n = b_lo + tl.arange(0, BLOCK_N)
    b_page = tl.load(p_kv_indices + b_list + o_n // PAGE, mask=o_n < b_hi, other=0)
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        b_k = tl.load(
            p_k
            + b_page[:, None] * stride_k_page
            + (o_n % PAGE)[:, None] * stride_k_slot
            + i_h * stride_k_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_v = tl.load(
            p_v
            + b_page[:, None] * stride_v_page
            + (o_n % PAGE)[:, None] * stride_v_slot
            + i_h * stride_v_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_page = tl.load(
            p_kv_indices + b_list + (o_n + BLOCK_N) // PAGE, mask=o_n + BLOCK_N < b_hi, other=0
        )
        m_s = m_n[None, :]
        b_s = tl.dot(b_q, tl.trans(b_k))
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.bfloat16), b_v, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # a part without keys stores nothing: the combine reads only those that have some
    if b_lo < b_hi:
        o_p = (i_p * HK + i_h) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
            mask=m_m[:, None],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(
    do_not_specialize=["p_kv_indptr", "p_kv_last_page_len", "p_cu_q", "stride_lse_t", "T", "B"]
)
def combine_kernel(
    p_begins,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_kv_indptr,
    p_kv_last_page_len,
    p_cu_q,
    p_out,
    p_lse,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_t: tl.int64,
    T: tl.int32,
    B: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = tl.arange(0, BLOCK_D)

    # offsets beyond all tokens, or a request with more of them than it may have, must not lead outside
    b_start = tl.minimum(tl.maximum(tl.load(p_cu_q + i_b), 0), T)
    b_end = tl.minimum(tl.load(p_cu_q + i_b + 1), T)
    b_tokens = tl.minimum(tl.maximum(b_end - b_start, 0), Q)
    m_m = i_m < b_tokens * G
    # pieces of a request lie side by side, up to those of the next one
    b_begin = tl.load(p_begins + i_b)
    b_pieces = tl.load(p_begins + i_b + 1) - b_begin

    # pages of a request lie one behind the other, and all but the last are full; that one holds at most a page
    b_list = tl.load(p_kv_indptr + i_b)
    b_full = tl.load(p_kv_indptr + i_b + 1) - b_list - 1
    b_held = tl.minimum(tl.maximum(tl.load(p_kv_last_page_len + i_b), 0), PAGE)
    # without a page there is no last one, whatever its length is said to be
    b_len = tl.maximum(b_full * PAGE + b_held, 0)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, b_pieces), BLOCK_N) * BLOCK_N
    b_parts = tl.cdiv(b_len, tl.maximum(b_chunk, BLOCK_N))

    b_m = tl.full((), float("-inf"), tl.float32)
    b_l = tl.zeros((), tl.float32)
    b_acc = tl.zeros((BLOCK_D,), tl.float32)
    for i_s in tl.range(0, b_parts, BLOCK_S):
        o_s = i_s + tl.arange(0, BLOCK_S)
        m_s = (o_s < b_parts) & m_m
        o_p = ((b_begin + o_s) * HK + i_h) * ROWS + i_m
        b_part_max = tl.load(p_partial_max + o_p, mask=m_s, other=float("-inf"))
        b_part_sum = tl.load(p_partial_sum + o_p, mask=m_s, other=0.0)
        b_part = tl.load(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            mask=m_s[:, None],
            other=0.0,
        )
        b_m_new = tl.maximum(b_m, tl.max(b_part_max, 0))
        # a row may see no key of these parts: any finite maximum keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_w = tl.exp2(b_part_max - b_ref)
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_w * b_part_sum, 0)
        b_acc = b_acc * b_alpha + tl.sum(b_w[:, None] * b_part, 0)
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)
    tl.store(
        p_out + b_start * stride_out_t + (i_h * G + i_m) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
        mask=m_m,
    )
    tl.store(
        p_lse + b_start * stride_lse_t + i_h * G + i_m,
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
        mask=m_m,
    )

    # tokens behind those of the last request are nobody's
    b_rest = tl.minimum(tl.maximum(tl.load(p_cu_q + B), 0), T)
    for i_t in tl.range(tl.where(i_b == 0, b_rest, T), T):
        tl.store(
            p_out + i_t * stride_out_t + (i_h * G + i_m) * stride_out_h + o_d,
            tl.zeros((BLOCK_D,), p_out.dtype.element_ty),
            mask=i_m < G,
        )
        tl.store(
            p_lse + i_t * stride_lse_t + i_h * G + i_m,
            float("-inf"),
            mask=i_m < G,
        )


@triton.jit(
    do_not_specialize=["p_kv_indptr", "p_kv_indices", "p_kv_last_page_len", "p_cu_q", "B", "T"]
)
def piece_verify_full_kernel(
    p_q,
    p_k,
    p_v,
    p_kv_indptr,
    p_kv_indices,
    p_kv_last_page_len,
    p_cu_q,
    p_begins,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    B: tl.int32,
    T: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_B: tl.constexpr,
):
    i_p, i_h = tl.program_id(0), tl.program_id(1)

    # the last request that begins here or before; programs behind all pieces find no keys there
    o_b = tl.arange(0, BLOCK_B)
    b_begun = (tl.load(p_begins + o_b) <= i_p) & (o_b < B)
    i_b = tl.sum(b_begun.to(tl.int32), 0) - 1
    # pieces of a request lie side by side, up to those of the next one
    b_begin = tl.load(p_begins + i_b)
    b_pieces = tl.load(p_begins + i_b + 1) - b_begin

    # offsets beyond all tokens, or a request with more of them than it may have, must not lead outside
    b_start = tl.minimum(tl.maximum(tl.load(p_cu_q + i_b), 0), T)
    b_end = tl.minimum(tl.load(p_cu_q + i_b + 1), T)
    b_tokens = tl.minimum(tl.maximum(b_end - b_start, 0), Q)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = tl.arange(0, BLOCK_M)
    m_m = o_m < b_tokens * G
    o_t = o_m // G
    o_d = tl.arange(0, BLOCK_D)

    # pages of a request lie one behind the other, and all but the last are full; that one holds at most a page
    b_list = tl.load(p_kv_indptr + i_b)
    b_full = tl.load(p_kv_indptr + i_b + 1) - b_list - 1
    b_held = tl.minimum(tl.maximum(tl.load(p_kv_last_page_len + i_b), 0), PAGE)
    # without a page there is no last one, whatever its length is said to be
    b_len = tl.maximum(b_full * PAGE + b_held, 0)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, b_pieces), BLOCK_N) * BLOCK_N
    b_lo = (i_p - b_begin) * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q
        + (b_start + o_t)[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    o_n = b_lo + tl.arange(0, BLOCK_N)
    b_page = tl.load(p_kv_indices + b_list + o_n // PAGE, mask=o_n < b_hi, other=0)
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        b_k = tl.load(
            p_k
            + b_page[:, None] * stride_k_page
            + (o_n % PAGE)[:, None] * stride_k_slot
            + i_h * stride_k_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_v = tl.load(
            p_v
            + b_page[:, None] * stride_v_page
            + (o_n % PAGE)[:, None] * stride_v_slot
            + i_h * stride_v_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_page = tl.load(
            p_kv_indices + b_list + (o_n + BLOCK_N) // PAGE, mask=o_n + BLOCK_N < b_hi, other=0
        )
        # row o_t stands at key b_len - b_tokens + o_t and sees no later one
        b_last = b_len - b_tokens + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last)

        b_s = tl.dot(b_q, tl.trans(b_k))
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.bfloat16), b_v, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # a part without keys stores nothing: the combine reads only those that have some
    if b_lo < b_hi:
        o_p = (i_p * HK + i_h) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
            mask=m_m[:, None],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(
    do_not_specialize=["p_kv_indptr", "p_kv_last_page_len", "p_cu_q", "stride_lse_t", "T", "B"]
)
def combine_verify_full_kernel(
    p_begins,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_kv_indptr,
    p_kv_last_page_len,
    p_cu_q,
    p_out,
    p_lse,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_t: tl.int64,
    T: tl.int32,
    B: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = tl.arange(0, BLOCK_D)

    # offsets beyond all tokens, or a request with more of them than it may have, must not lead outside
    b_start = tl.minimum(tl.maximum(tl.load(p_cu_q + i_b), 0), T)
    b_end = tl.minimum(tl.load(p_cu_q + i_b + 1), T)
    b_tokens = tl.minimum(tl.maximum(b_end - b_start, 0), Q)
    m_m = i_m < b_tokens * G
    # pieces of a request lie side by side, up to those of the next one
    b_begin = tl.load(p_begins + i_b)
    b_pieces = tl.load(p_begins + i_b + 1) - b_begin

    # pages of a request lie one behind the other, and all but the last are full; that one holds at most a page
    b_list = tl.load(p_kv_indptr + i_b)
    b_full = tl.load(p_kv_indptr + i_b + 1) - b_list - 1
    b_held = tl.minimum(tl.maximum(tl.load(p_kv_last_page_len + i_b), 0), PAGE)
    # without a page there is no last one, whatever its length is said to be
    b_len = tl.maximum(b_full * PAGE + b_held, 0)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, b_pieces), BLOCK_N) * BLOCK_N
    b_parts = tl.cdiv(b_len, tl.maximum(b_chunk, BLOCK_N))

    b_m = tl.full((), float("-inf"), tl.float32)
    b_l = tl.zeros((), tl.float32)
    b_acc = tl.zeros((BLOCK_D,), tl.float32)
    for i_s in tl.range(0, b_parts, BLOCK_S):
        o_s = i_s + tl.arange(0, BLOCK_S)
        m_s = (o_s < b_parts) & m_m
        o_p = ((b_begin + o_s) * HK + i_h) * ROWS + i_m
        b_part_max = tl.load(p_partial_max + o_p, mask=m_s, other=float("-inf"))
        b_part_sum = tl.load(p_partial_sum + o_p, mask=m_s, other=0.0)
        b_part = tl.load(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            mask=m_s[:, None],
            other=0.0,
        )
        b_m_new = tl.maximum(b_m, tl.max(b_part_max, 0))
        # a row may see no key of these parts: any finite maximum keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_w = tl.exp2(b_part_max - b_ref)
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_w * b_part_sum, 0)
        b_acc = b_acc * b_alpha + tl.sum(b_w[:, None] * b_part, 0)
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)
    tl.store(
        p_out + (b_start + i_m // G) * stride_out_t + (i_h * G + i_m % G) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
        mask=m_m,
    )
    tl.store(
        p_lse + (b_start + i_m // G) * stride_lse_t + i_h * G + i_m % G,
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
        mask=m_m,
    )

    # tokens behind those of the last request are nobody's
    b_rest = tl.minimum(tl.maximum(tl.load(p_cu_q + B), 0), T)
    for i_t in tl.range(tl.where(i_b == 0, b_rest, T), T):
        tl.store(
            p_out + i_t * stride_out_t + (i_h * G + i_m) * stride_out_h + o_d,
            tl.zeros((BLOCK_D,), p_out.dtype.element_ty),
            mask=i_m < G,
        )
        tl.store(
            p_lse + i_t * stride_lse_t + i_h * G + i_m,
            float("-inf"),
            mask=i_m < G,
        )


@triton.jit(
    do_not_specialize=[
        "p_q",
        "p_k",
        "p_v",
        "p_kv_indptr",
        "p_kv_indices",
        "p_kv_last_page_len",
        "p_cu_q",
        "stride_q_t",
        "stride_q_h",
        "stride_k_page",
        "stride_k_slot",
        "stride_k_h",
        "stride_v_page",
        "stride_v_slot",
        "stride_v_h",
        "stride_lse_t",
        "Q",
        "T",
        "B",
    ]
)
def attend_kernel(
    p_q,
    p_k,
    p_v,
    p_kv_indptr,
    p_kv_indices,
    p_kv_last_page_len,
    p_cu_q,
    p_out,
    p_lse,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_t: tl.int64,
    Q: tl.int32,
    T: tl.int32,
    B: tl.int32,
    G: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # offsets beyond all tokens, or a request with more of them than it may have, must not lead outside
    b_start = tl.minimum(tl.maximum(tl.load(p_cu_q + i_b), 0), T)
    b_end = tl.minimum(tl.load(p_cu_q + i_b + 1), T)
    b_tokens = tl.minimum(tl.maximum(b_end - b_start, 0), Q)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    m_m = o_m < b_tokens * G
    o_t = o_m // G
    o_d = tl.arange(0, BLOCK_D)

    # pages of a request lie one behind the other, and all but the last are full; that one holds at most a page
    b_list = tl.load(p_kv_indptr + i_b)
    b_full = tl.load(p_kv_indptr + i_b + 1) - b_list - 1
    b_held = tl.minimum(tl.maximum(tl.load(p_kv_last_page_len + i_b), 0), PAGE)
    # without a page there is no last one, whatever its length is said to be
    b_len = tl.maximum(b_full * PAGE + b_held, 0)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    b_q = tl.load(
        p_q
        + (b_start + o_t)[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    for i_n in tl.range(0, b_len, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_len
        b_page = tl.load(p_kv_indices + b_list + o_n // PAGE, mask=m_n, other=0)
        b_k = tl.load(
            p_k
            + b_page[:, None] * stride_k_page
            + (o_n % PAGE)[:, None] * stride_k_slot
            + i_h * stride_k_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_v = tl.load(
            p_v
            + b_page[:, None] * stride_v_page
            + (o_n % PAGE)[:, None] * stride_v_slot
            + i_h * stride_v_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # row o_t stands at key b_len - b_tokens + o_t and sees no later one
        b_last = b_len - b_tokens + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last)

        b_s = tl.dot(b_q, tl.trans(b_k))
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.bfloat16), b_v, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None]
    tl.store(
        p_out
        + (b_start + o_t)[:, None] * stride_out_t
        + (i_h * G + o_m % G)[:, None] * stride_out_h
        + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
        mask=m_m[:, None],
    )
    tl.store(
        p_lse + (b_start + o_t) * stride_lse_t + i_h * G + o_m % G,
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
        mask=m_m,
    )

    # tokens behind those of the last request are nobody's
    b_rest = tl.minimum(tl.maximum(tl.load(p_cu_q + B), 0), T)
    for i_t in tl.range(tl.where(i_b == 0, b_rest, T), T):
        tl.store(
            p_out + i_t * stride_out_t + (i_h * G + o_m)[:, None] * stride_out_h + o_d[None, :],
            tl.zeros((BLOCK_M, BLOCK_D), p_out.dtype.element_ty),
            mask=(o_m < G)[:, None],
        )
        tl.store(
            p_lse + i_t * stride_lse_t + i_h * G + o_m,
            tl.full((BLOCK_M,), float("-inf"), tl.float32),
            mask=o_m < G,
        )


def launch_divided(
    q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, out, lse, B, T
):
    """Regime divided: even (ragged)."""
    # pieces beyond one for each request, so many that all programs fill the waves
    MORE = max(1, SMS // HK - B)
    # most pieces of all requests, from the batch and never from the live lengths
    PIECES = B + MORE
    begins = torch.empty((64,), dtype=torch.int32, device=q.device)
    partial_out = torch.empty((PIECES, HK, 4, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((PIECES, HK, 4), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((PIECES, HK, 4), dtype=torch.float32, device=q.device)
    schedule_kernel[(1,)](
        kv_indptr,
        kv_last_page_len,
        cu_q,
        begins,
        B,
        MORE,
        T,
        Q=1,
        PAGE=PAGE,
        BLOCK_N=64,
        BLOCK_B=64,
        num_warps=1,
        num_stages=1,
    )
    piece_kernel[(PIECES, HK)](
        q,
        k_cache,
        v_cache,
        kv_indptr,
        kv_indices,
        kv_last_page_len,
        cu_q,
        begins,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(1),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        B,
        T,
        Q=1,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=4,
        BLOCK_M=16,
        BLOCK_N=64,
        BLOCK_D=64,
        BLOCK_B=64,
        num_warps=4,
        num_stages=3,
    )
    combine_kernel[(B, HK, 4)](
        begins,
        partial_out,
        partial_max,
        partial_sum,
        kv_indptr,
        kv_last_page_len,
        cu_q,
        out,
        lse,
        out.stride(0),
        out.stride(1),
        lse.stride(0),
        T,
        B,
        Q=1,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        ROWS=4,
        BLOCK_N=64,
        BLOCK_D=64,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_divided_verify_full(
    q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, out, lse, B, T
):
    """Regime divided: even (verify, ragged, full)."""
    # pieces beyond one for each request, so many that all programs fill the waves
    MORE = max(1, SMS // HK - B)
    # most pieces of all requests, from the batch and never from the live lengths
    PIECES = B + MORE
    begins = torch.empty((64,), dtype=torch.int32, device=q.device)
    partial_out = torch.empty((PIECES, HK, 32, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((PIECES, HK, 32), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((PIECES, HK, 32), dtype=torch.float32, device=q.device)
    schedule_kernel[(1,)](
        kv_indptr,
        kv_last_page_len,
        cu_q,
        begins,
        B,
        MORE,
        T,
        Q=8,
        PAGE=PAGE,
        BLOCK_N=64,
        BLOCK_B=64,
        num_warps=1,
        num_stages=1,
    )
    piece_verify_full_kernel[(PIECES, HK)](
        q,
        k_cache,
        v_cache,
        kv_indptr,
        kv_indices,
        kv_last_page_len,
        cu_q,
        begins,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(1),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        B,
        T,
        Q=8,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=32,
        BLOCK_M=32,
        BLOCK_N=64,
        BLOCK_D=64,
        BLOCK_B=64,
        num_warps=4,
        num_stages=3,
    )
    combine_verify_full_kernel[(B, HK, 32)](
        begins,
        partial_out,
        partial_max,
        partial_sum,
        kv_indptr,
        kv_last_page_len,
        cu_q,
        out,
        lse,
        out.stride(0),
        out.stride(1),
        lse.stride(0),
        T,
        B,
        Q=8,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        ROWS=32,
        BLOCK_N=64,
        BLOCK_D=64,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_rest(
    q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, out, lse, B, T, Q
):
    """Regime rest: generic (verify, ragged)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 16)
    attend_kernel[(B, HK, ROW_TILES)](
        q,
        k_cache,
        v_cache,
        kv_indptr,
        kv_indices,
        kv_last_page_len,
        cu_q,
        out,
        lse,
        q.stride(0),
        q.stride(1),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        out.stride(0),
        out.stride(1),
        lse.stride(0),
        Q,
        T,
        B,
        G=G,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        BLOCK_M=16,
        BLOCK_N=32,
        BLOCK_D=64,
        num_warps=4,
        num_stages=2,
    )


def warmup():
    """Compiles every kernel that this file can launch, so that no call and no graph capture has to."""
    # fmt: off
    signatures = [
        (schedule_kernel, (torch.int32, torch.int32, torch.int32, torch.int32, 1, 1, 1,), dict(Q=1,
            PAGE=16, BLOCK_N=64, BLOCK_B=64), 1, 1),
        (piece_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.int32, torch.int32, torch.int32, torch.float32, torch.float32, torch.float32, 16,
            16, 16, 16, 16, 16, 16, 16, 1, 1,), dict(Q=1, G=4, HK=2, D=64, PAGE=16,
            SM_SCALE_LOG2=0.18033688011112042, ROWS=4, BLOCK_M=16, BLOCK_N=64, BLOCK_D=64,
            BLOCK_B=64), 4, 3),
        (combine_kernel, (torch.int32, torch.float32, torch.float32, torch.float32, torch.int32,
            torch.int32, torch.int32, torch.bfloat16, torch.float32, 16, 16, 1, 1, 1,), dict(Q=1,
            G=4, HK=2, D=64, PAGE=16, ROWS=4, BLOCK_N=64, BLOCK_D=64, BLOCK_S=32), 4, 2),
        (schedule_kernel, (torch.int32, torch.int32, torch.int32, torch.int32, 1, 1, 1,), dict(Q=8,
            PAGE=16, BLOCK_N=64, BLOCK_B=64), 1, 1),
        (piece_verify_full_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32,
            torch.int32, torch.int32, torch.int32, torch.int32, torch.float32, torch.float32,
            torch.float32, 16, 16, 16, 16, 16, 16, 16, 16, 1, 1,), dict(Q=8, G=4, HK=2, D=64,
            PAGE=16, SM_SCALE_LOG2=0.18033688011112042, ROWS=32, BLOCK_M=32, BLOCK_N=64, BLOCK_D=64,
            BLOCK_B=64), 4, 3),
        (combine_verify_full_kernel, (torch.int32, torch.float32, torch.float32, torch.float32,
            torch.int32, torch.int32, torch.int32, torch.bfloat16, torch.float32, 16, 16, 1, 1, 1,),
            dict(Q=8, G=4, HK=2, D=64, PAGE=16, ROWS=32, BLOCK_N=64, BLOCK_D=64, BLOCK_S=32), 4, 2),
        (attend_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.int32, torch.int32, torch.bfloat16, torch.float32, 1, 1, 1, 1, 1, 1, 1, 1, 16, 16,
            1, 1, 1, 1,), dict(G=4, PAGE=16, SM_SCALE_LOG2=0.18033688011112042, BLOCK_M=16,
            BLOCK_N=32, BLOCK_D=64), 4, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, max_q):
    """Attention as the table at the top has it.

    q: [T, HK * G, D] bf16, queries
    k_cache: [PAGES, PAGE, HK, D] bf16, keys
    v_cache: [PAGES, PAGE, HK, D] bf16, values
    kv_indptr: [B + 1] int32, where the pages of each request begin and those before end
    kv_indices: [CAP // PAGE] int32, pages of all requests; those of no request may be anything
    kv_last_page_len: [B] int32, live tokens in the last page of each request
    cu_q: [B + 1] int32, first query token of each request, and T; none is less than the one before it
    max_q: most query tokens of a request, known when launching; None where there is none
    returns out: [T, HK * G, D] bf16, attention
    returns lse: [T, HK * G] fp32, logarithm to base 2 of the sum of exponentials, -inf for an empty row
    """
    check_tensor("q", q, torch.bfloat16, 3, q.device)
    check_tensor("k_cache", k_cache, torch.bfloat16, 4, q.device)
    check_tensor("v_cache", v_cache, torch.bfloat16, 4, q.device)
    check_tensor("kv_indptr", kv_indptr, torch.int32, 1, q.device)
    check_tensor("kv_indices", kv_indices, torch.int32, 1, q.device)
    check_tensor("kv_last_page_len", kv_last_page_len, torch.int32, 1, q.device)
    check_tensor("cu_q", cu_q, torch.int32, 1, q.device)
    B = kv_last_page_len.shape[0]
    T = q.shape[0]
    Q = max_q
    PAGES = k_cache.shape[0]
    CAP = kv_indices.shape[0] * PAGE
    check_shape("q", q, (T, HK * G, D))
    check_shape("k_cache", k_cache, (PAGES, PAGE, HK, D))
    check_shape("v_cache", v_cache, (PAGES, PAGE, HK, D))
    check_shape("kv_indptr", kv_indptr, (B + 1,))
    check_shape("kv_indices", kv_indices, (CAP // PAGE,))
    check_shape("kv_last_page_len", kv_last_page_len, (B,))
    check_shape("cu_q", cu_q, (B + 1,))
    out = torch.empty((T, HK * G, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((T, HK * G), dtype=torch.float32, device=q.device)
    if out.numel() == 0:
        return out, lse
    check_range("B", B, 1, 2147483647)
    check_range("T", T, 1, 1073741824)
    check_range("PAGES", PAGES, 1, 2147483647)
    check_range("CAP", CAP, 1, 1073741824)
    check_integer("Q", Q, 1, 4096)
    # where the spec declares its axes; the fallback serves everything else
    declared = (
        1 <= B <= 64
        and 1 <= T <= 512
        and Q in (1, 8)
        and 1 <= PAGES <= 262144
        and 1 <= CAP <= 1048576
    )
    aligned = is_aligned(q, k_cache, v_cache)
    if declared and aligned and B <= 32:
        if Q <= 1 and Q * G % min(64, max(16, next_pow2(Q * G))) != 0:
            launch_divided(
                q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, out, lse, B, T
            )
        else:
            launch_divided_verify_full(
                q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, out, lse, B, T
            )
    else:
        launch_rest(
            q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, cu_q, out, lse, B, T, Q
        )
    return out, lse
