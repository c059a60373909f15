# mla_h128_fp8_page1
#
# Latent attention (MLA) of 128 query heads over one FP8 tensor of latents and rotary columns with
# one token per page.
#
# regime  when       kernel
# tiles   Q <= 2     split_k
#     MOST_ROWS=32, BLOCK_N=32, WAVES=1, MIN_CHUNK=256, MAX_SPLITS=64, NUM_WARPS=8, NUM_STAGES=3
# rest    otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from mla_h128_fp8_page1.yaml
# spec 1fb4b3edef16baa4be678c1fb353f1bfe8c1835c090754fc410f19352fbc561a
# templates f8667136905c7f0996712fc8fd918addbd9034b40e9474589618feb809a838ee

import torch
import triton
import triton.language as tl

HK = 1  # latents serve all query heads
G = 128  # query heads
D = 512  # latent columns: those of values and outputs, and the first of keys
DR = 64  # rotary columns behind them
PAGE = 1  # tokens of a page
SM_SCALE_LOG2 = 0.10411754627697266  # softmax scale times log2 e
SMS = 132  # multiprocessors of h200


def ceil_div(a, b):
    """a / b, rounded up."""
    return -(-a // b)


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


def is_aligned(*tensors):
    """Whether every base is a multiple of 16 bytes and every stride but the last of 16 elements."""
    return all(
        tensor.data_ptr() % 16 == 0 and all(stride % 16 == 0 for stride in tensor.stride()[:-1])
        for tensor in tensors
    )


@triton.jit(
    do_not_specialize=[
        "p_block_table",
        "p_seq_lens",
        "p_k_scale",
        "stride_block_table_b",
        "CAP",
        "SPLITS",
    ]
)
def split_kernel(
    p_q,
    p_kv,
    p_block_table,
    p_seq_lens,
    p_k_scale,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_b: tl.int64,
    stride_q_h: tl.int64,
    stride_kv_page: tl.int64,
    stride_block_table_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    ROW_TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    # tiles of one KV head are neighbours, so that what one of them reads the others find in the cache
    i_b, i_s = tl.program_id(0), tl.program_id(2)
    i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = i_s * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q + i_b * stride_q_b + (i_h * G + o_m)[:, None] * stride_q_h + o_d[None, :],
    )
    b_q_r = tl.load(
        p_q + i_b * stride_q_b + (i_h * G + o_m)[:, None] * stride_q_h + D + o_r[None, :],
    )
    # fp16 holds every value of the cache exactly; a power of two per row brings q into its range
    b_top = tl.maximum(
        tl.max(tl.abs(b_q.to(tl.float32)), 1), tl.max(tl.abs(b_q_r.to(tl.float32)), 1)
    )
    b_top = b_top.to(tl.int32, bitcast=True) & 0x7F800000
    b_top = tl.maximum(b_top, 0x00800000).to(tl.float32, bitcast=True)
    b_q = (b_q.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_q_r = (b_q_r.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale))[:, None]

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    o_n = b_lo + tl.arange(0, BLOCK_N)
    b_page = tl.load(p_block_table + i_b * stride_block_table_b + o_n, mask=o_n < b_hi, other=0)
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_kv + b_page[:, None] * stride_kv_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        b_r = tl.load(
            p_kv + b_page[:, None] * stride_kv_page + D + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + o_n + BLOCK_N,
            mask=o_n + BLOCK_N < b_hi,
            other=0,
        )
        m_s = m_n[None, :]
        b_s = tl.dot(b_q, tl.trans(b_c))
        b_s = tl.dot(b_q_r, tl.trans(b_r), b_s)
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.float16), b_c, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # a part without keys stores nothing: the combine reads only those that have some
    if b_lo < b_hi:
        o_p = ((i_b * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
        )
        tl.store(p_partial_max + o_p, b_m)
        tl.store(p_partial_sum + o_p, b_l)


@triton.jit(do_not_specialize=["p_seq_lens", "p_k_scale", "CAP", "SPLITS"])
def combine_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_seq_lens,
    p_k_scale,
    p_out,
    p_lse,
    stride_out_b: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = tl.arange(0, BLOCK_D)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_parts = tl.cdiv(b_len, tl.maximum(b_chunk, BLOCK_N))

    b_m = tl.full((), float("-inf"), tl.float32)
    b_l = tl.zeros((), tl.float32)
    b_acc = tl.zeros((BLOCK_D,), tl.float32)
    for i_s in tl.range(0, b_parts, BLOCK_S):
        o_s = i_s + tl.arange(0, BLOCK_S)
        m_s = o_s < b_parts
        o_p = ((i_b * HK + i_h) * SPLITS + o_s) * ROWS + i_m
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
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0) * tl.load(p_k_scale)
    tl.store(
        p_out + i_b * stride_out_b + (i_h * G + i_m) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + i_h * G + i_m,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
    )


@triton.jit(
    do_not_specialize=[
        "p_block_table",
        "p_seq_lens",
        "p_k_scale",
        "stride_block_table_b",
        "CAP",
        "SPLITS",
    ]
)
def split_verify_kernel(
    p_q,
    p_kv,
    p_block_table,
    p_seq_lens,
    p_k_scale,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_kv_page: tl.int64,
    stride_block_table_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    ROW_TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    # tiles of one KV head are neighbours, so that what one of them reads the others find in the cache
    i_b, i_s = tl.program_id(0), tl.program_id(2)
    i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    o_t = o_m // G
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = i_s * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
    )
    b_q_r = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + D
        + o_r[None, :],
    )
    # fp16 holds every value of the cache exactly; a power of two per row brings q into its range
    b_top = tl.maximum(
        tl.max(tl.abs(b_q.to(tl.float32)), 1), tl.max(tl.abs(b_q_r.to(tl.float32)), 1)
    )
    b_top = b_top.to(tl.int32, bitcast=True) & 0x7F800000
    b_top = tl.maximum(b_top, 0x00800000).to(tl.float32, bitcast=True)
    b_q = (b_q.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_q_r = (b_q_r.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale))[:, None]

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    o_n = b_lo + tl.arange(0, BLOCK_N)
    b_page = tl.load(p_block_table + i_b * stride_block_table_b + o_n, mask=o_n < b_hi, other=0)
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_kv + b_page[:, None] * stride_kv_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        b_r = tl.load(
            p_kv + b_page[:, None] * stride_kv_page + D + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + o_n + BLOCK_N,
            mask=o_n + BLOCK_N < b_hi,
            other=0,
        )
        # row o_t stands at key b_len - Q + o_t and sees no later one
        b_last = b_len - Q + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last)

        b_s = tl.dot(b_q, tl.trans(b_c))
        b_s = tl.dot(b_q_r, tl.trans(b_r), b_s)
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.float16), b_c, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # a part without keys stores nothing: the combine reads only those that have some
    if b_lo < b_hi:
        o_p = ((i_b * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
        )
        tl.store(p_partial_max + o_p, b_m)
        tl.store(p_partial_sum + o_p, b_l)


@triton.jit(do_not_specialize=["p_seq_lens", "p_k_scale", "CAP", "SPLITS"])
def combine_verify_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_seq_lens,
    p_k_scale,
    p_out,
    p_lse,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    stride_lse_t: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = tl.arange(0, BLOCK_D)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_parts = tl.cdiv(b_len, tl.maximum(b_chunk, BLOCK_N))

    b_m = tl.full((), float("-inf"), tl.float32)
    b_l = tl.zeros((), tl.float32)
    b_acc = tl.zeros((BLOCK_D,), tl.float32)
    for i_s in tl.range(0, b_parts, BLOCK_S):
        o_s = i_s + tl.arange(0, BLOCK_S)
        m_s = o_s < b_parts
        o_p = ((i_b * HK + i_h) * SPLITS + o_s) * ROWS + i_m
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
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0) * tl.load(p_k_scale)
    tl.store(
        p_out
        + i_b * stride_out_b
        + (i_m // G) * stride_out_t
        + (i_h * G + i_m % G) * stride_out_h
        + o_d,
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + (i_m // G) * stride_lse_t + i_h * G + i_m % G,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
    )


@triton.jit(
    do_not_specialize=[
        "p_q",
        "p_kv",
        "p_block_table",
        "p_seq_lens",
        "p_k_scale",
        "stride_q_b",
        "stride_q_t",
        "stride_q_h",
        "stride_kv_page",
        "stride_block_table_b",
        "CAP",
        "Q",
    ]
)
def attend_kernel(
    p_q,
    p_kv,
    p_block_table,
    p_seq_lens,
    p_k_scale,
    p_out,
    p_lse,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_kv_page: tl.int64,
    stride_block_table_b: tl.int64,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    stride_lse_t: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    G: tl.constexpr,
    D: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    o_t = o_m // G
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
    )
    b_q_r = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + D
        + o_r[None, :],
    )
    # fp16 holds every value of the cache exactly; a power of two per row brings q into its range
    b_top = tl.maximum(
        tl.max(tl.abs(b_q.to(tl.float32)), 1), tl.max(tl.abs(b_q_r.to(tl.float32)), 1)
    )
    b_top = b_top.to(tl.int32, bitcast=True) & 0x7F800000
    b_top = tl.maximum(b_top, 0x00800000).to(tl.float32, bitcast=True)
    b_q = (b_q.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_q_r = (b_q_r.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale))[:, None]

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    for i_n in tl.range(0, b_len, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_len
        b_page = tl.load(p_block_table + i_b * stride_block_table_b + o_n, mask=m_n, other=0)
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_kv + b_page[:, None] * stride_kv_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        b_r = tl.load(
            p_kv + b_page[:, None] * stride_kv_page + D + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        # row o_t stands at key b_len - Q + o_t and sees no later one
        b_last = b_len - Q + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last)

        b_s = tl.dot(b_q, tl.trans(b_c))
        b_s = tl.dot(b_q_r, tl.trans(b_r), b_s)
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.float16), b_c, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None] * tl.load(p_k_scale)
    tl.store(
        p_out
        + i_b * stride_out_b
        + o_t[:, None] * stride_out_t
        + (i_h * G + o_m % G)[:, None] * stride_out_h
        + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + o_t * stride_lse_t + i_h * G + o_m % G,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
    )


def launch_tiles(q, kv_cache, block_table, seq_lens, k_scale, out, lse, B, CAP):
    """Regime tiles: split_k (tiled, full)."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(64, SMS // (B * HK * 4), ceil_div(CAP, 256)))
    partial_out = torch.empty((B, HK, SPLITS, 128, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((B, HK, SPLITS, 128), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((B, HK, SPLITS, 128), dtype=torch.float32, device=q.device)
    split_kernel[(B, HK * 4, SPLITS)](
        q,
        kv_cache,
        block_table,
        seq_lens,
        k_scale,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(2),
        kv_cache.stride(0),
        block_table.stride(0),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=128,
        ROW_TILES=4,
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=3,
    )
    combine_kernel[(B, HK, 128)](
        partial_out,
        partial_max,
        partial_sum,
        seq_lens,
        k_scale,
        out,
        lse,
        out.stride(0),
        out.stride(2),
        lse.stride(0),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        ROWS=128,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_tiles_verify(q, kv_cache, block_table, seq_lens, k_scale, out, lse, B, CAP):
    """Regime tiles: split_k (verify, tiled, full)."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(64, SMS // (B * HK * 8), ceil_div(CAP, 256)))
    partial_out = torch.empty((B, HK, SPLITS, 256, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((B, HK, SPLITS, 256), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((B, HK, SPLITS, 256), dtype=torch.float32, device=q.device)
    split_verify_kernel[(B, HK * 8, SPLITS)](
        q,
        kv_cache,
        block_table,
        seq_lens,
        k_scale,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        kv_cache.stride(0),
        block_table.stride(0),
        CAP,
        SPLITS,
        Q=2,
        G=G,
        HK=HK,
        D=D,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=256,
        ROW_TILES=8,
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=3,
    )
    combine_verify_kernel[(B, HK, 256)](
        partial_out,
        partial_max,
        partial_sum,
        seq_lens,
        k_scale,
        out,
        lse,
        out.stride(0),
        out.stride(1),
        out.stride(2),
        lse.stride(0),
        lse.stride(1),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        ROWS=256,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_rest(q, kv_cache, block_table, seq_lens, k_scale, out, lse, B, Q, CAP):
    """Regime rest: generic (verify, full)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 16)
    attend_kernel[(B, HK, ROW_TILES)](
        q,
        kv_cache,
        block_table,
        seq_lens,
        k_scale,
        out,
        lse,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        kv_cache.stride(0),
        block_table.stride(0),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        lse.stride(0),
        lse.stride(1),
        CAP,
        Q,
        G=G,
        D=D,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        BLOCK_M=16,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=2,
    )


def warmup():
    """Compiles every kernel that this file can launch, so that no call and no graph capture has to."""
    # fmt: off
    signatures = [
        (split_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.int32, torch.int32,
            torch.float32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 1, 1, 1,),
            dict(G=128, HK=1, D=512, SM_SCALE_LOG2=0.10411754627697266, ROWS=128, ROW_TILES=4,
            BLOCK_M=32, BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 3),
        (combine_kernel, (torch.float32, torch.float32, torch.float32, torch.int32, torch.float32,
            torch.bfloat16, torch.float32, 16, 16, 16, 1, 1,), dict(G=128, HK=1, D=512, ROWS=128,
            BLOCK_N=32, BLOCK_D=512, BLOCK_S=32), 4, 2),
        (split_verify_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.int32, torch.int32,
            torch.float32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 16, 1, 1, 1,),
            dict(Q=2, G=128, HK=1, D=512, SM_SCALE_LOG2=0.10411754627697266, ROWS=256, ROW_TILES=8,
            BLOCK_M=32, BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 3),
        (combine_verify_kernel, (torch.float32, torch.float32, torch.float32, torch.int32,
            torch.float32, torch.bfloat16, torch.float32, 16, 16, 16, 16, 16, 1, 1,), dict(G=128,
            HK=1, D=512, ROWS=256, BLOCK_N=32, BLOCK_D=512, BLOCK_S=32), 4, 2),
        (attend_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.int32, torch.int32,
            torch.float32, torch.bfloat16, torch.float32, 1, 1, 1, 1, 1, 16, 16, 16, 16, 16, 1, 1,),
            dict(G=128, D=512, SM_SCALE_LOG2=0.10411754627697266, BLOCK_M=16, BLOCK_N=32,
            BLOCK_D=512, BLOCK_R=64), 8, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, kv_cache, block_table, seq_lens, k_scale):
    """Attention as the table at the top has it.

    q: [B, Q, HK * G, D + DR] bf16, queries
    kv_cache: [PAGES, PAGE, HK, D + DR] fp8_e4m3, latents, with rotary columns behind each
    block_table: [B, CAP // PAGE] int32, page of each run of PAGE tokens; entries past the live length may be anything
    seq_lens: [B] int32, live tokens
    k_scale: one element fp32, factor of every stored key, and so of every value
    returns out: [B, Q, HK * G, D] bf16, attention
    returns lse: [B, Q, HK * G] fp32, logarithm to base e of the sum of exponentials, -inf for an empty row
    """
    check_tensor("q", q, torch.bfloat16, 4, q.device)
    check_tensor("kv_cache", kv_cache, torch.float8_e4m3fn, 4, q.device)
    check_tensor("block_table", block_table, torch.int32, 2, q.device)
    check_tensor("seq_lens", seq_lens, torch.int32, 1, q.device)
    check_tensor("k_scale", k_scale, torch.float32, 0, q.device)
    B = q.shape[0]
    Q = q.shape[1]
    PAGES = kv_cache.shape[0]
    CAP = block_table.shape[1] * PAGE
    check_shape("q", q, (B, Q, HK * G, D + DR))
    check_shape("kv_cache", kv_cache, (PAGES, PAGE, HK, D + DR))
    check_shape("block_table", block_table, (B, CAP // PAGE))
    check_shape("seq_lens", seq_lens, (B,))
    out = torch.empty((B, Q, HK * G, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((B, Q, HK * G), dtype=torch.float32, device=q.device)
    if out.numel() == 0:
        return out, lse
    check_range("B", B, 1, 2147483647)
    check_range("PAGES", PAGES, 1, 2147483647)
    check_range("CAP", CAP, 1, 1073741824)
    check_range("Q", Q, 1, 4096)
    # where the spec declares its axes; the fallback serves everything else
    declared = 1 <= B <= 128 and Q in (1, 2) and 2 <= PAGES <= 4194304 and 1 <= CAP <= 131072
    aligned = is_aligned(q, kv_cache)
    if declared and aligned and Q <= 2:
        if Q <= 1:
            launch_tiles(q, kv_cache, block_table, seq_lens, k_scale, out, lse, B, CAP)
        else:
            launch_tiles_verify(q, kv_cache, block_table, seq_lens, k_scale, out, lse, B, CAP)
    else:
        launch_rest(q, kv_cache, block_table, seq_lens, k_scale, out, lse, B, Q, CAP)
    return out, lse
