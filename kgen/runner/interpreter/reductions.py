"""`tl.reduce` and `tl.associative_scan`, a whole slice at a time.

Triton's interpreter calls a combine function once an element (16x128 pairs take 233 ms). A combine
function is element-wise, so it can take slices: log2(n) calls for a reduction, n - 1 for a scan.
Every call goes through the builder, so bf16 and fp8 are rounded at each step, as on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as it

from kgen.runner.faults import KernelFault
from kgen.runner.interpreter.formats import STORED_AS_BITS

Slices = tuple[np.ndarray, ...]

_INDEXED = frozenset(
    {tl.standard._argmin_combine_tie_break_left, tl.standard._argmax_combine_tie_break_left}
)


class _Combiner:
    """Calls a combine function on whole arrays."""

    def __init__(self, operation: it.ReduceScanOpInterface, inputs: Sequence[tl.tensor]):
        self._operation = operation
        self._dtypes = [tensor.dtype for tensor in inputs]

    def __call__(self, first: Slices, second: Slices) -> Slices:
        combined = self._operation.combine_fn.fn(*self._tensors(first), *self._tensors(second))
        tensors = combined if isinstance(combined, tuple) else (combined,)
        shape = first[0].shape
        return tuple(np.broadcast_to(tensor.handle.data, shape) for tensor in tensors)

    def _tensors(self, arrays: Slices) -> list[tl.tensor]:
        return [self._operation.to_tensor(a, t) for a, t in zip(arrays, self._dtypes)]


class Reduce(it.ReduceOps):
    """`tl.reduce`, of which `tl.sum`, `tl.max` and `tl.argmax` are cases."""

    def apply_impl(self, inputs: Sequence[tl.tensor]):
        as_bits = any(tensor.dtype in STORED_AS_BITS for tensor in inputs)
        unordered = self.combine_fn in _INDEXED and _has_nan(inputs[0])
        if as_bits or unordered:
            return self.generic_reduce(inputs)
        return super().apply_impl(inputs)

    def sum(self, tensor: tl.tensor) -> tl.tensor:
        """numpy adds small integers in 64 bits, which shows whether the sum fits."""
        data = tensor.handle.data
        total = np.sum(data, axis=self.axis, keepdims=self.keep_dims)
        result = self.to_tensor(total, tensor.dtype)
        if data.dtype.kind == "i" and (total != result.handle.data.reshape(total.shape)).any():
            where = it.interpreter_builder.where()
            message = f"{data.dtype} overflow: tl.sum of a block wraps, in {where}"
            raise KernelFault("KG705", message, where)
        return result

    def generic_reduce(self, inputs: Sequence[tl.tensor]) -> list[tl.tensor]:
        """A tree over neighbours, in order, so the combine function need not commute."""
        shape = inputs[0].handle.data.shape
        axis = 0 if self.axis is None else self.axis % len(shape)
        arrays = tuple(
            t.handle.data if self.axis is not None else t.handle.data.ravel() for t in inputs
        )
        combine = _Combiner(self, inputs)
        while arrays[0].shape[axis] > 1:
            arrays = combine(*(_every_second(arrays, axis, start) for start in (0, 1)))
        return [
            self.to_tensor(self._shaped(a, axis, len(shape)), t.dtype)
            for a, t in zip(arrays, inputs)
        ]

    def _shaped(self, reduced: np.ndarray, axis: int, rank: int) -> np.ndarray:
        if self.axis is None:
            return reduced.reshape((1,) * rank if self.keep_dims else ())
        return reduced if self.keep_dims else np.squeeze(reduced, axis)


class Scan(it.ScanOps):
    """`tl.associative_scan`, of which `tl.cumsum` is a case."""

    def apply_impl(self, inputs: Sequence[tl.tensor]):
        if not any(tensor.dtype in STORED_AS_BITS for tensor in inputs):
            return super().apply_impl(inputs)
        flip = (lambda a: np.flip(a, axis=self.axis)) if self.reverse else (lambda a: a)
        ordered = [self.to_tensor(flip(tensor.handle.data), tensor.dtype) for tensor in inputs]
        scanned = self.generic_scan(ordered)
        return [self.to_tensor(flip(tensor.handle.data), tensor.dtype) for tensor in scanned]

    def generic_scan(self, inputs: Sequence[tl.tensor]) -> list[tl.tensor]:
        axis = self.axis % len(inputs[0].handle.data.shape)
        arrays = tuple(tensor.handle.data for tensor in inputs)
        combine = _Combiner(self, inputs)
        steps = [_one(arrays, axis, 0)]
        for i in range(1, arrays[0].shape[axis]):
            steps.append(combine(steps[-1], _one(arrays, axis, i)))
        joined = (np.concatenate(slices, axis=axis) for slices in zip(*steps))
        return [self.to_tensor(a, tensor.dtype) for a, tensor in zip(joined, inputs)]


def _every_second(arrays: Slices, axis: int, start: int) -> Slices:
    at = (slice(None),) * axis + (slice(start, None, 2),)
    return tuple(a[at] for a in arrays)


def _one(arrays: Slices, axis: int, index: int) -> Slices:
    at = (slice(None),) * axis + (slice(index, index + 1),)
    return tuple(a[at] for a in arrays)


def _has_nan(tensor: tl.tensor) -> bool:
    data = tensor.handle.data
    return data.dtype.kind == "f" and bool(np.isnan(data).any())
