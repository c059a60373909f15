# mla_h24_bf16_page16_split
#
# Latent attention (MLA) of 24 query heads, latents and rotary columns in tensors of their own, with
# a window.
#
# regime  when       kernel
# decode  B <= 64    split_k
#     BLOCK_N=32, WAVES=1, MIN_CHUNK=256, MAX_SPLITS=64, NUM_WARPS=8, NUM_STAGES=3
# rest    otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from mla_h24_bf16_page16_split.yaml
# spec 3ec9706012b6286c953adb2b9011fd0e41a1f9e2e71916ddcd3384d0448db101
# templates f8667136905c7f0996712fc8fd918addbd9034b40e9474589618feb809a838ee

import torch
import triton
import triton.language as tl

Q = 1  # query tokens per request
HK = 1  # latents serve all query heads
G = 24  # query heads
D = 512  # latent columns: those of values and outputs, and the first of keys
DR = 64  # rotary columns behind them
PAGE = 16  # tokens of a page
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


def check_optional(name, value, low, high):
    if value is not None and type(value) is not int:
        raise TypeError(f"{name} is {value!r}, neither an integer nor None")
    if value is not None and not low <= value <= high:
        raise ValueError(f"{name} is {value}; this file serves None and {low} to {high}")


def is_aligned(*tensors):
    """Whether every base is a multiple of 16 bytes and every stride but the last of 16 elements."""
    return all(
        tensor.data_ptr() % 16 == 0 and all(stride % 16 == 0 for stride in tensor.stride()[:-1])
        for tensor in tensors
    )


@triton.jit(
    do_not_specialize=["p_block_table", "p_seq_lens", "stride_block_table_b", "CAP", "SPLITS"]
)
def split_kernel(
    p_q_nope,
    p_q_pe,
    p_ckv,
    p_kpe,
    p_block_table,
    p_seq_lens,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_nope_b: tl.int64,
    stride_q_nope_h: tl.int64,
    stride_q_pe_b: tl.int64,
    stride_q_pe_h: tl.int64,
    stride_ckv_page: tl.int64,
    stride_ckv_slot: tl.int64,
    stride_kpe_page: tl.int64,
    stride_kpe_slot: tl.int64,
    stride_block_table_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_b, i_h, i_s = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = tl.arange(0, BLOCK_M)
    m_m = o_m < ROWS
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = i_s * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q_nope
        + i_b * stride_q_nope_b
        + (i_h * G + o_m)[:, None] * stride_q_nope_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_q_r = tl.load(
        p_q_pe + i_b * stride_q_pe_b + (i_h * G + o_m)[:, None] * stride_q_pe_h + o_r[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    o_n = b_lo + tl.arange(0, BLOCK_N)
    b_page = tl.load(
        p_block_table + i_b * stride_block_table_b + o_n // PAGE, mask=o_n < b_hi, other=0
    )
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_ckv
            + b_page[:, None] * stride_ckv_page
            + (o_n % PAGE)[:, None] * stride_ckv_slot
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_r = tl.load(
            p_kpe
            + b_page[:, None] * stride_kpe_page
            + (o_n % PAGE)[:, None] * stride_kpe_slot
            + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + (o_n + BLOCK_N) // PAGE,
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
        b_acc = tl.dot(b_p.to(tl.bfloat16), b_c, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # a part without keys stores nothing: the combine reads only those that have some
    if b_lo < b_hi:
        o_p = ((i_b * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
            mask=m_m[:, None],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(do_not_specialize=["p_seq_lens", "stride_lse_b", "CAP", "SPLITS"])
def combine_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_seq_lens,
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
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)
    tl.store(
        p_out + i_b * stride_out_b + (i_h * G + i_m) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + i_h * G + i_m,
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
    )


@triton.jit(
    do_not_specialize=["p_block_table", "p_seq_lens", "stride_block_table_b", "CAP", "SPLITS"]
)
def split_window_kernel(
    p_q_nope,
    p_q_pe,
    p_ckv,
    p_kpe,
    p_block_table,
    p_seq_lens,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_nope_b: tl.int64,
    stride_q_nope_h: tl.int64,
    stride_q_pe_b: tl.int64,
    stride_q_pe_h: tl.int64,
    stride_ckv_page: tl.int64,
    stride_ckv_slot: tl.int64,
    stride_kpe_page: tl.int64,
    stride_kpe_slot: tl.int64,
    stride_block_table_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    WINDOW: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_b, i_h, i_s = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = tl.arange(0, BLOCK_M)
    m_m = o_m < ROWS
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)
    # WINDOW keys, the row's own included: the first token sees the oldest
    b_first = tl.maximum(b_len - Q + 1 - WINDOW, 0)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len - b_first, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = b_first + i_s * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q_nope
        + i_b * stride_q_nope_b
        + (i_h * G + o_m)[:, None] * stride_q_nope_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_q_r = tl.load(
        p_q_pe + i_b * stride_q_pe_b + (i_h * G + o_m)[:, None] * stride_q_pe_h + o_r[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    o_n = b_lo + tl.arange(0, BLOCK_N)
    b_page = tl.load(
        p_block_table + i_b * stride_block_table_b + o_n // PAGE, mask=o_n < b_hi, other=0
    )
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_ckv
            + b_page[:, None] * stride_ckv_page
            + (o_n % PAGE)[:, None] * stride_ckv_slot
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_r = tl.load(
            p_kpe
            + b_page[:, None] * stride_kpe_page
            + (o_n % PAGE)[:, None] * stride_kpe_slot
            + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # ids of the next turn: looked up in their own turn, they would hold back its loads
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + (o_n + BLOCK_N) // PAGE,
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
        b_acc = tl.dot(b_p.to(tl.bfloat16), b_c, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # a part without keys stores nothing: the combine reads only those that have some
    if b_lo < b_hi:
        o_p = ((i_b * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
            mask=m_m[:, None],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(do_not_specialize=["p_seq_lens", "stride_lse_b", "CAP", "SPLITS"])
def combine_window_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_seq_lens,
    p_out,
    p_lse,
    stride_out_b: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    WINDOW: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = tl.arange(0, BLOCK_D)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)
    # WINDOW keys, the row's own included: the first token sees the oldest
    b_first = tl.maximum(b_len - Q + 1 - WINDOW, 0)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len - b_first, SPLITS), BLOCK_N) * BLOCK_N
    b_parts = tl.cdiv(b_len - b_first, tl.maximum(b_chunk, BLOCK_N))

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
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)
    tl.store(
        p_out + i_b * stride_out_b + (i_h * G + i_m) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
    )
    tl.store(
        p_lse + i_b * stride_lse_b + i_h * G + i_m,
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
    )


@triton.jit(
    do_not_specialize=[
        "p_q_nope",
        "p_q_pe",
        "p_ckv",
        "p_kpe",
        "p_block_table",
        "p_seq_lens",
        "stride_q_nope_b",
        "stride_q_nope_h",
        "stride_q_pe_b",
        "stride_q_pe_h",
        "stride_ckv_page",
        "stride_ckv_slot",
        "stride_kpe_page",
        "stride_kpe_slot",
        "stride_block_table_b",
        "stride_lse_b",
        "CAP",
        "Q",
        "WINDOW",
    ]
)
def attend_kernel(
    p_q_nope,
    p_q_pe,
    p_ckv,
    p_kpe,
    p_block_table,
    p_seq_lens,
    p_out,
    p_lse,
    stride_q_nope_b: tl.int64,
    stride_q_nope_h: tl.int64,
    stride_q_pe_b: tl.int64,
    stride_q_pe_h: tl.int64,
    stride_ckv_page: tl.int64,
    stride_ckv_slot: tl.int64,
    stride_kpe_page: tl.int64,
    stride_kpe_slot: tl.int64,
    stride_block_table_b: tl.int64,
    stride_out_b: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    WINDOW: tl.int32,
    G: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    m_m = o_m < Q * G
    o_d = tl.arange(0, BLOCK_D)
    o_r = tl.arange(0, BLOCK_R)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)
    # WINDOW keys, the row's own included: the first token sees the oldest
    b_first = tl.maximum(b_len - Q + 1 - WINDOW, 0)

    b_q = tl.load(
        p_q_nope
        + i_b * stride_q_nope_b
        + (i_h * G + o_m)[:, None] * stride_q_nope_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_q_r = tl.load(
        p_q_pe + i_b * stride_q_pe_b + (i_h * G + o_m)[:, None] * stride_q_pe_h + o_r[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    for i_n in tl.range(b_first, b_len, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_len
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + o_n // PAGE, mask=m_n, other=0
        )
        # latents serve as keys and as values, from one load
        b_c = tl.load(
            p_ckv
            + b_page[:, None] * stride_ckv_page
            + (o_n % PAGE)[:, None] * stride_ckv_slot
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_r = tl.load(
            p_kpe
            + b_page[:, None] * stride_kpe_page
            + (o_n % PAGE)[:, None] * stride_kpe_slot
            + o_r[None, :],
            mask=m_n[:, None],
            other=0.0,
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
        b_acc = tl.dot(b_p.to(tl.bfloat16), b_c, b_acc * b_alpha[:, None])
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None]
    tl.store(
        p_out + i_b * stride_out_b + (i_h * G + o_m)[:, None] * stride_out_h + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
        mask=m_m[:, None],
    )
    tl.store(
        p_lse + i_b * stride_lse_b + i_h * G + o_m,
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
        mask=m_m,
    )


def launch_decode(q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, out, lse, B, CAP):
    """Regime decode: split_k."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(64, SMS // (B * HK), ceil_div(CAP, 256)))
    partial_out = torch.empty((B, HK, SPLITS, 24, D), dtype=torch.float32, device=q_nope.device)
    partial_max = torch.empty((B, HK, SPLITS, 24), dtype=torch.float32, device=q_nope.device)
    partial_sum = torch.empty((B, HK, SPLITS, 24), dtype=torch.float32, device=q_nope.device)
    split_kernel[(B, HK, SPLITS)](
        q_nope,
        q_pe,
        ckv_cache,
        kpe_cache,
        block_table,
        seq_lens,
        partial_out,
        partial_max,
        partial_sum,
        q_nope.stride(0),
        q_nope.stride(2),
        q_pe.stride(0),
        q_pe.stride(2),
        ckv_cache.stride(0),
        ckv_cache.stride(1),
        kpe_cache.stride(0),
        kpe_cache.stride(1),
        block_table.stride(0),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=24,
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=3,
    )
    combine_kernel[(B, HK, 24)](
        partial_out,
        partial_max,
        partial_sum,
        seq_lens,
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
        ROWS=24,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_decode_window(
    q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, out, lse, B, CAP
):
    """Regime decode: split_k (window)."""
    # most keys that a request can have to read
    SPAN = min(CAP, 1024 + Q - 1)
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(64, SMS // (B * HK), ceil_div(SPAN, 256)))
    partial_out = torch.empty((B, HK, SPLITS, 24, D), dtype=torch.float32, device=q_nope.device)
    partial_max = torch.empty((B, HK, SPLITS, 24), dtype=torch.float32, device=q_nope.device)
    partial_sum = torch.empty((B, HK, SPLITS, 24), dtype=torch.float32, device=q_nope.device)
    split_window_kernel[(B, HK, SPLITS)](
        q_nope,
        q_pe,
        ckv_cache,
        kpe_cache,
        block_table,
        seq_lens,
        partial_out,
        partial_max,
        partial_sum,
        q_nope.stride(0),
        q_nope.stride(2),
        q_pe.stride(0),
        q_pe.stride(2),
        ckv_cache.stride(0),
        ckv_cache.stride(1),
        kpe_cache.stride(0),
        kpe_cache.stride(1),
        block_table.stride(0),
        CAP,
        SPLITS,
        Q=Q,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        WINDOW=1024,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=24,
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_R=64,
        num_warps=8,
        num_stages=3,
    )
    combine_window_kernel[(B, HK, 24)](
        partial_out,
        partial_max,
        partial_sum,
        seq_lens,
        out,
        lse,
        out.stride(0),
        out.stride(2),
        lse.stride(0),
        CAP,
        SPLITS,
        Q=Q,
        G=G,
        HK=HK,
        D=D,
        WINDOW=1024,
        ROWS=24,
        BLOCK_N=32,
        BLOCK_D=512,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_rest(
    q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, out, lse, B, CAP, WINDOW
):
    """Regime rest: generic (window)."""
    attend_kernel[(B, HK, 2)](
        q_nope,
        q_pe,
        ckv_cache,
        kpe_cache,
        block_table,
        seq_lens,
        out,
        lse,
        q_nope.stride(0),
        q_nope.stride(2),
        q_pe.stride(0),
        q_pe.stride(2),
        ckv_cache.stride(0),
        ckv_cache.stride(1),
        kpe_cache.stride(0),
        kpe_cache.stride(1),
        block_table.stride(0),
        out.stride(0),
        out.stride(2),
        lse.stride(0),
        CAP,
        Q,
        CAP if WINDOW is None else WINDOW,
        G=G,
        PAGE=PAGE,
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
        (split_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32,
            torch.int32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 16, 16, 16, 16,
            16, 1, 1, 1,), dict(G=24, HK=1, D=512, PAGE=16, SM_SCALE_LOG2=0.10411754627697266,
            ROWS=24, BLOCK_M=32, BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 3),
        (combine_kernel, (torch.float32, torch.float32, torch.float32, torch.int32, torch.bfloat16,
            torch.float32, 16, 16, 1, 1, 1,), dict(G=24, HK=1, D=512, ROWS=24, BLOCK_N=32,
            BLOCK_D=512, BLOCK_S=32), 4, 2),
        (split_window_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.bfloat16,
            torch.int32, torch.int32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 16,
            16, 16, 16, 16, 1, 1, 1,), dict(Q=1, G=24, HK=1, D=512, PAGE=16, WINDOW=1024,
            SM_SCALE_LOG2=0.10411754627697266, ROWS=24, BLOCK_M=32, BLOCK_N=32, BLOCK_D=512,
            BLOCK_R=64), 8, 3),
        (combine_window_kernel, (torch.float32, torch.float32, torch.float32, torch.int32,
            torch.bfloat16, torch.float32, 16, 16, 1, 1, 1,), dict(Q=1, G=24, HK=1, D=512,
            WINDOW=1024, ROWS=24, BLOCK_N=32, BLOCK_D=512, BLOCK_S=32), 4, 2),
        (attend_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.bfloat16,
            torch.int32, torch.int32, torch.bfloat16, torch.float32, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16,
            16, 1, 1, 1, 1,), dict(G=24, PAGE=16, SM_SCALE_LOG2=0.10411754627697266, BLOCK_M=16,
            BLOCK_N=32, BLOCK_D=512, BLOCK_R=64), 8, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, window):
    """Attention as the table at the top has it.

    q_nope: [B, Q, HK * G, D] bf16, latent columns of queries
    q_pe: [B, Q, HK * G, DR] bf16, rotary columns of queries
    ckv_cache: [PAGES, PAGE, D] bf16, latents
    kpe_cache: [PAGES, PAGE, DR] bf16, rotary columns of keys
    block_table: [B, CAP // PAGE] int32, page of each run of PAGE tokens; entries past the live length may be anything
    seq_lens: [B] int32, live tokens
    window: sliding window, current token included; None where there is none
    returns out: [B, Q, HK * G, D] bf16, attention
    returns lse: [B, Q, HK * G] fp32, logarithm to base 2 of the sum of exponentials, -inf for an empty row
    """
    check_tensor("q_nope", q_nope, torch.bfloat16, 4, q_nope.device)
    check_tensor("q_pe", q_pe, torch.bfloat16, 4, q_nope.device)
    check_tensor("ckv_cache", ckv_cache, torch.bfloat16, 3, q_nope.device)
    check_tensor("kpe_cache", kpe_cache, torch.bfloat16, 3, q_nope.device)
    check_tensor("block_table", block_table, torch.int32, 2, q_nope.device)
    check_tensor("seq_lens", seq_lens, torch.int32, 1, q_nope.device)
    B = q_nope.shape[0]
    PAGES = ckv_cache.shape[0]
    CAP = block_table.shape[1] * PAGE
    WINDOW = window
    check_shape("q_nope", q_nope, (B, Q, HK * G, D))
    check_shape("q_pe", q_pe, (B, Q, HK * G, DR))
    check_shape("ckv_cache", ckv_cache, (PAGES, PAGE, D))
    check_shape("kpe_cache", kpe_cache, (PAGES, PAGE, DR))
    check_shape("block_table", block_table, (B, CAP // PAGE))
    check_shape("seq_lens", seq_lens, (B,))
    out = torch.empty((B, Q, HK * G, D), dtype=torch.bfloat16, device=q_nope.device)
    lse = torch.empty((B, Q, HK * G), dtype=torch.float32, device=q_nope.device)
    if out.numel() == 0:
        return out, lse
    check_range("B", B, 1, 2147483647)
    check_range("PAGES", PAGES, 1, 2147483647)
    check_range("CAP", CAP, 1, 1073741824)
    check_optional("WINDOW", WINDOW, 1, 1073741824)
    # where the spec declares its axes; the fallback serves everything else
    declared = (
        1 <= B <= 128 and 1 <= PAGES <= 262144 and 1 <= CAP <= 131072 and WINDOW in (None, 1024)
    )
    aligned = is_aligned(q_nope, q_pe, ckv_cache, kpe_cache)
    if declared and aligned and B <= 64:
        if WINDOW is None:
            launch_decode(
                q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, out, lse, B, CAP
            )
        else:
            launch_decode_window(
                q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, out, lse, B, CAP
            )
    else:
        launch_rest(
            q_nope, q_pe, ckv_cache, kpe_cache, block_table, seq_lens, out, lse, B, CAP, WINDOW
        )
    return out, lse
