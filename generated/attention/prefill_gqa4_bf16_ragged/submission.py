# prefill_gqa4_bf16_ragged
#
# Prefill of prompts, or of chunks of them, behind a paged cache that holds them already; requests
# differ in their tokens.
#
# regime   when       kernel
# prefill  Q >= 32    flash_forward
#     BLOCK_M=128, BLOCK_N=64, NUM_WARPS=8, NUM_STAGES=3
# rest     otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from prefill_gqa4_bf16_ragged.yaml
# spec 809c208e78c9176215dd5faf0f7947d9f80f201f431e70163c3afdfeb28265eb
# templates 33d04a198438ef336e582436c32791dd432835ddadebb856d04b0d5af09f95e9

import torch
import triton
import triton.language as tl

HK = 2  # KV heads on this rank
G = 4  # query heads per KV head
D = 128  # head dimension
PAGE = 16  # tokens of a page
SM_SCALE_LOG2 = 0.12751743082459868  # softmax scale times log2 e


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


def check_integer(name, value, low, high):
    if type(value) is not int:
        raise TypeError(f"{name} is {value!r}, not an integer")
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
    do_not_specialize=[
        "p_block_table",
        "p_seq_lens",
        "p_cu_q",
        "stride_block_table_b",
        "CAP",
        "Q",
        "T",
        "B",
        "WINDOW",
    ]
)
def forward_kernel(
    p_q,
    p_k,
    p_v,
    p_block_table,
    p_seq_lens,
    p_cu_q,
    p_out,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    stride_block_table_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    T: tl.int32,
    B: tl.int32,
    WINDOW: tl.int32,
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

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)

    # none of the tile's tokens sees a key behind the last one's own, nor one before the first one's window
    b_to = tl.minimum(tl.cdiv(i_m * BLOCK_M + BLOCK_M, G), b_tokens)
    b_hi = tl.where(i_m * BLOCK_M < b_tokens * G, tl.maximum(b_len - b_tokens + b_to, 0), 0)
    b_from = tl.minimum(i_m * BLOCK_M // G, b_tokens - 1)
    # WINDOW keys, the row's own included: the first token sees the oldest
    b_first = tl.maximum(b_len - b_tokens + b_from + 1 - WINDOW, 0)

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

    o_n = b_first + tl.arange(0, BLOCK_N)
    b_page = tl.load(
        p_block_table + i_b * stride_block_table_b + o_n // PAGE, mask=o_n < b_hi, other=0
    )
    for i_n in tl.range(b_first, b_hi, BLOCK_N):
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
        # row o_t stands at key b_len - b_tokens + o_t and sees no later one, nor one before its window
        b_last = b_len - b_tokens + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last) & (o_n[None, :] > b_last - WINDOW)

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

    # tokens behind those of the last request are nobody's
    b_rest = tl.minimum(tl.maximum(tl.load(p_cu_q + B), 0), T)
    for i_t in tl.range(tl.where(i_b == 0, b_rest, T), T):
        tl.store(
            p_out + i_t * stride_out_t + (i_h * G + o_m)[:, None] * stride_out_h + o_d[None, :],
            tl.zeros((BLOCK_M, BLOCK_D), p_out.dtype.element_ty),
            mask=(o_m < G)[:, None],
        )


@triton.jit(
    do_not_specialize=[
        "p_q",
        "p_k",
        "p_v",
        "p_block_table",
        "p_seq_lens",
        "p_cu_q",
        "stride_q_t",
        "stride_q_h",
        "stride_k_page",
        "stride_k_slot",
        "stride_k_h",
        "stride_v_page",
        "stride_v_slot",
        "stride_v_h",
        "stride_block_table_b",
        "CAP",
        "Q",
        "T",
        "B",
        "WINDOW",
    ]
)
def attend_kernel(
    p_q,
    p_k,
    p_v,
    p_block_table,
    p_seq_lens,
    p_cu_q,
    p_out,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_page: tl.int64,
    stride_k_slot: tl.int64,
    stride_k_h: tl.int64,
    stride_v_page: tl.int64,
    stride_v_slot: tl.int64,
    stride_v_h: tl.int64,
    stride_block_table_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    T: tl.int32,
    B: tl.int32,
    WINDOW: tl.int32,
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

    # a length beyond the table or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)
    # keys that no token of the request sees are not read
    b_len = tl.where(b_tokens > 0, b_len, 0)
    # WINDOW keys, the row's own included: the first token sees the oldest
    b_first = tl.maximum(b_len - b_tokens + 1 - WINDOW, 0)

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

    for i_n in tl.range(b_first, b_len, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_len
        b_page = tl.load(
            p_block_table + i_b * stride_block_table_b + o_n // PAGE, mask=m_n, other=0
        )
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
        # row o_t stands at key b_len - b_tokens + o_t and sees no later one, nor one before its window
        b_last = b_len - b_tokens + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last) & (o_n[None, :] > b_last - WINDOW)

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

    # tokens behind those of the last request are nobody's
    b_rest = tl.minimum(tl.maximum(tl.load(p_cu_q + B), 0), T)
    for i_t in tl.range(tl.where(i_b == 0, b_rest, T), T):
        tl.store(
            p_out + i_t * stride_out_t + (i_h * G + o_m)[:, None] * stride_out_h + o_d[None, :],
            tl.zeros((BLOCK_M, BLOCK_D), p_out.dtype.element_ty),
            mask=(o_m < G)[:, None],
        )


def launch_prefill(q, k_cache, v_cache, block_table, seq_lens, cu_q, out, B, T, Q, CAP, WINDOW):
    """Regime prefill: flash_forward (window, verify, ragged)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 128)
    forward_kernel[(B, HK, ROW_TILES)](
        q,
        k_cache,
        v_cache,
        block_table,
        seq_lens,
        cu_q,
        out,
        q.stride(0),
        q.stride(1),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        block_table.stride(0),
        out.stride(0),
        out.stride(1),
        CAP,
        Q,
        T,
        B,
        CAP if WINDOW is None else WINDOW,
        G=G,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        BLOCK_M=128,
        BLOCK_N=64,
        BLOCK_D=128,
        num_warps=8,
        num_stages=3,
    )


def launch_rest(q, k_cache, v_cache, block_table, seq_lens, cu_q, out, B, T, Q, CAP, WINDOW):
    """Regime rest: generic (window, verify, ragged)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 16)
    attend_kernel[(B, HK, ROW_TILES)](
        q,
        k_cache,
        v_cache,
        block_table,
        seq_lens,
        cu_q,
        out,
        q.stride(0),
        q.stride(1),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        block_table.stride(0),
        out.stride(0),
        out.stride(1),
        CAP,
        Q,
        T,
        B,
        CAP if WINDOW is None else WINDOW,
        G=G,
        PAGE=PAGE,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
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
        (forward_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.int32, torch.bfloat16, 16, 16, 16, 16, 16, 16, 16, 16, 1, 16, 16, 1, 1, 1, 1, 1,),
            dict(G=4, PAGE=16, SM_SCALE_LOG2=0.12751743082459868, BLOCK_M=128, BLOCK_N=64,
            BLOCK_D=128), 8, 3),
        (attend_kernel, (torch.bfloat16, torch.bfloat16, torch.bfloat16, torch.int32, torch.int32,
            torch.int32, torch.bfloat16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 16, 1, 1, 1, 1, 1,),
            dict(G=4, PAGE=16, SM_SCALE_LOG2=0.12751743082459868, BLOCK_M=16, BLOCK_N=32,
            BLOCK_D=128), 4, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, k_cache, v_cache, block_table, seq_lens, cu_q, max_q, window):
    """Attention as the table at the top has it.

    q: [T, HK * G, D] bf16, queries
    k_cache: [PAGES, PAGE, HK, D] bf16, keys
    v_cache: [PAGES, PAGE, HK, D] bf16, values
    block_table: [B, CAP // PAGE] int32, page of each run of PAGE tokens; entries past the live length may be anything
    seq_lens: [B] int32, live tokens
    cu_q: [B + 1] int32, first query token of each request, and T; none is less than the one before it
    max_q: most query tokens of a request, known when launching; None where there is none
    window: keys that a query sees; None where there is none
    returns out: [T, HK * G, D] bf16, attention
    """
    check_tensor("q", q, torch.bfloat16, 3, q.device)
    check_tensor("k_cache", k_cache, torch.bfloat16, 4, q.device)
    check_tensor("v_cache", v_cache, torch.bfloat16, 4, q.device)
    check_tensor("block_table", block_table, torch.int32, 2, q.device)
    check_tensor("seq_lens", seq_lens, torch.int32, 1, q.device)
    check_tensor("cu_q", cu_q, torch.int32, 1, q.device)
    B = seq_lens.shape[0]
    T = q.shape[0]
    Q = max_q
    PAGES = k_cache.shape[0]
    CAP = block_table.shape[1] * PAGE
    WINDOW = window
    check_shape("q", q, (T, HK * G, D))
    check_shape("k_cache", k_cache, (PAGES, PAGE, HK, D))
    check_shape("v_cache", v_cache, (PAGES, PAGE, HK, D))
    check_shape("block_table", block_table, (B, CAP // PAGE))
    check_shape("seq_lens", seq_lens, (B,))
    check_shape("cu_q", cu_q, (B + 1,))
    out = torch.empty((T, HK * G, D), dtype=torch.bfloat16, device=q.device)
    if out.numel() == 0:
        return out
    check_range("B", B, 1, 2147483647)
    check_range("T", T, 1, 1073741824)
    check_integer("Q", Q, 1, 16384)
    check_range("PAGES", PAGES, 1, 2147483647)
    check_range("CAP", CAP, 1, 1073741824)
    check_optional("WINDOW", WINDOW, 1, 1073741824)
    # where the spec declares its axes; the fallback serves everything else
    declared = (
        1 <= B <= 256
        and 1 <= T <= 131072
        and 2 <= Q <= 16384
        and 1 <= PAGES <= 262144
        and 1 <= CAP <= 65536
        and WINDOW in (None, 1024)
    )
    aligned = is_aligned(q, k_cache, v_cache)
    if declared and aligned and Q >= 32:
        launch_prefill(q, k_cache, v_cache, block_table, seq_lens, cu_q, out, B, T, Q, CAP, WINDOW)
    else:
        launch_rest(q, k_cache, v_cache, block_table, seq_lens, cu_q, out, B, T, Q, CAP, WINDOW)
    return out
