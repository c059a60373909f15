# mla_sparse_h16_fp8
#
# Sparse latent attention (MLA) of sixteen query heads over FP8 latents with one token per page.
#
# regime  when       kernel
# decode  Q <= 4     split_k
#     BLOCK_N=32, WAVES=2, MIN_CHUNK=128, MAX_SPLITS=32, NUM_WARPS=8, NUM_STAGES=3
# rest    otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from mla_sparse_h16_fp8.yaml
# spec 3166f7267c4056177a48ac0cd575786a5524232e4e0ca4b674a83bc7a5023de3
# templates f8667136905c7f0996712fc8fd918addbd9034b40e9474589618feb809a838ee

import torch
import triton
import triton.language as tl

HK = 1  # latents serve all query heads
G = 16  # query heads
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
        "p_indices",
        "p_valid_topk",
        "p_k_scale",
        "stride_indices_b",
        "stride_valid_topk_b",
        "CAP",
        "SPLITS",
        "PAGES",
    ]
)
def split_kernel(
    p_q,
    p_kv,
    p_indices,
    p_valid_topk,
    p_k_scale,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_b: tl.int64,
    stride_q_h: tl.int64,
    stride_kv_page: tl.int64,
    stride_indices_b: tl.int64,
    stride_valid_topk_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    PAGES: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_b, i_h, i_s = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a head: one tile of keys serves all heads of a query token
    o_m = tl.arange(0, BLOCK_M)
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a count beyond the indices or below 0 must not lead outside of them
    b_len = tl.minimum(tl.maximum(tl.load(p_valid_topk + i_b * stride_valid_topk_b), 0), CAP)

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
    b_token = tl.load(p_indices + i_b * stride_indices_b + o_n, mask=o_n < b_hi, other=-1)
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        # what is no token of the cache, and what lies behind the last entry, is skipped
        m_n = (b_token >= 0) & (b_token < PAGES)
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_kv + b_token[:, None] * stride_kv_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        b_r = tl.load(
            p_kv + b_token[:, None] * stride_kv_page + D + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_token = tl.load(
            p_indices + i_b * stride_indices_b + o_n + BLOCK_N, mask=o_n + BLOCK_N < b_hi, other=-1
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


@triton.jit(do_not_specialize=["p_valid_topk", "p_k_scale", "stride_valid_topk_b", "CAP", "SPLITS"])
def combine_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_valid_topk,
    p_k_scale,
    p_out,
    p_lse,
    stride_valid_topk_b: tl.int64,
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

    # a count beyond the indices or below 0 must not lead outside of them
    b_len = tl.minimum(tl.maximum(tl.load(p_valid_topk + i_b * stride_valid_topk_b), 0), CAP)

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
        "p_indices",
        "p_valid_topk",
        "p_k_scale",
        "stride_indices_b",
        "stride_indices_t",
        "stride_valid_topk_b",
        "CAP",
        "SPLITS",
        "PAGES",
    ]
)
def split_verify_kernel(
    p_q,
    p_kv,
    p_indices,
    p_valid_topk,
    p_k_scale,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_kv_page: tl.int64,
    stride_indices_b: tl.int64,
    stride_indices_t: tl.int64,
    stride_valid_topk_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    PAGES: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_q, i_h, i_s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    # each query token has keys of its own, as a request has elsewhere
    i_b, i_t = i_q // Q, i_q % Q

    # a row is a head: one tile of keys serves all heads of a query token
    o_m = tl.arange(0, BLOCK_M)
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a count beyond the indices or below 0 must not lead outside of them
    b_len = tl.minimum(tl.maximum(tl.load(p_valid_topk + i_b * stride_valid_topk_b + i_t), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = i_s * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + i_t * stride_q_t
        + (i_h * G + o_m)[:, None] * stride_q_h
        + o_d[None, :],
    )
    b_q_r = tl.load(
        p_q
        + i_b * stride_q_b
        + i_t * stride_q_t
        + (i_h * G + o_m)[:, None] * stride_q_h
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
    b_token = tl.load(
        p_indices + i_b * stride_indices_b + i_t * stride_indices_t + o_n, mask=o_n < b_hi, other=-1
    )
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        # what is no token of the cache, and what lies behind the last entry, is skipped
        m_n = (b_token >= 0) & (b_token < PAGES)
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_kv + b_token[:, None] * stride_kv_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        b_r = tl.load(
            p_kv + b_token[:, None] * stride_kv_page + D + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_token = tl.load(
            p_indices + i_b * stride_indices_b + i_t * stride_indices_t + o_n + BLOCK_N,
            mask=o_n + BLOCK_N < b_hi,
            other=-1,
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
        o_p = ((i_q * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
        )
        tl.store(p_partial_max + o_p, b_m)
        tl.store(p_partial_sum + o_p, b_l)


@triton.jit(do_not_specialize=["p_valid_topk", "p_k_scale", "stride_valid_topk_b", "CAP", "SPLITS"])
def combine_verify_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_valid_topk,
    p_k_scale,
    p_out,
    p_lse,
    stride_valid_topk_b: tl.int64,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    stride_lse_t: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_q, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    # each query token has keys of its own, as a request has elsewhere
    i_b, i_t = i_q // Q, i_q % Q
    o_d = tl.arange(0, BLOCK_D)

    # a count beyond the indices or below 0 must not lead outside of them
    b_len = tl.minimum(tl.maximum(tl.load(p_valid_topk + i_b * stride_valid_topk_b + i_t), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_parts = tl.cdiv(b_len, tl.maximum(b_chunk, BLOCK_N))

    b_m = tl.full((), float("-inf"), tl.float32)
    b_l = tl.zeros((), tl.float32)
    b_acc = tl.zeros((BLOCK_D,), tl.float32)
    for i_s in tl.range(0, b_parts, BLOCK_S):
        o_s = i_s + tl.arange(0, BLOCK_S)
        m_s = o_s < b_parts
        o_p = ((i_q * HK + i_h) * SPLITS + o_s) * ROWS + i_m
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
        p_out + i_b * stride_out_b + i_t * stride_out_t + (i_h * G + i_m) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + i_t * stride_lse_t + i_h * G + i_m,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
    )


@triton.jit(
    do_not_specialize=[
        "p_q",
        "p_kv",
        "p_indices",
        "p_valid_topk",
        "p_k_scale",
        "stride_q_b",
        "stride_q_t",
        "stride_q_h",
        "stride_kv_page",
        "stride_indices_b",
        "stride_indices_t",
        "stride_valid_topk_b",
        "CAP",
        "PAGES",
    ]
)
def attend_kernel(
    p_q,
    p_kv,
    p_indices,
    p_valid_topk,
    p_k_scale,
    p_out,
    p_lse,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_kv_page: tl.int64,
    stride_indices_b: tl.int64,
    stride_indices_t: tl.int64,
    stride_valid_topk_b: tl.int64,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    stride_lse_t: tl.int64,
    CAP: tl.int32,
    PAGES: tl.int32,
    G: tl.constexpr,
    D: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    HEAD_TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    # each query token has keys of its own, so that a tile of rows is of one
    i_t, i_m = i_m // HEAD_TILES, i_m % HEAD_TILES

    # a row is a head: one tile of keys serves all heads of a query token
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a count beyond the indices or below 0 must not lead outside of them
    b_len = tl.minimum(tl.maximum(tl.load(p_valid_topk + i_b * stride_valid_topk_b + i_t), 0), CAP)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + i_t * stride_q_t
        + (i_h * G + o_m)[:, None] * stride_q_h
        + o_d[None, :],
    )
    b_q_r = tl.load(
        p_q
        + i_b * stride_q_b
        + i_t * stride_q_t
        + (i_h * G + o_m)[:, None] * stride_q_h
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
        b_token = tl.load(
            p_indices + i_b * stride_indices_b + i_t * stride_indices_t + o_n,
            mask=o_n < b_len,
            other=-1,
        )
        # what is no token of the cache, and what lies behind the last entry, is skipped
        m_n = (b_token >= 0) & (b_token < PAGES)
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_kv + b_token[:, None] * stride_kv_page + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
        b_r = tl.load(
            p_kv + b_token[:, None] * stride_kv_page + D + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float16)
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

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None] * tl.load(p_k_scale)
    tl.store(
        p_out
        + i_b * stride_out_b
        + i_t * stride_out_t
        + (i_h * G + o_m)[:, None] * stride_out_h
        + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + i_t * stride_lse_t + i_h * G + o_m,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
    )


def launch_decode(q, kv_cache, indices, valid_topk, k_scale, out, lse, B, PAGES, CAP):
    """Regime decode: split_k (full)."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(32, 2 * SMS // (B * HK), ceil_div(CAP, 128)))
    partial_out = torch.empty((B, HK, SPLITS, G, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((B, HK, SPLITS, G), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((B, HK, SPLITS, G), dtype=torch.float32, device=q.device)
    split_kernel[(B, HK, SPLITS)](
        q,
        kv_cache,
        indices,
        valid_topk,
        k_scale,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(2),
        kv_cache.stride(0),
        indices.stride(0),
        valid_topk.stride(0),
        CAP,
        SPLITS,
        PAGES,
        G=G,
        HK=HK,
        D=D,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=G,
        BLOCK_M=16,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=3,
    )
    combine_kernel[(B, HK, G)](
        partial_out,
        partial_max,
        partial_sum,
        valid_topk,
        k_scale,
        out,
        lse,
        valid_topk.stride(0),
        out.stride(0),
        out.stride(2),
        lse.stride(0),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        ROWS=G,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_decode_verify(q, kv_cache, indices, valid_topk, k_scale, out, lse, B, PAGES, CAP):
    """Regime decode: split_k (verify, full)."""
    # all requests, or all query tokens where each has keys of its own
    SETS = B * 4
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(32, 2 * SMS // (SETS * HK), ceil_div(CAP, 128)))
    partial_out = torch.empty((SETS, HK, SPLITS, G, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((SETS, HK, SPLITS, G), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((SETS, HK, SPLITS, G), dtype=torch.float32, device=q.device)
    split_verify_kernel[(SETS, HK, SPLITS)](
        q,
        kv_cache,
        indices,
        valid_topk,
        k_scale,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        kv_cache.stride(0),
        indices.stride(0),
        indices.stride(1),
        valid_topk.stride(0),
        CAP,
        SPLITS,
        PAGES,
        Q=4,
        G=G,
        HK=HK,
        D=D,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=G,
        BLOCK_M=16,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=3,
    )
    combine_verify_kernel[(SETS, HK, G)](
        partial_out,
        partial_max,
        partial_sum,
        valid_topk,
        k_scale,
        out,
        lse,
        valid_topk.stride(0),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        lse.stride(0),
        lse.stride(1),
        CAP,
        SPLITS,
        Q=4,
        G=G,
        HK=HK,
        D=D,
        ROWS=G,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_rest(q, kv_cache, indices, valid_topk, k_scale, out, lse, B, Q, PAGES, CAP):
    """Regime rest: generic (verify, full)."""
    attend_kernel[(B, HK, Q)](
        q,
        kv_cache,
        indices,
        valid_topk,
        k_scale,
        out,
        lse,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        kv_cache.stride(0),
        indices.stride(0),
        indices.stride(1),
        valid_topk.stride(0),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        lse.stride(0),
        lse.stride(1),
        CAP,
        PAGES,
        G=G,
        D=D,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        HEAD_TILES=1,
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
            torch.float32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 1, 1, 1, 1, 1,),
            dict(G=16, HK=1, D=512, SM_SCALE_LOG2=0.10411754627697266, ROWS=16, BLOCK_M=16,
            BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 3),
        (combine_kernel, (torch.float32, torch.float32, torch.float32, torch.int32, torch.float32,
            torch.bfloat16, torch.float32, 1, 16, 16, 16, 1, 1,), dict(G=16, HK=1, D=512, ROWS=16,
            BLOCK_N=32, BLOCK_D=512, BLOCK_S=32), 4, 2),
        (split_verify_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.int32, torch.int32,
            torch.float32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 16, 1, 1, 1, 1,
            1, 1,), dict(Q=4, G=16, HK=1, D=512, SM_SCALE_LOG2=0.10411754627697266, ROWS=16,
            BLOCK_M=16, BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 3),
        (combine_verify_kernel, (torch.float32, torch.float32, torch.float32, torch.int32,
            torch.float32, torch.bfloat16, torch.float32, 1, 16, 16, 16, 16, 16, 1, 1,), dict(Q=4,
            G=16, HK=1, D=512, ROWS=16, BLOCK_N=32, BLOCK_D=512, BLOCK_S=32), 4, 2),
        (attend_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.int32, torch.int32,
            torch.float32, torch.bfloat16, torch.float32, 1, 1, 1, 1, 1, 1, 1, 16, 16, 16, 16, 16,
            1, 1,), dict(G=16, D=512, SM_SCALE_LOG2=0.10411754627697266, HEAD_TILES=1, BLOCK_M=16,
            BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, kv_cache, indices, valid_topk, k_scale):
    """Attention as the table at the top has it.

    q: [B, Q, HK * G, D + DR] bf16, queries
    kv_cache: [PAGES, PAGE, HK, D + DR] fp8_e4m3, latents, with rotary columns behind each
    indices: [B, Q, CAP] int32, token of each entry, page * PAGE + place in it; what is no token is skipped
    valid_topk: [B, Q] int32, how many of a query token's indices count, from the first on
    k_scale: one element fp32, factor of every stored key, and so of every value
    returns out: [B, Q, HK * G, D] bf16, attention
    returns lse: [B, Q, HK * G] fp32, logarithm to base e of the sum of exponentials, -inf for an empty row
    """
    check_tensor("q", q, torch.bfloat16, 4, q.device)
    check_tensor("kv_cache", kv_cache, torch.float8_e4m3fn, 4, q.device)
    check_tensor("indices", indices, torch.int32, 3, q.device)
    check_tensor("valid_topk", valid_topk, torch.int32, 2, q.device)
    check_tensor("k_scale", k_scale, torch.float32, 0, q.device)
    B = q.shape[0]
    Q = q.shape[1]
    PAGES = kv_cache.shape[0]
    CAP = indices.shape[2]
    check_shape("q", q, (B, Q, HK * G, D + DR))
    check_shape("kv_cache", kv_cache, (PAGES, PAGE, HK, D + DR))
    check_shape("indices", indices, (B, Q, CAP))
    check_shape("valid_topk", valid_topk, (B, Q))
    out = torch.empty((B, Q, HK * G, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((B, Q, HK * G), dtype=torch.float32, device=q.device)
    if out.numel() == 0:
        return out, lse
    check_range("B", B, 1, 2147483647)
    check_range("PAGES", PAGES, 1, 2147483647)
    check_range("CAP", CAP, 1, 1073741824)
    check_range("Q", Q, 1, 4096)
    # where the spec declares its axes; the fallback serves everything else
    declared = 1 <= B <= 256 and Q in (1, 4) and 2 <= PAGES <= 4194304 and 1 <= CAP <= 4096
    aligned = is_aligned(q, kv_cache)
    if declared and aligned and Q <= 4:
        if Q <= 1:
            launch_decode(q, kv_cache, indices, valid_topk, k_scale, out, lse, B, PAGES, CAP)
        else:
            launch_decode_verify(q, kv_cache, indices, valid_topk, k_scale, out, lse, B, PAGES, CAP)
    else:
        launch_rest(q, kv_cache, indices, valid_topk, k_scale, out, lse, B, Q, PAGES, CAP)
    return out, lse
