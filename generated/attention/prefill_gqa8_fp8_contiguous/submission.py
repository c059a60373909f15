# prefill_gqa8_fp8_contiguous
#
# Prefill of prompts of one length over a contiguous FP8 cache, whose last tokens they are.
#
# regime   when       kernel
# prefill  Q >= 16    flash_forward
#     BLOCK_M=128, BLOCK_N=64, NUM_WARPS=8, NUM_STAGES=3
# rest     otherwise  generic
#     BLOCK_M=16, BLOCK_N=32, NUM_WARPS=4, NUM_STAGES=2
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from prefill_gqa8_fp8_contiguous.yaml
# spec 5e9c086bdf06a7eb321eafd34a4b0871c6019fae95cc9272b2fc0d44bf62aa51
# templates 33d04a198438ef336e582436c32791dd432835ddadebb856d04b0d5af09f95e9

import torch
import triton
import triton.language as tl

HK = 1  # KV heads on this rank
G = 8  # query heads per KV head
D = 128  # head dimension
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


def is_aligned(*tensors):
    """Whether every base is a multiple of 16 bytes and every stride but the last of 16 elements."""
    return all(
        tensor.data_ptr() % 16 == 0 and all(stride % 16 == 0 for stride in tensor.stride()[:-1])
        for tensor in tensors
    )


@triton.jit(
    do_not_specialize=[
        "p_seq_lens",
        "p_k_scale",
        "p_v_scale",
        "stride_lse_b",
        "stride_lse_t",
        "CAP",
        "Q",
    ]
)
def forward_kernel(
    p_q,
    p_k,
    p_v,
    p_seq_lens,
    p_k_scale,
    p_v_scale,
    p_out,
    p_lse,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_b: tl.int64,
    stride_k_slot: tl.int64,
    stride_v_b: tl.int64,
    stride_v_slot: tl.int64,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    stride_lse_t: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    G: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
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

    # a length beyond the cache or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    # none of the tile's tokens sees a key behind the last one's own
    b_to = tl.minimum(tl.cdiv(i_m * BLOCK_M + BLOCK_M, G), Q)
    b_hi = tl.maximum(b_len - Q + b_to, 0)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    # fp16 holds every value of the cache exactly; a power of two per row brings q into its range
    b_top = tl.max(tl.abs(b_q.to(tl.float32)), 1).to(tl.int32, bitcast=True) & 0x7F800000
    b_top = tl.maximum(b_top, 0x00800000).to(tl.float32, bitcast=True)
    b_q = (b_q.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale))[:, None]

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    for i_n in tl.range(0, b_hi, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_hi
        b_k = tl.load(
            p_k + i_b * stride_k_b + o_n[:, None] * stride_k_slot + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_v = tl.load(
            p_v + i_b * stride_v_b + o_n[:, None] * stride_v_slot + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # row o_t stands at key b_len - Q + o_t and sees no later one
        b_last = b_len - Q + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last)

        b_s = tl.dot(b_q, tl.trans(b_k.to(tl.float16)))
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.float16), b_v.to(tl.float16), b_acc * b_alpha[:, None])
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None] * tl.load(p_v_scale)
    tl.store(
        p_out
        + i_b * stride_out_b
        + o_t[:, None] * stride_out_t
        + (i_h * G + o_m % G)[:, None] * stride_out_h
        + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
        mask=m_m[:, None],
    )
    tl.store(
        p_lse + i_b * stride_lse_b + o_t * stride_lse_t + i_h * G + o_m % G,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
        mask=m_m,
    )


@triton.jit(
    do_not_specialize=[
        "p_q",
        "p_k",
        "p_v",
        "p_seq_lens",
        "p_k_scale",
        "p_v_scale",
        "stride_q_b",
        "stride_q_t",
        "stride_q_h",
        "stride_k_b",
        "stride_k_slot",
        "stride_v_b",
        "stride_v_slot",
        "stride_lse_b",
        "stride_lse_t",
        "CAP",
        "Q",
    ]
)
def attend_kernel(
    p_q,
    p_k,
    p_v,
    p_seq_lens,
    p_k_scale,
    p_v_scale,
    p_out,
    p_lse,
    stride_q_b: tl.int64,
    stride_q_t: tl.int64,
    stride_q_h: tl.int64,
    stride_k_b: tl.int64,
    stride_k_slot: tl.int64,
    stride_v_b: tl.int64,
    stride_v_slot: tl.int64,
    stride_out_b: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_lse_b: tl.int64,
    stride_lse_t: tl.int64,
    CAP: tl.int32,
    Q: tl.int32,
    G: tl.constexpr,
    SM_SCALE_LOG2: tl.constexpr,
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

    # a length beyond the cache or below 0 must not lead outside of it
    b_len = tl.minimum(tl.maximum(tl.load(p_seq_lens + i_b), 0), CAP)

    b_q = tl.load(
        p_q
        + i_b * stride_q_b
        + o_t[:, None] * stride_q_t
        + (i_h * G + o_m % G)[:, None] * stride_q_h
        + o_d[None, :],
        mask=m_m[:, None],
        other=0.0,
    )
    # fp16 holds every value of the cache exactly; a power of two per row brings q into its range
    b_top = tl.max(tl.abs(b_q.to(tl.float32)), 1).to(tl.int32, bitcast=True) & 0x7F800000
    b_top = tl.maximum(b_top, 0x00800000).to(tl.float32, bitcast=True)
    b_q = (b_q.to(tl.float32) / b_top[:, None]).to(tl.float16)
    b_scale = (b_top * SM_SCALE_LOG2 * tl.load(p_k_scale))[:, None]

    b_m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    b_l = tl.zeros((BLOCK_M,), tl.float32)
    b_acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)

    for i_n in tl.range(0, b_len, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < b_len
        b_k = tl.load(
            p_k + i_b * stride_k_b + o_n[:, None] * stride_k_slot + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        b_v = tl.load(
            p_v + i_b * stride_v_b + o_n[:, None] * stride_v_slot + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        )
        # row o_t stands at key b_len - Q + o_t and sees no later one
        b_last = b_len - Q + o_t[:, None]
        m_s = m_n[None, :] & (o_n[None, :] <= b_last)

        b_s = tl.dot(b_q, tl.trans(b_k.to(tl.float16)))
        b_s = tl.where(m_s, b_s * b_scale, float("-inf"))
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        # a row that has seen no key yet has no maximum: any finite one keeps -inf - -inf out
        b_ref = tl.where(b_m_new == float("-inf"), 0.0, b_m_new)
        b_p = tl.exp2(b_s - b_ref[:, None])
        b_alpha = tl.exp2(b_m - b_ref)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(tl.float16), b_v.to(tl.float16), b_acc * b_alpha[:, None])
        b_m = b_m_new

    # no key at all: the sum is 0 and so is the output
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None] * tl.load(p_v_scale)
    tl.store(
        p_out
        + i_b * stride_out_b
        + o_t[:, None] * stride_out_t
        + (i_h * G + o_m % G)[:, None] * stride_out_h
        + o_d[None, :],
        b_out.to(p_out.dtype.element_ty),
        mask=m_m[:, None],
    )
    tl.store(
        p_lse + i_b * stride_lse_b + o_t * stride_lse_t + i_h * G + o_m % G,
        (b_m + tl.log2(tl.where(b_l > 0, b_l, 1.0))) * 0.6931471805599453,
        mask=m_m,
    )


def launch_prefill(q, k_cache, v_cache, seq_lens, k_scale, v_scale, out, lse, B, Q, CAP):
    """Regime prefill: flash_forward (verify)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 128)
    forward_kernel[(B, HK, ROW_TILES)](
        q,
        k_cache,
        v_cache,
        seq_lens,
        k_scale,
        v_scale,
        out,
        lse,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        k_cache.stride(0),
        k_cache.stride(1),
        v_cache.stride(0),
        v_cache.stride(1),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        lse.stride(0),
        lse.stride(1),
        CAP,
        Q,
        G=G,
        SM_SCALE_LOG2=SM_SCALE_LOG2,
        BLOCK_M=128,
        BLOCK_N=64,
        BLOCK_D=128,
        num_warps=8,
        num_stages=3,
    )


def launch_rest(q, k_cache, v_cache, seq_lens, k_scale, v_scale, out, lse, B, Q, CAP):
    """Regime rest: generic (verify)."""
    # tiles of query rows of one KV head
    ROW_TILES = ceil_div(Q * G, 16)
    attend_kernel[(B, HK, ROW_TILES)](
        q,
        k_cache,
        v_cache,
        seq_lens,
        k_scale,
        v_scale,
        out,
        lse,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        k_cache.stride(0),
        k_cache.stride(1),
        v_cache.stride(0),
        v_cache.stride(1),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        lse.stride(0),
        lse.stride(1),
        CAP,
        Q,
        G=G,
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
        (forward_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e4m3fn, torch.int32,
            torch.float32, torch.float32, torch.bfloat16, torch.float32, 16, 16, 16, 16, 16, 16, 16,
            16, 16, 16, 1, 1, 1, 1,), dict(G=8, SM_SCALE_LOG2=0.12751743082459868, BLOCK_M=128,
            BLOCK_N=64, BLOCK_D=128), 8, 3),
        (attend_kernel, (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e4m3fn, torch.int32,
            torch.float32, torch.float32, torch.bfloat16, torch.float32, 1, 1, 1, 1, 1, 1, 1, 16,
            16, 16, 1, 1, 1, 1,), dict(G=8, SM_SCALE_LOG2=0.12751743082459868, BLOCK_M=16,
            BLOCK_N=32, BLOCK_D=128), 4, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(q, k_cache, v_cache, seq_lens, k_scale, v_scale):
    """Attention as the table at the top has it.

    q: [B, Q, HK * G, D] bf16, queries
    k_cache: [B, CAP, HK, D] fp8_e4m3, keys
    v_cache: [B, CAP, HK, D] fp8_e4m3, values
    seq_lens: [B] int32, live tokens
    k_scale: one element fp32, factor of every stored key
    v_scale: one element fp32, factor of every stored value
    returns out: [B, Q, HK * G, D] bf16, attention
    returns lse: [B, Q, HK * G] fp32, logarithm to base e of the sum of exponentials, -inf for an empty row
    """
    check_tensor("q", q, torch.bfloat16, 4, q.device)
    check_tensor("k_cache", k_cache, torch.float8_e4m3fn, 4, q.device)
    check_tensor("v_cache", v_cache, torch.float8_e4m3fn, 4, q.device)
    check_tensor("seq_lens", seq_lens, torch.int32, 1, q.device)
    check_tensor("k_scale", k_scale, torch.float32, 0, q.device)
    check_tensor("v_scale", v_scale, torch.float32, 0, q.device)
    B = q.shape[0]
    Q = q.shape[1]
    CAP = k_cache.shape[1]
    check_shape("q", q, (B, Q, HK * G, D))
    check_shape("k_cache", k_cache, (B, CAP, HK, D))
    check_shape("v_cache", v_cache, (B, CAP, HK, D))
    check_shape("seq_lens", seq_lens, (B,))
    out = torch.empty((B, Q, HK * G, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((B, Q, HK * G), dtype=torch.float32, device=q.device)
    if out.numel() == 0:
        return out, lse
    check_range("B", B, 1, 2147483647)
    check_range("Q", Q, 1, 16384)
    check_range("CAP", CAP, 1, 1073741824)
    # where the spec declares its axes; the fallback serves everything else
    declared = 1 <= B <= 128 and 2 <= Q <= 16384 and 1 <= CAP <= 65536
    aligned = is_aligned(q, k_cache, v_cache)
    if declared and aligned and Q >= 16:
        launch_prefill(q, k_cache, v_cache, seq_lens, k_scale, v_scale, out, lse, B, Q, CAP)
    else:
        launch_rest(q, k_cache, v_cache, seq_lens, k_scale, v_scale, out, lse, B, Q, CAP)
    return out, lse
