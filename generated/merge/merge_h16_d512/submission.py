# merge_h16_d512
#
# Partial states of attention over latents as one, such as those of a shared prefix and of what
# follows it.
#
# regime  when       kernel
# rest    otherwise  generic
#     BLOCK_N=4, NUM_WARPS=4
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from merge_h16_d512.yaml
# spec 1b41bf145d5913b93ccc927a9cc17170319f742b93636c7b51cbed834038ebae
# templates 1b099566daf8fdd1d826596877c2a993cccd37b7fc242729cd82474edcfd7efb

import torch
import triton
import triton.language as tl

H = 16  # query heads
D = 512  # columns of an output


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


@triton.jit(
    do_not_specialize=[
        "p_parts",
        "p_lse",
        "stride_parts_n",
        "stride_parts_t",
        "stride_parts_h",
        "stride_lse_n",
        "stride_lse_t",
        "N",
    ]
)
def merge_kernel(
    p_parts,
    p_lse,
    p_out,
    p_merged_lse,
    stride_parts_n: tl.int64,
    stride_parts_t: tl.int64,
    stride_parts_h: tl.int64,
    stride_lse_n: tl.int64,
    stride_lse_t: tl.int64,
    stride_out_t: tl.int64,
    stride_out_h: tl.int64,
    stride_merged_lse_t: tl.int64,
    N: tl.int32,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    i_t, i_h = tl.program_id(0), tl.program_id(1)
    o_d = tl.arange(0, BLOCK_D)

    b_m = tl.full((), float("-inf"), tl.float32)
    b_l = tl.zeros((), tl.float32)
    b_acc = tl.zeros((BLOCK_D,), tl.float32)
    for i_n in tl.range(0, N, BLOCK_N):
        o_n = i_n + tl.arange(0, BLOCK_N)
        m_n = o_n < N
        b_lse = (
            tl.load(
                p_lse + o_n * stride_lse_n + i_t * stride_lse_t + i_h, mask=m_n, other=float("-inf")
            )
            * 1.4426950408889634
        )
        b_part = tl.load(
            p_parts
            + o_n[:, None] * stride_parts_n
            + i_t * stride_parts_t
            + i_h * stride_parts_h
            + o_d[None, :],
            mask=m_n[:, None],
            other=0.0,
        ).to(tl.float32)
        b_m_new = tl.maximum(b_m, tl.max(b_lse, 0))
        # the largest has a weight of 1, also where it is inf, by a sink, or -inf, where no state has keys
        b_w = tl.where(b_lse == b_m_new, 1.0, tl.exp2(b_lse - b_m_new))
        b_alpha = tl.where(b_m == b_m_new, 1.0, tl.exp2(b_m - b_m_new))
        # what a state of no keys holds may be anything
        b_part = tl.where((b_lse > float("-inf"))[:, None], b_part, 0.0)
        b_l = b_l * b_alpha + tl.sum(b_w, 0)
        b_acc = b_acc * b_alpha + tl.sum(b_w[:, None] * b_part, 0)
        b_m = b_m_new

    tl.store(
        p_out + i_t * stride_out_t + i_h * stride_out_h + o_d,
        (b_acc / b_l).to(p_out.dtype.element_ty),
    )
    b_all = b_m + tl.log2(b_l)
    tl.store(p_merged_lse + i_t * stride_merged_lse_t + i_h, b_all * 0.6931471805599453)


def launch_rest(parts, lse, out, merged_lse, T, N):
    """Regime rest: generic."""
    merge_kernel[(T, H)](
        parts,
        lse,
        out,
        merged_lse,
        parts.stride(0),
        parts.stride(1),
        parts.stride(2),
        lse.stride(0),
        lse.stride(1),
        out.stride(0),
        out.stride(1),
        merged_lse.stride(0),
        N,
        BLOCK_N=4,
        BLOCK_D=512,
        num_warps=4,
        num_stages=2,
    )


def warmup():
    """Compiles every kernel that this file can launch, so that no call and no graph capture has to."""
    # fmt: off
    signatures = [
        (merge_kernel, (torch.bfloat16, torch.float32, torch.bfloat16, torch.float32, 1, 1, 1, 1, 1,
            16, 16, 16, 1,), dict(BLOCK_N=4, BLOCK_D=512), 4, 2),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(parts, lse):
    """Merge as the table at the top has it.

    parts: [N, T, H, D] bf16, outputs of states
    lse: [N, T, H] fp32, logarithm to base e of the sum of exponentials, of states
    returns out: [T, H, D] bf16, all of them
    returns merged_lse: [T, H] fp32, logarithm to base e of the sum of exponentials, of all; -inf where no state has keys
    """
    check_tensor("parts", parts, torch.bfloat16, 4, parts.device)
    check_tensor("lse", lse, torch.float32, 3, parts.device)
    N = parts.shape[0]
    T = parts.shape[1]
    check_shape("parts", parts, (N, T, H, D))
    check_shape("lse", lse, (N, T, H))
    out = torch.empty((T, H, D), dtype=torch.bfloat16, device=parts.device)
    merged_lse = torch.empty((T, H), dtype=torch.float32, device=parts.device)
    if out.numel() == 0:
        return out, merged_lse
    check_range("T", T, 1, 2147483647)
    check_range("N", N, 1, 1048576)
    launch_rest(parts, lse, out, merged_lse, T, N)
    return out, merged_lse
