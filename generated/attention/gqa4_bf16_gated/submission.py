# gqa4_bf16_gated
#
# Decode and verification whose outputs are normalised for each head and gated by a sigmoid before
# they are stored.
#
# regime  when       kernel
# decode  Q == 1     split_k
#     BLOCK_N=64, WAVES=2, MIN_CHUNK=128, MAX_SPLITS=64, NUM_WARPS=4, NUM_STAGES=3
# rest    otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from gqa4_bf16_gated.yaml
# spec eb3928058b03a75b2ffc0f870599c7863cf28c59a8ef1a22c7d723d857634dbd
# templates f8667136905c7f0996712fc8fd918addbd9034b40e9474589618feb809a838ee

import torch
import triton
import triton.language as tl

HK = 2  # KV heads on this rank
G = 4  # query heads per KV head
D = 80  # head dimension
PAGE = 16  # tokens of a page
SM_SCALE_LOG2 = 0.16129820911147805  # softmax scale times log2 e
EPS = 1e-05  # added to the mean square before the root
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
    stride_k_h: tl.int64,
    stride_k_slot: tl.int64,
    stride_v_page: tl.int64,
    stride_v_h: tl.int64,
    stride_v_slot: tl.int64,
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
):
    i_b, i_h, i_s = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = tl.arange(0, BLOCK_M)
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
        mask=m_m[:, None] & (o_d < D)[None, :],
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
            + i_h * stride_k_h
            + (o_n % PAGE)[:, None] * stride_k_slot
            + o_d[None, :],
            mask=m_n[:, None] & (o_d < D)[None, :],
            other=0.0,
        )
        b_v = tl.load(
            p_v
            + b_page[:, None] * stride_v_page
            + i_h * stride_v_h
            + (o_n % PAGE)[:, None] * stride_v_slot
            + o_d[None, :],
            mask=m_n[:, None] & (o_d < D)[None, :],
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
            mask=m_m[:, None] & (o_d < D)[None, :],
        )
        tl.store(p_partial_max + o_p, b_m, mask=m_m)
        tl.store(p_partial_sum + o_p, b_l, mask=m_m)


@triton.jit(
    do_not_specialize=[
        "p_seq_lens",
        "p_norm_weight",
        "p_gate",
        "stride_gate_b",
        "stride_gate_h",
        "CAP",
        "SPLITS",
    ]
)
def combine_kernel(
    p_partial_out,
    p_partial_max,
    p_partial_sum,
    p_seq_lens,
    p_norm_weight,
    p_gate,
    p_out,
    stride_gate_b: tl.int64,
    stride_gate_h: tl.int64,
    stride_out_b: tl.int64,
    stride_out_h: tl.int64,
    CAP: tl.int32,
    SPLITS: tl.int32,
    G: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
    EPS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = tl.arange(0, BLOCK_D)
    b_weight = tl.load(p_norm_weight + o_d, mask=o_d < D, other=0.0).to(tl.float32)
    b_gate = tl.load(
        p_gate + i_b * stride_gate_b + (i_h * G + i_m) * stride_gate_h + o_d,
        mask=o_d < D,
        other=0.0,
    ).to(tl.float32)

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
            mask=m_s[:, None] & (o_d < D)[None, :],
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
    # the mean is over D: padded columns hold 0 and add nothing
    b_rstd = tl.rsqrt(tl.sum(b_out * b_out, 0) / D + EPS)
    b_out *= b_rstd * b_weight
    b_out *= tl.sigmoid(b_gate)
    tl.store(
        p_out + i_b * stride_out_b + (i_h * G + i_m) * stride_out_h + o_d,
        b_out.to(p_out.dtype.element_ty),
        mask=o_d < D,
    )


@triton.jit(
    do_not_specialize=[
        "p_q",
        "p_k",
        "p_v",
        "p_block_table",
        "p_seq_lens",
        "p_norm_weight",
        "p_gate",
        "stride_q_b",
        "stride_q_t",
        "stride_q_h",
        "stride_k_page",
        "stride_k_h",
        "stride_k_slot",
        "stride_v_page",
        "stride_v_h",
        "stride_v_slot",
        "stride_block_table_b",
        "stride_gate_b",
        "stride_gate_t",
        "stride_gate_h",
        "CAP",
        "Q",
    ]
)
def attend_kernel(
    p_q,
    p_k,
    p_v,
    p_block_table,
    p_seq_lens,
    p_norm_weight,
    p_gate,
    p_out,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_h: tl.int64,
    stride_k_slot: tl.int64,
    stride_v_page: tl.int64,
    stride_v_h: tl.int64,
    stride_v_slot: tl.int64,
    stride_block_table_b: tl.int64,
    stride_gate_b: tl.int64,
    stride_gate_t: tl.int64,
    stride_gate_h: tl.int64,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    G: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
    EPS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    i_b, i_h, i_m = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    # a row is a query token and a head of the group, so that one tile of keys serves them all
    o_m = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    m_m = o_m < Q * G
    o_t = o_m // G
    o_d = tl.arange(0, BLOCK_D)

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
        mask=m_m[:, None] & (o_d < D)[None, :],
        other=0.0,
    )
    b_scale = SM_SCALE_LOG2

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    for i_n in tl.range(0, b_len, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_len
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + o_n // PAGE, mask=m_n, other=0
        )
        b_k = tl.load(
            p_k
            + b_page[:, None] * stride_k_page
            + i_h * stride_k_h
            + (o_n % PAGE)[:, None] * stride_k_slot
            + o_d[None, :],
            mask=m_n[:, None] & (o_d < D)[None, :],
            other=0.0,
        )
        b_v = tl.load(
            p_v
            + b_page[:, None] * stride_v_page
            + i_h * stride_v_h
            + (o_n % PAGE)[:, None] * stride_v_slot
            + o_d[None, :],
            mask=m_n[:, None] & (o_d < D)[None, :],
            other=0.0,
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

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None]
    b_weight = tl.load(p_norm_weight + o_d, mask=o_d < D, other=0.0).to(tl.float32)
    b_gate = tl.load(
        p_gate
        + i_b * stride_gate_b
        + o_t[:, None] * stride_gate_t
        + (i_h * G + o_m % G)[:, None] * stride_gate_h
        + o_d[None, :],
        mask=m_m[:, None] & (o_d < D)[None, :],
        other=0.0,
    ).to(tl.float32)
    # the mean is over D: padded columns hold 0 and add nothing
    b_rstd = tl.rsqrt(tl.sum(b_out * b_out, 1) / D + EPS)
    b_out *= b_rstd[:, None] * b_weight[None, :]
    b_out *= tl.sigmoid(b_gate)
    tl.store(
        p_out
        + i_b * stride_out_b
        + o_t[:, None] * stride_out_t
        + (i_h * G + o_m % G)[:, None] * stride_out_h
        + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
        mask=m_m[:, None] & (o_d < D)[None, :],
    )


def launch_decode(q, k_cache, v_cache, block_table, seq_lens, norm_weight, gate, out, B, CAP):
    """Regime decode: split_k (padded)."""
    # parts of a request, from capacity and never from the live length, so that a captured graph stays right
    SPLITS = max(1, min(64, 2 * SMS // (B * HK), ceil_div(CAP, 128)))
    partial_out = torch.empty((B, HK, SPLITS, 4, D), dtype=torch.float32, device=q.device)
    partial_max = torch.empty((B, HK, SPLITS, 4), dtype=torch.float32, device=q.device)
    partial_sum = torch.empty((B, HK, SPLITS, 4), dtype=torch.float32, device=q.device)
    split_kernel[(B, HK, SPLITS)](
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
        ROWS=4,
        BLOCK_M=16,
        BLOCK_N=64,
        BLOCK_D=128,
        num_warps=4,
        num_stages=3,
    )
    combine_kernel[(B, HK, 4)](
        partial_out,
        partial_max,
        partial_sum,
        seq_lens,
        norm_weight,
        gate,
        out,
        gate.stride(0),
        gate.stride(2),
        out.stride(0),
        out.stride(2),
        CAP,
        SPLITS,
        G=G,
        HK=HK,
        D=D,
        EPS=EPS,
        ROWS=4,
        BLOCK_N=64,
        BLOCK_D=128,
        BLOCK_S=32,
        num_warps=4,
        num_stages=2,
    )


def launch_rest(q, k_cache, v_cache, block_table, seq_lens, norm_weight, gate, out, B, Q, CAP):
    """Regime rest: generic (verify, padded)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 16)
    attend_kernel[(B, HK, ROW_TILES)](
        q,
        k_cache,
        v_cache,
        block_table,
        seq_lens,
        norm_weight,
        gate,
        out,
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
        gate.stride(0),
        gate.stride(1),
        gate.stride(2),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        CAP,
        Q,
        G=G,
        D=D,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        EPS=EPS,
        BLOCK_M=16,
        BLOCK_N=32,
        BLOCK_D=128,
        num_warps=4,
        num_stages=2,
    )


def warmup():
    """Compiles every kernel that this file can launch, so that no call and no graph capture has to."""
    # fmt: off
    signatures = [
        (split_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.float32, torch.float32, torch.float32, 16, 16, 16, 16, 16, 16, 16, 16, 1, 1, 1,),
            dict(G=4, HK=2, D=80, PAGE=16, SM_SCALE_LOG2=0.16129820911147805, ROWS=4, BLOCK_M=16,
            BLOCK_N=64, BLOCK_D=128), 4, 3),
        (combine_kernel, (torch.float32, torch.float32, torch.float32, torch.int32, torch.bfloat16,
            torch.bfloat16, torch.bfloat16, 1, 1, 16, 16, 1, 1,), dict(G=4, HK=2, D=80, EPS=1e-05,
            ROWS=4, BLOCK_N=64, BLOCK_D=128, BLOCK_S=32), 4, 2),
        (attend_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.bfloat16, torch.bfloat16, torch.bfloat16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            16, 16, 16, 1, 1,), dict(G=4, D=80, PAGE=16, SM_SCALE_LOG2=0.16129820911147805,
            EPS=1e-05, BLOCK_M=16, BLOCK_N=32, BLOCK_D=128), 4, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, k_cache, v_cache, block_table, seq_lens, norm_weight, gate):
    """Attention as the table at the top has it.

    q: [B, Q, HK * G, D] bf16, queries
    k_cache: [PAGES, HK, PAGE, D] bf16, keys
    v_cache: [PAGES, HK, PAGE, D] bf16, values
    block_table: [B, CAP // PAGE] int32, page of each run of PAGE tokens; entries past the live length may be anything
    seq_lens: [B] int32, live tokens
    norm_weight: [D] bf16, a factor for each column
    gate: [B, Q, HK * G, D] bf16, what the gate of each output is made from
    returns out: [B, Q, HK * G, D] bf16, attention
    """
    check_tensor("q", q, torch.bfloat16, 4, q.device)
    check_tensor("k_cache", k_cache, torch.bfloat16, 4, q.device)
    check_tensor("v_cache", v_cache, torch.bfloat16, 4, q.device)
    check_tensor("block_table", block_table, torch.int32, 2, q.device)
    check_tensor("seq_lens", seq_lens, torch.int32, 1, q.device)
    check_tensor("norm_weight", norm_weight, torch.bfloat16, 1, q.device)
    check_tensor("gate", gate, torch.bfloat16, 4, q.device)
    B = q.shape[0]
    Q = q.shape[1]
    PAGES = k_cache.shape[0]
    CAP = block_table.shape[1] * PAGE
    check_shape("q", q, (B, Q, HK * G, D))
    check_shape("k_cache", k_cache, (PAGES, HK, PAGE, D))
    check_shape("v_cache", v_cache, (PAGES, HK, PAGE, D))
    check_shape("block_table", block_table, (B, CAP // PAGE))
    check_shape("seq_lens", seq_lens, (B,))
    check_shape("norm_weight", norm_weight, (D,))
    check_shape("gate", gate, (B, Q, HK * G, D))
    out = torch.empty((B, Q, HK * G, D), dtype=torch.bfloat16, device=q.device)
    if out.numel() == 0:
        return out
    check_range("B", B, 1, 2147483647)
    check_range("PAGES", PAGES, 1, 2147483647)
    check_range("CAP", CAP, 1, 1073741824)
    check_range("Q", Q, 1, 4096)
    # where the spec declares its axes; the fallback serves everything else
    declared = 1 <= B <= 128 and Q in (1, 4) and 1 <= PAGES <= 1048576 and 1 <= CAP <= 131072
    aligned = is_aligned(q, k_cache, v_cache)
    if declared and aligned and Q == 1:
        launch_decode(q, k_cache, v_cache, block_table, seq_lens, norm_weight, gate, out, B, CAP)
    else:
        launch_rest(q, k_cache, v_cache, block_table, seq_lens, norm_weight, gate, out, B, Q, CAP)
    return out
