"""Arithmetic on numbers instead of bit patterns, with the alarms and rules that a GPU's results
depend on.

Triton's interpreter computes bf16 and fp8 on their bits (triton-lang/triton#11584, #8322) and
rounds casts toward zero. Here every operation decodes, computes in float32 and rounds once.
"""

from __future__ import annotations

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as it

from kgen.runner.faults import KernelFault, Unsupported, Where
from kgen.runner.interpreter.formats import STORED_AS_BITS, decode, encode, np_dtype

Handle = it.TensorHandle

_SIGNS = {np.add: "+", np.subtract: "-", np.multiply: "*"}
_TF32_DROPPED = np.uint32(13)


def number(handle: Handle) -> np.ndarray:
    """The handle's data as numbers: float32 for bf16 and fp8, the data itself for anything else."""
    dtype = handle.dtype.scalar
    return decode(handle.data, dtype) if dtype in STORED_AS_BITS else handle.data


def as_handle(values: np.ndarray, dtype: tl.dtype) -> Handle:
    """A handle of `dtype` for computed values; booleans are int1 whatever was compared."""
    if values.dtype == np.bool_:
        return Handle(values, tl.int1)
    if dtype in STORED_AS_BITS:
        return Handle(encode(values, dtype), dtype)
    return Handle(values.astype(np_dtype(dtype), copy=False), dtype)


class ValueOps(it.InterpreterBuilder):
    """The builder's arithmetic. `kernel` is the name of the one that runs."""

    kernel = ""

    def where(self) -> Where:
        """The kernel and program that run now."""
        return Where(self.kernel, tuple(self.grid_idx))

    def binary_op(self, lhs: Handle, rhs: Handle, op: np.ufunc) -> Handle:
        a, b = number(lhs), number(rhs)
        result = op(a, b)
        if op in _SIGNS and result.dtype.kind == "i" and result.dtype.itemsize < 8:
            self._check_overflow(a, b, result, op)
        return as_handle(result, lhs.dtype.scalar)

    def unary_op(self, arg: Handle, op: np.ufunc) -> Handle:
        return as_handle(op(number(arg)), arg.dtype.scalar)

    def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
        return as_handle(number(x) * number(y) + number(z), z.dtype.scalar)

    def create_clampf(self, arg: Handle, low: Handle, high: Handle, nan_mode: object) -> Handle:
        """Clamps; unless NaN is to be propagated, a NaN becomes `low` as PTX `max` and `min` make
        it.
        """
        if nan_mode == it._ir.PROPAGATE_NAN.ALL:
            clamped = np.clip(number(arg), number(low), number(high))
        else:
            clamped = np.fmin(np.fmax(number(arg), number(low)), number(high))
        return as_handle(clamped, arg.dtype.scalar)

    # PTX min and max return the operand that is no NaN; numpy's minimum and maximum return the NaN.
    def create_minnumf(self, lhs: Handle, rhs: Handle) -> Handle:
        return self.binary_op(lhs, rhs, np.fmin)

    def create_maxnumf(self, lhs: Handle, rhs: Handle) -> Handle:
        return self.binary_op(lhs, rhs, np.fmax)

    def create_dot(
        self, a: Handle, b: Handle, d: Handle, input_precision: object, imprecise: int
    ) -> Handle:
        x, y = number(a), number(b)
        if x.dtype == np.float32 and input_precision == it._ir.INPUT_PRECISION.TF32:
            exact = a.dtype.scalar in STORED_AS_BITS
            x, y = (x, y) if exact else (_tf32(x), _tf32(y))
        start = number(d)
        wide = np.promote_types(start.dtype, np.float32) if start.dtype.kind == "f" else start.dtype
        return as_handle(np.matmul(x, y, dtype=wide) + start, d.dtype.scalar)

    def cast_impl(self, src: Handle, dst_type: tl.dtype) -> Handle:
        return as_handle(_castable(number(src)), dst_type.scalar)

    def create_fp_to_fp(self, src: Handle, dst_type: tl.dtype, rounding_mode: object) -> Handle:
        if rounding_mode not in (None, it._ir.ROUNDING_MODE.RTNE):
            raise Unsupported(f"a cast to {dst_type.scalar} with rounding {rounding_mode}")
        return self.cast_impl(src, dst_type)

    def create_inline_asm(self, inline_asm: str, *_: object) -> Handle:
        raise Unsupported(f"inline assembly ({inline_asm.strip()!r})")

    def create_extern_elementwise(self, library: str, path: str, symbol: str, *_: object) -> Handle:
        raise Unsupported(f"the external function {symbol!r}")

    def __getattr__(self, name: str) -> object:
        """What the interpreter's builder lacks in this version of Triton."""
        if name.startswith("create_"):
            raise Unsupported(f"the operation {name.removeprefix('create_')!r}")
        raise AttributeError(name)

    def _check_overflow(
        self, a: np.ndarray, b: np.ndarray, result: np.ndarray, op: np.ufunc
    ) -> None:
        """Raises where a signed result of at most 32 bits wrapped; int64 holds the exact ones."""
        exact = op(a.astype(np.int64), b.astype(np.int64))
        wrapped = exact != result
        if not wrapped.any():
            return
        at = tuple(int(i) for i in np.argwhere(wrapped)[0])
        left = int(np.broadcast_to(a, result.shape)[at])
        right = int(np.broadcast_to(b, result.shape)[at])
        width = result.dtype.itemsize * 8
        raise KernelFault(
            "KG705",
            f"int{width} overflow: {left} {_SIGNS[op]} {right} is {int(exact[at])}, "
            f"which wraps to {int(result[at])}, in {self.where()}, lane {at}",
            self.where(),
        )


def _castable(values: np.ndarray) -> np.ndarray:
    """Booleans as int8: True is 1 in every other type."""
    return values.view(np.int8) if values.dtype == np.bool_ else values


def _tf32(values: np.ndarray) -> np.ndarray:
    """float32 rounded to tf32's 10 mantissa bits, ties away from zero (PTX `cvt.rna.tf32.f32`)."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    half = np.uint32(1) << (_TF32_DROPPED - np.uint32(1))
    rounded = ((bits + half) >> _TF32_DROPPED << _TF32_DROPPED).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


def _constant(dtype: tl.dtype):
    """The builder's `get_<dtype>` for a format that the interpreter keeps as bits."""
    return lambda self, value: as_handle(np.array([value], np.float32), dtype)


for _dtype in STORED_AS_BITS:
    setattr(ValueOps, f"get_{_dtype.name}", _constant(_dtype))
