# gqa40_bf16
#
# Decode and two-token verification with forty query heads for each KV head, in tiles of 32 query
# rows.
#
# regime  when       kernel
# rows    otherwise  split_k
#     MOST_ROWS=32, BLOCK_N=64, WAVES=1, MIN_CHUNK=256, MAX_SPLITS=32, NUM_WARPS=4, NUM_STAGES=3
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from gqa40_bf16.yaml
# spec 7a4bd3aba467c8d6bd29eb761e7f39ef97cf573d951cf4be783def3fe145f56f
# templates e0373a68087669c1c0db3be3bff68c933416021067b55e660a5ab05b2e442b0d

import torch
import triton
import triton.language as tl

HK = 2  # KV heads on this rank
G = 40  # query heads per KV head
D = 64  # head dimension
PAGE = 16  # tokens of a page
SM_SCALE_LOG2 = 0.18033688011112042  # softmax scale times log2 e
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


def check_choice(name, value, allowed):
    if value is not None and type(value) is not int:
        raise TypeError(f"{name} is {value!r}, neither an integer nor None")
    if value not in allowed:
        raise ValueError(f"{name} is {value}; this file serves {allowed}")


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
    p_q,
    p_k,
    p_v,
    p_block_table,
    p_seq_lens,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_b: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    stride_block_table_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    ROW_TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    # tiles of one KV head are neighbours, so that what one of them reads the others find in the cache
    i_b, i_s = tl.program_id(0), tl.program_id(2)
    i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    m_m = o_m < ROWS
    o_d = tl.arange(0, BLOCK_D)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # parts are whole turns of the loop, counted from the first key that is read
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = i_s * b_chunk
    b_hi = tl.minimum(b_lo + b_chunk, b_len)

    b_q = tl.load(
        p_q + i_b * stride_q_b + (i_h * G + o_m)[:, None] * stride_q_h + o_d[None, :],
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
            p_block_table + i_b * stride_block_table_b + (o_n + BLOCK_N) // PAGE,
            mask=o_n + BLOCK_N < b_hi,
            other=0,
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
        o_p = ((i_b * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
            mask=m_m[:, None],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(do_not_specialize=["p_seq_lens", "CAP", "SPLITS"])
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
def split_verify_kernel(
    p_q,
    p_k,
    p_v,
    p_block_table,
    p_seq_lens,
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    stride_block_table_b: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    Q: tl.constexpr,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    ROWS: tl.constexpr,
    ROW_TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    # tiles of one KV head are neighbours, so that what one of them reads the others find in the cache
    i_b, i_s = tl.program_id(0), tl.program_id(2)
    i_h, i_m = tl.program_id(1) // ROW_TILES, tl.program_id(1) % ROW_TILES

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    m_m = o_m < ROWS
    o_t = o_m // G
    o_d = tl.arange(0, BLOCK_D)

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
            p_block_table + i_b * stride_block_table_b + (o_n + BLOCK_N) // PAGE,
            mask=o_n + BLOCK_N < b_hi,
            other=0,
        )
        # row o_t stands at key b_len - Q + o_t and sees no later one
        b_last = b_len - Q + o_t[:, None]
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
        o_p = ((i_b * HK + i_h) * SPLITS + i_s) * ROWS + o_m
        tl.store(
            p_partial_out + o_p[:, None] * D + o_d[None, :],
            b_acc,
            mask=m_m[:, None],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(do_not_specialize=["p_seq_lens", "CAP", "SPLITS"])
def combine_verify_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_seq_lens,
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
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)
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
        b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0)),
    )


def launch_rows(q, k_cache, v_cache, block_table, seq_lens, out, lse, B, CAP):
    """Regime rows: split_k (tiled)."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(32, SMS // (B * HK * 2), ceil_div(CAP, 256)))
    partial_out = torch.empty((B, HK, SPLITS, 40, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((B, HK, SPLITS, 40), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((B, HK, SPLITS, 40), dtype=torch.float32, device=q.device)
    split_kernel[(B, HK * 2, SPLITS)](
        q,
        k_cache,
        v_cache,
        block_table,
        seq_lens,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(2),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        block_table.stride(0),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=40,
        ROW_TILES=2,
        BLOCK_M=32,
        BLOCK_N=64,
        BLOCK_D=64,
        num_warps=4,
        num_stages=3,
    )
    combine_kernel[(B, HK, 40)](
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
        ROWS=40,
        BLOCK_N=64,
        BLOCK_D=64,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_rows_verify(q, k_cache, v_cache, block_table, seq_lens, out, lse, B, CAP):
    """Regime rows: split_k (verify, tiled)."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(32, SMS // (B * HK * 3), ceil_div(CAP, 256)))
    partial_out = torch.empty((B, HK, SPLITS, 80, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((B, HK, SPLITS, 80), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((B, HK, SPLITS, 80), dtype=torch.float32, device=q.device)
    split_verify_kernel[(B, HK * 3, SPLITS)](
        q,
        k_cache,
        v_cache,
        block_table,
        seq_lens,
        partial_out,
        partial_max,
        partial_sum,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        block_table.stride(0),
        CAP,
        SPLITS,
        Q=2,
        G=G,
        HK=HK,
        D=D,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        ROWS=80,
        ROW_TILES=3,
        BLOCK_M=32,
        BLOCK_N=64,
        BLOCK_D=64,
        num_warps=4,
        num_stages=3,
    )
    combine_verify_kernel[(B, HK, 80)](
        partial_out,
        partial_max,
        partial_sum,
        seq_lens,
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
        ROWS=80,
        BLOCK_N=64,
        BLOCK_D=64,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def warmup():
    """Compiles every kernel that this file can launch, so that no call and no graph capture has to."""
    # fmt: off
    signatures = [
        (split_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.float32, torch.float32, torch.float32, 16, 16, 16, 16, 16, 16, 16, 16, 1, 1, 1,),
            dict(G=40, HK=2, D=64, PAGE=16, SM_SCALE_LOG2=0.18033688011112042, ROWS=40, ROW_TILES=2,
            BLOCK_M=32, BLOCK_N=64, BLOCK_D=64), 4, 3),
        (combine_kernel, (torch.float32, torch.float32, torch.float32, torch.int32, torch.bfloat16,
            torch.float32, 16, 16, 16, 1, 1,), dict(G=40, HK=2, D=64, ROWS=40, BLOCK_N=64,
            BLOCK_D=64, BLOCK_S=32), 4, 2),
        (split_verify_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32,
            torch.int32, torch.float32, torch.float32, torch.float32, 16, 16, 16, 16, 16, 16, 16,
            16, 16, 1, 1, 1,), dict(Q=2, G=40, HK=2, D=64, PAGE=16,
            SM_SCALE_LOG2=0.18033688011112042, ROWS=80, ROW_TILES=3, BLOCK_M=32, BLOCK_N=64,
            BLOCK_D=64), 4, 3),
        (combine_verify_kernel, (torch.float32, torch.float32, torch.float32, torch.int32,
            torch.bfloat16, torch.float32, 16, 16, 16, 16, 16, 1, 1,), dict(G=40, HK=2, D=64,
            ROWS=80, BLOCK_N=64, BLOCK_D=64, BLOCK_S=32), 4, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, k_cache, v_cache, block_table, seq_lens):
    """Attention as the table at the top has it.

    q: [B, Q, HK * G, D] bf16, queries
    k_cache: [PAGES, PAGE, HK, D] bf16, keys
    v_cache: [PAGES, PAGE, HK, D] bf16, values
    block_table: [B, CAP // PAGE] int32, page of each run of PAGE tokens; entries past the live length may be anything
    seq_lens: [B] int32, live tokens
    returns out: [B, Q, HK * G, D] bf16, attention
    returns lse: [B, Q, HK * G] fp32, logarithm to base 2 of the sum of exponentials, -inf for an empty row
    """
    check_tensor("q", q, torch.bfloat16, 4, q.device)
    check_tensor("k_cache", k_cache, torch.bfloat16, 4, q.device)
    check_tensor("v_cache", v_cache, torch.bfloat16, 4, q.device)
    check_tensor("block_table", block_table, torch.int32, 2, q.device)
    check_tensor("seq_lens", seq_lens, torch.int32, 1, q.device)
    B = q.shape[0]
    Q = q.shape[1]
    PAGES = k_cache.shape[0]
    CAP = block_table.shape[1] * PAGE
    check_shape("q", q, (B, Q, HK * G, D))
    check_shape("k_cache", k_cache, (PAGES, PAGE, HK, D))
    check_shape("v_cache", v_cache, (PAGES, PAGE, HK, D))
    check_shape("block_table", block_table, (B, CAP // PAGE))
    check_shape("seq_lens", seq_lens, (B,))
    out = torch.empty((B, Q, HK * G, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((B, Q, HK * G), dtype=torch.float32, device=q.device)
    if out.numel() == 0:
        return out, lse
    check_range("B", B, 1, 64)
    check_range("PAGES", PAGES, 1, 262144)
    check_range("CAP", CAP, 1, 65536)
    check_choice("Q", Q, (1, 2))
    aligned = is_aligned(q, k_cache, v_cache)
    if aligned:
        if Q <= 1:
            launch_rows(q, k_cache, v_cache, block_table, seq_lens, out, lse, B, CAP)
        else:
            launch_rows_verify(q, k_cache, v_cache, block_table, seq_lens, out, lse, B, CAP)
    else:
        raise ValueError(
            "q, k_cache, v_cache: bases have to be multiples of 16 bytes and strides of 16 elements; no regime of this file serves others"
        )
    return out, lse
