"""Kernels whose results are known, run in the checked interpreter; prints {check: what is wrong} as
JSON.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from kgen.runner.faults import KernelFault  # noqa: E402
from kgen.runner.interpreter.install import install, use_memory  # noqa: E402

BUILDER = install()

# Bound to what `install` put there, as in a file that is loaded afterwards.
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait  # noqa: E402

BF16, E4M3, E5M2 = torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2
N = 64


@triton.jit
def elementwise(p_x, p_y, p_out, N: tl.constexpr):
    o = tl.arange(0, N)
    x = tl.load(p_x + o)
    y = tl.load(p_y + o)
    tl.store(p_out + o, x + y)
    tl.store(p_out + N + o, x - y)
    tl.store(p_out + 2 * N + o, x * y)
    tl.store(p_out + 3 * N + o, x * 2.5)
    tl.store(p_out + 4 * N + o, tl.where(x < y, x, y))
    tl.store(p_out + 5 * N + o, -x)


@triton.jit
def cast(p_x, p_out, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(p_out + o, tl.load(p_x + o).to(p_out.dtype.element_ty))


@triton.jit
def matmul(p_a, p_b, p_out, K, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N, N), tl.float32)
    for k in range(0, K, N):
        a = tl.load(p_a + i[:, None] * K + k + i[None, :])
        b = tl.load(p_b + (k + i[:, None]) * N + i[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(p_out + i[:, None] * N + i[None, :], acc)


@triton.jit
def row_sum(p_x, p_out, N: tl.constexpr):
    tl.store(p_out, tl.sum(tl.load(p_x + tl.arange(0, N)), 0))


@triton.jit
def larger(p_x, p_y, p_out, N: tl.constexpr):
    o = tl.arange(0, N)
    x, y = tl.load(p_x + o), tl.load(p_y + o)
    tl.store(p_out + o, tl.maximum(x, y))
    tl.store(p_out + N + o, tl.clamp(x, -1.0, 1.0))


@triton.jit
def better(v1, i1, v2, i2):
    first = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


@triton.jit
def best(p_x, p_value, p_index, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(p_x + r[:, None] * N + c[None, :])
    index = tl.broadcast_to(c[None, :], (M, N))
    value, at = tl.reduce((x, index), 1, better)
    tl.store(p_value + r, value)
    tl.store(p_index + r, at)


@triton.jit
def decay(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(p_a, p_b, p_out, N: tl.constexpr):
    o = tl.arange(0, N)
    _, h = tl.associative_scan((tl.load(p_a + o), tl.load(p_b + o)), 0, decay)
    tl.store(p_out + o, h)


@triton.jit
def histogram(p_x, p_out, N: tl.constexpr):
    tl.atomic_add(p_out + tl.zeros((N,), tl.int32), tl.load(p_x + tl.arange(0, N)))


@triton.jit
def typed(p_out, wide: tl.int64, factor, flag, nothing):
    if nothing is None:
        if flag:
            tl.store(p_out, (wide * wide).to(tl.float32) * factor.to(tl.float32))


@triton.jit
def between(p_bounds, p_out):
    total = 0
    for i in range(tl.load(p_bounds), tl.load(p_bounds + 1)):
        total += i
    tl.store(p_out, total)


@triton.jit
def masked(p_x, p_out, flag):
    tl.store(p_out, tl.load(p_x, mask=flag > 0, other=0.0))
    tl.store(p_out + 1, tl.load(p_x, mask=flag > 0))


@triton.jit
def pairs(p_x, p_out, N: tl.constexpr, SHIFT: tl.constexpr):
    o = tl.arange(0, N)
    two = tl.load(p_x.to(tl.pointer_type(tl.uint16)) + o + SHIFT)
    tl.store(p_out + o, (two & 0xFF).to(tl.uint8).to(tl.float8e4nv, bitcast=True).to(tl.float32))


@triton.jit
def shifted_copy(p_x, p_out, N: tl.constexpr, SHIFT: tl.constexpr):
    o = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(p_out + o, tl.load(p_x + o + SHIFT))


@triton.jit
def dependent_copy(p_x, p_y, p_out, N: tl.constexpr, EARLY: tl.constexpr):
    o = tl.arange(0, N)
    gdc_launch_dependents()
    y = tl.load(p_y + o)
    if EARLY:
        x = tl.load(p_x + o)
    gdc_wait()
    if not EARLY:
        x = tl.load(p_x + o)
    tl.store(p_out + o, x + y)


@triton.jit
def locked_add(p_lock, p_total):
    while tl.atomic_cas(p_lock, 0, 1, sem="acquire") == 1:
        pass
    tl.store(p_total, tl.load(p_total) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(p_lock, 0, sem="release")


@triton.jit
def accumulate(p_out):
    tl.atomic_add(p_out, 1.0, sem="relaxed")


@triton.jit
def descriptor_copy(p_x, p_out, rows, N: tl.constexpr):
    x = tl.make_tensor_descriptor(p_x, [rows, N], [N, 1], [16, N])
    o = tl.arange(0, 16)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(p_out + o, x.load([0, 0]))


def bf16_elementwise():
    x, y = torch.randn(2, N).to(BF16)
    out = torch.zeros(6, N, dtype=BF16)
    elementwise[(1,)](x, y, out, N)
    return differ(out, torch.stack([x + y, x - y, x * y, x * 2.5, torch.minimum(x, y), -x]))


def bf16_rounding():
    """Random numbers, ties, the largest numbers, infinity."""
    x = torch.cat([torch.randn(N - 6), 1 + torch.tensor([1, 3, 5]) * 2.0**-8])
    x = torch.cat([x, torch.tensor([3.4e38, float("inf"), -float("inf")])])
    out = torch.zeros(N, dtype=BF16)
    cast[(1,)](x, out, N)
    return differ(out, x.to(BF16))


def fp8_codes(dtype):
    bits = torch.arange(256, dtype=torch.uint8)
    out = torch.zeros(256)
    cast[(1,)](bits.view(dtype), out, 256)
    back = torch.zeros(256, dtype=dtype)
    cast[(1,)](out, back, 256)
    finite = out.isfinite()
    right = differ(out, bits.view(dtype).float())
    return right or differ(back.float()[finite], bits.view(dtype).float()[finite])


def fp8_saturation(dtype):
    top = torch.finfo(dtype).max
    x = torch.randn(N) * top / 2
    out = torch.zeros(N, dtype=dtype)
    cast[(1,)](x, out, N)
    return differ(out.float(), x.clamp(-top, top).to(dtype).float())


def dot(dtype, precision="tf32"):
    """Small integers: exact in any order of addition."""
    a = torch.randint(-4, 5, (16, 48)).to(dtype)
    b = torch.randint(-4, 5, (48, 16)).to(dtype)
    out = torch.zeros(16, 16)
    matmul[(1,)](a, b, out, 48, 16, precision)
    return differ(out, a.float() @ b.float())


def tf32_drops_bits():
    """1 + 2**-11 lies half way between two numbers of tf32; it rounds away from zero."""
    a = torch.eye(16) * (1 + 2.0**-11)
    out, exact = torch.zeros(16, 16), torch.zeros(16, 16)
    matmul[(1,)](a, torch.eye(16), out, 16, 16, "tf32")
    matmul[(1,)](a, torch.eye(16), exact, 16, 16, "ieee")
    return differ(exact, a) or differ(out, torch.eye(16) * (1 + 2.0**-10))


def bf16_sum_rounds_at_each_step():
    """256 + 1 is no bf16 number: the sum stays 256, where float32 would give 257."""
    x = torch.zeros(N, dtype=BF16)
    x[0], x[1] = 256, 1
    out = torch.zeros(1)
    row_sum[(1,)](x, out, N)
    return differ(out, torch.tensor([256.0]))


def nan_loses_to_a_number():
    """PTX max and min return the operand that is a number."""
    x, y = torch.randn(2, N)
    x[::2] = float("nan")
    out = torch.zeros(2, N)
    larger[(1,)](x, y, out, N)
    return differ(out[0], torch.fmax(x, y)) or differ(out[1], x.nan_to_num(-1).clamp(-1, 1))


def reduction_of_pairs():
    x = torch.randint(0, 8, (4, 32)).float()
    value, index = torch.zeros(4), torch.zeros(4, dtype=torch.int32)
    best[(1,)](x, value, index, 4, 32)
    first = torch.stack([(row == row.max()).nonzero()[0, 0] for row in x]).int()
    return differ(value, x.amax(1)) or differ(index, first)


def scan_of_pairs():
    a, b = torch.rand(N), torch.randn(N)
    out = torch.zeros(N)
    recurrence[(1,)](a, b, out, N)
    h, right = torch.zeros(()), []
    for i in range(N):
        h = a[i] * h + b[i]
        right.append(h)
    return "" if torch.allclose(out, torch.stack(right), atol=1e-5) else "wrong"


def bf16_atomics_round_at_each_step():
    x = torch.ones(N, dtype=BF16)
    out = torch.full((1,), 250, dtype=BF16)
    histogram[(1,)](x, out, N)
    return differ(out, torch.tensor([256], dtype=BF16))


def argument_types():
    """An annotated int64 is one, a float has `.to`, a bool is a condition, None is None."""
    out = torch.zeros(1)
    typed[(1,)](out, 2**20, 0.5, True, None)
    return differ(out, torch.tensor([2.0**39]))


def loop_over_loaded_bounds():
    out = torch.zeros(1, dtype=torch.int32)
    between[(1,)](torch.tensor([3, 7], dtype=torch.int32), out)
    return differ(out, torch.tensor([3 + 4 + 5 + 6], dtype=torch.int32))


def masked_scalar_load():
    """With `other=0.0` it is 0; without `other` it is undefined, shown as NaN."""
    out = torch.ones(2)
    masked[(1,)](torch.ones(1), out, 0)
    return differ(out[:1], torch.zeros(1)) or ("" if out[1].isnan() else f"got {out[1]}")


def pointer_to_a_wider_type():
    x = torch.randn(2 * N).to(E4M3)
    out = torch.zeros(N)
    pairs[(1,)](x, out, N, 0)
    return differ(out, x.float()[::2])


def wider_access_past_the_end():
    x, out = torch.randn(2 * N).to(E4M3), torch.zeros(N)
    return must_raise("KG703", f"'p_x' at element [{2 * N}]", lambda: pairs[(1,)](x, out, N, 1))


def expanded_tensor():
    """All rows of an expanded tensor are the same memory, and only that row is the tensor's."""
    x = torch.randn(1, N).expand(4, N)
    out = torch.zeros(N)
    shifted_copy[(1,)](x, out, N, 0)
    return differ(out, x[0]) or must_raise(
        "KG703", f"'p_x' at element [0, {N}]", lambda: shifted_copy[(1,)](x, out, N, 1)
    )


def same_memory_by_two_names():
    """Program 1 loads, by one name, what program 0 stored by the other."""
    x = torch.zeros(3 * N)
    return must_raise("KG704", "'p_x'", lambda: shifted_copy[(2,)](x, x[N:], N, 0))


def store_to_what_another_program_loaded():
    x = torch.zeros(3 * N)
    return must_raise("KG704", "was loaded by", lambda: shifted_copy[(2,)](x, x, N, N))


def one_launch_after_another():
    """Launches of one stream are ordered."""
    x, y = torch.randn(2, 2 * N)
    shifted_copy[(2,)](x, y, N, 0)
    shifted_copy[(1,)](y[N:], y, N, 0)
    return differ(y[:N], x[N:])


def dependent_launch():
    """It may load what no kernel wrote before it waits, and what the launch before wrote after."""
    x, weight, middle, out = torch.randn(4, N)
    shifted_copy[(1,)](x, middle, N, 0)
    dependent_copy[(1,)](middle, weight, out, N, False, launch_pdl=True)
    return differ(out, x + weight)


def dependent_launch_that_loads_too_early():
    x, weight, middle, out = torch.randn(4, N)
    shifted_copy[(1,)](x, middle, N, 0)
    dependent_copy[(1,)](middle, weight, out, N, True)
    return differ(out, x + weight) or must_raise(
        "KG704",
        "by program (0, 0, 0) of kernel 'shifted_copy'; this launch may overlap that one",
        lambda: dependent_copy[(1,)](middle, weight, out, N, True, launch_pdl=True),
    )


def spin_lock():
    """Acquire, barrier, release: every program sees the total of those before."""
    lock = torch.zeros(1, dtype=torch.int32)
    total = torch.zeros(1, dtype=torch.int32)
    locked_add[(5,)](lock, total)
    return differ(total, torch.tensor([10], dtype=torch.int32))


def relaxed_atomics_do_not_race():
    out = torch.zeros(1)
    accumulate[(7,)](out)
    return differ(out, torch.tensor([7.0]))


def tensor_descriptor():
    """Rows past the tensor are zero, and are not read."""
    x, out = torch.randn(9, 32), torch.ones(16, 32)
    descriptor_copy[(1,)](x, out, 9, 32)
    return differ(out[:9], x) or differ(out[9:], torch.zeros(7, 32))


CHECKS = {
    "bf16 arithmetic": bf16_elementwise,
    "bf16 rounding": bf16_rounding,
    "e4m3 codes": lambda: fp8_codes(E4M3),
    "e5m2 codes": lambda: fp8_codes(E5M2),
    "e4m3 saturation": lambda: fp8_saturation(E4M3),
    "e5m2 saturation": lambda: fp8_saturation(E5M2),
    "bf16 dot": lambda: dot(BF16),
    "fp16 dot": lambda: dot(torch.float16),
    "e4m3 dot": lambda: dot(E4M3),
    "fp32 dot": lambda: dot(torch.float32, "ieee"),
    "tf32": tf32_drops_bits,
    "bf16 sum": bf16_sum_rounds_at_each_step,
    "NaN in maximum and clamp": nan_loses_to_a_number,
    "reduction of pairs": reduction_of_pairs,
    "scan of pairs": scan_of_pairs,
    "bf16 atomics": bf16_atomics_round_at_each_step,
    "types of arguments": argument_types,
    "loop over loaded bounds": loop_over_loaded_bounds,
    "masked scalar load": masked_scalar_load,
    "pointer to a wider type": pointer_to_a_wider_type,
    "wider access past the end": wider_access_past_the_end,
    "expanded tensor": expanded_tensor,
    "same memory by two names": same_memory_by_two_names,
    "store to what another loaded": store_to_what_another_program_loaded,
    "one launch after another": one_launch_after_another,
    "dependent launch": dependent_launch,
    "dependent launch that loads too early": dependent_launch_that_loads_too_early,
    "spin lock": spin_lock,
    "relaxed atomics": relaxed_atomics_do_not_race,
    "tensor descriptor": tensor_descriptor,
}


def differ(got, right):
    same = (got == right) | (got.isnan() & right.isnan())
    return "" if bool(same.all()) else f"{int((~same).sum())} of {same.numel()} elements are wrong"


def must_raise(code, text, launch):
    try:
        launch()
    except KernelFault as fault:
        told = f"{fault.code}: {fault.message}"
        return "" if fault.code == code and text in fault.message else told
    return "no alarm rang"


def main():
    outcomes = {}
    for name, check in CHECKS.items():
        torch.manual_seed(0)
        use_memory(BUILDER, {}, {})
        try:
            outcomes[name] = check()
        except Exception as error:
            outcomes[name] = f"{type(error).__name__}: {error}"
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
