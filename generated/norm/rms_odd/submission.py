# rms_odd
#
# RMSNorm over rows whose length is no power of two, down to three elements; FP16 in, FP32 out, FP32
# weight.
#
# regime  when       kernel
# rows    otherwise  rms
#     NUM_WARPS=4, ALIGNED=False
#
# devices h200; targets sm_90
# written by kgen 0.1.0 from rms_odd.yaml
# spec bbdc8585a61ac8b5f56521cacbb396b33584d9bab3d7cf7bfbfd4d0e6175a9bc
# templates d93a17f457c5129bfcd8b7a98f1cb1033faeb56815c34eca80ea3ae873716c22

import torch
import triton
import triton.language as tl

EPS = 1e-05  # added to the mean square before the root


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


def check_choice(name, value, allowed):
    if value is not None and type(value) is not int:
        raise TypeError(f"{name} is {value!r}, neither an integer nor None")
    if value not in allowed:
        raise ValueError(f"{name} is {value}; this file serves {allowed}")


@triton.jit(do_not_specialize=["p_x", "p_weight", "stride_x_t", "stride_out_t"])
def rms_kernel(
    p_x,
    p_weight,
    p_out,
    stride_x_t: tl.int64,
    stride_out_t: tl.int64,
    H: tl.constexpr,
    EPS: tl.constexpr,
    BLOCK_H: tl.constexpr,
):
    i_t = tl.program_id(0)
    o_h = tl.arange(0, BLOCK_H)
    m_h = o_h < H

    b_x = tl.load(p_x + i_t * stride_x_t + o_h, mask=m_h, other=0.0).to(tl.float32)
    # the mean is over H: padded columns hold 0 and add nothing
    b_rstd = tl.rsqrt(tl.sum(b_x * b_x, 0) / H + EPS)
    b_y = b_x * b_rstd
    b_y *= tl.load(p_weight + o_h, mask=m_h, other=0.0).to(tl.float32)
    tl.store(p_out + i_t * stride_out_t + o_h, b_y.to(p_out.dtype.element_ty), mask=m_h)


def launch_rows(x, weight, out, T, H):
    """Regime rows: rms (padded)."""
    # columns of the tile
    BLOCK_H = next_pow2(H)
    rms_kernel[(T,)](
        x,
        weight,
        out,
        x.stride(0),
        out.stride(0),
        H=H,
        EPS=EPS,
        BLOCK_H=BLOCK_H,
        num_warps=4,
        num_stages=1,
    )


def warmup():
    """Compiles every kernel that this file can launch, so that no call and no graph capture has to."""
    # fmt: off
    signatures = [
        (rms_kernel, (torch.float16, torch.float32, torch.float32, 1, 1,), dict(H=3, EPS=1e-05,
            BLOCK_H=4), 4, 1),
        (rms_kernel, (torch.float16, torch.float32, torch.float32, 1, 1,), dict(H=513, EPS=1e-05,
            BLOCK_H=1024), 4, 1),
        (rms_kernel, (torch.float16, torch.float32, torch.float32, 1, 1,), dict(H=2880, EPS=1e-05,
            BLOCK_H=4096), 4, 1),
    ]
    # fmt: on
    for kernel, arguments, constants, num_warps, num_stages in signatures:
        kernel.warmup(
            *arguments, grid=(1,), num_warps=num_warps, num_stages=num_stages, **constants
        )


def run(x, weight):
    """Norm as the table at the top has it.

    x: [T, H] fp16, rows
    weight: [H] fp32, a factor for each column
    returns out: [T, H] fp32, rows, each normalised
    """
    check_tensor("x", x, torch.float16, 2, x.device)
    check_tensor("weight", weight, torch.float32, 1, x.device)
    T = x.shape[0]
    H = x.shape[1]
    check_shape("x", x, (T, H))
    check_shape("weight", weight, (H,))
    out = torch.empty((T, H), dtype=torch.float32, device=x.device)
    if out.numel() == 0:
        return out
    check_range("T", T, 1, 8388624)
    check_choice("H", H, (3, 513, 2880))
    launch_rows(x, weight, out, T, H)
    return out
