"""Known kernels, run before anything else: an interpreter that gets these wrong is not trusted.

Half of them compute something that Triton's own interpreter gets wrong in some version; the others
do something forbidden, and the alarm must ring.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from kgen.runner.faults import KernelFault, Untrusted
from kgen.runner.interpreter.builder import CheckedBuilder
from kgen.runner.interpreter.install import use_memory

_N = 16


@triton.jit
def _matmul(p_a, p_b, p_out, K, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N, N), tl.float32)
    for k in range(0, K, N):
        a = tl.load(p_a + i[:, None] * K + k + i[None, :])
        b = tl.load(p_b + (k + i[:, None]) * N + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(p_out + i[:, None] * N + i[None, :], acc)


@triton.jit
def _arithmetic(p_x, p_y, p_sum, p_greater, p_total, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(p_x + i)
    y = tl.load(p_y + i)
    tl.store(p_sum + i, x + y)
    tl.store(p_greater + i, tl.where(x > y, 1, 0))
    tl.store(p_total, tl.sum(x, 0))


@triton.jit
def _store(p_x, p_out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(p_out + i, tl.load(p_x + i).to(p_out.dtype.element_ty))


@triton.jit
def _wide(p_out, n: tl.int64):
    tl.store(p_out, n * n)


@triton.jit
def _narrow(p_out, n: tl.int32):
    tl.store(p_out, n * n)


@triton.jit
def _everybody(p_out):
    tl.store(p_out, tl.program_id(0))


@triton.jit
def _past_the_end(p_x, p_out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(p_out + i, tl.load(p_x + i + 1))


def check_interpreter(builder: CheckedBuilder) -> None:
    """Raises `Untrusted`, naming what failed, unless every probe comes out as it must."""
    torch_state = torch.get_rng_state()
    torch.manual_seed(0)
    try:
        for name, probe in _PROBES.items():
            use_memory(builder, {}, {})
            problem = _outcome(probe)
            if problem:
                raise Untrusted(
                    f"triton {triton.__version__}'s interpreter fails the probe {name!r}: "
                    f"{problem}; nothing it computes is believed"
                )
    finally:
        torch.set_rng_state(torch_state)


def _outcome(probe: Callable[[], str]) -> str:
    try:
        return probe()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _bf16_dot() -> str:
    """Also a loop over a run-time value. Products of small integers are exact in every order of
    addition.
    """
    a = torch.randint(-8, 8, (_N, 2 * _N)).to(torch.bfloat16)
    b = torch.randint(-8, 8, (2 * _N, _N)).to(torch.bfloat16)
    out = torch.zeros(_N, _N)
    _matmul[(1,)](a, b, out, 2 * _N, _N)
    return _differ(out, a.float() @ b.float())


def _bf16_arithmetic() -> str:
    """`tl.sum` of bf16 rounds at each step, as on a GPU; sums of these eighths are exact in any
    order.
    """
    x = (torch.randint(-8, 8, (_N,)) / 8).to(torch.bfloat16)
    y = (torch.randn(_N) / 16).to(torch.bfloat16)
    total, greater = torch.zeros(_N, dtype=torch.bfloat16), torch.zeros(_N, dtype=torch.int32)
    all_of_x = torch.zeros(1)
    _arithmetic[(1,)](x, y, total, greater, all_of_x, _N)
    return (
        _differ(total, x + y)
        or _differ(greater, (x > y).int())
        or _differ(all_of_x, x.float().sum().reshape(1))
    )


def _rounded_store() -> str:
    x = torch.randn(_N)
    out = torch.zeros(_N, dtype=torch.bfloat16)
    _store[(1,)](x, out, _N)
    return _differ(out, x.to(torch.bfloat16))


def _saturated_fp8() -> str:
    x = torch.cat([torch.randn(_N - 3) * 30, torch.tensor([31.5, 500.0, -1e9])])
    out, back = torch.zeros(_N, dtype=torch.float8_e4m3fn), torch.zeros(_N)
    _store[(1,)](x, out, _N)
    _store[(1,)](out, back, _N)
    return _differ(back, x.clamp(-448, 448).to(torch.float8_e4m3fn).float())


def _annotated_int64() -> str:
    out = torch.zeros(1, dtype=torch.int64)
    _wide[(1,)](out, 65536)
    return _differ(out, torch.tensor([2**32]))


def _overflow_alarm() -> str:
    out = torch.zeros(1, dtype=torch.int32)
    return _must_raise("KG705", lambda: _narrow[(1,)](out, 65536))


def _race_alarm() -> str:
    out = torch.zeros(1, dtype=torch.int32)
    return _must_raise("KG704", lambda: _everybody[(2,)](out))


def _bounds_alarm() -> str:
    x, out = torch.zeros(2, _N)
    return _must_raise("KG703", lambda: _past_the_end[(1,)](x, out, _N))


_PROBES = {
    "bf16 dot in a loop": _bf16_dot,
    "bf16 arithmetic": _bf16_arithmetic,
    "bf16 store rounding": _rounded_store,
    "fp8 round trip": _saturated_fp8,
    "tl.int64 annotation": _annotated_int64,
    "overflow alarm": _overflow_alarm,
    "race alarm": _race_alarm,
    "bounds alarm": _bounds_alarm,
}


def _differ(got: torch.Tensor, right: torch.Tensor) -> str:
    if torch.equal(got, right):
        return ""
    return f"{int((got != right).sum())} of {right.numel()} elements are wrong"


def _must_raise(code: str, launch: Callable[[], object]) -> str:
    try:
        launch()
    except KernelFault as fault:
        return "" if fault.code == code else f"the alarm was {fault.code}: {fault}"
    return "no alarm rang"
