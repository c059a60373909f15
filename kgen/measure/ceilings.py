"""What the device reaches in this very run: the measures that times are compared with."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from kgen.measure.device import Device

READ_BYTES = 2**31
BLOCK = 8192
MATMUL = 8192
EMPTY_LAUNCHES = 2000
REPLAYS = 7


@triton.jit
def read_kernel(p_x, p_out, blocks, BLOCK: tl.constexpr):
    """Reads 16 bytes a lane and turn, a program every grid-th block; stores only what no sum can be."""
    o = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for i in range(tl.program_id(0), blocks, tl.num_programs(0)):
        total += tl.load(p_x + i.to(tl.int64) * BLOCK + o)
    tl.store(p_out + o, total, mask=total == 2147483647)


@triton.jit
def empty_kernel():
    """Does nothing."""
    pass


def measured(device: Device) -> dict[str, float | None]:
    """The record's `limits`."""
    return {
        "empty_launch_s": _empty_launch(device),
        "read_bytes_per_s": _read(device),
        "matmul_flops_per_s": _matmul(device),
    }


def _empty_launch(device: Device) -> float:
    with device.eager():
        empty_kernel[(1,)]()

    def launches() -> None:
        for _ in range(EMPTY_LAUNCHES):
            empty_kernel[(1,)]()

    replay = device.capture(launches)
    return median(device.timed(replay, REPLAYS)) / EMPTY_LAUNCHES


def _read(device: Device) -> float | None:
    """The best of a few grids, in a buffer far larger than L2."""
    size = min(READ_BYTES, device.free_bytes() // 2)
    if size < 4 * device.l2_bytes:
        return None
    blocks = size // (4 * BLOCK)
    x = torch.zeros(blocks * BLOCK, dtype=torch.int32, device=device.torch)
    out = torch.empty(BLOCK, dtype=torch.int32, device=device.torch)
    sms = torch.cuda.get_device_properties(device.torch).multi_processor_count
    best = float("inf")
    for waves in (2, 4, 8):

        def read() -> None:
            read_kernel[(sms * waves,)](x, out, blocks, BLOCK=BLOCK, num_warps=8)

        best = min(best, median(device.timed(read, REPLAYS)))
    return 4 * blocks * BLOCK / best


def _matmul(device: Device) -> float | None:
    if device.free_bytes() < 8 * MATMUL * MATMUL:
        return None
    a, b = (
        torch.randn(MATMUL, MATMUL, dtype=torch.bfloat16, device=device.torch) for _ in range(2)
    )
    return 2 * MATMUL**3 / median(device.timed(lambda: torch.mm(a, b), REPLAYS))
