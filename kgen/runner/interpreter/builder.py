"""The builder with checked memory: what `tl.load`, `tl.store` and the atomics end in."""

from __future__ import annotations

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter as it

from kgen.runner.interpreter.formats import np_dtype
from kgen.runner.interpreter.memory import Memory, Ordering
from kgen.runner.interpreter.values import Handle, ValueOps, as_handle, number

_SEMANTIC = it._ir.MEM_SEMANTIC
_RELEASES = (_SEMANTIC.RELEASE, _SEMANTIC.ACQUIRE_RELEASE)
_ACQUIRES = (_SEMANTIC.ACQUIRE, _SEMANTIC.ACQUIRE_RELEASE)


class CheckedBuilder(ValueOps):
    """Sends every access through `memory`.

    `other_is_given` is set by `CheckedSemantic`: a masked load whose `other` is a scalar zero
    reaches the builder as one without `other`.
    """

    memory: Memory
    other_is_given = False

    # Cache hints differ between versions of Triton and change no value.
    def create_load(self, ptr: Handle, *hints: object) -> Handle:
        mask = Handle(np.ones(ptr.data.shape, bool), tl.int1)
        return self.create_masked_load(ptr, mask, None)

    def create_store(self, ptr: Handle, value: Handle, *hints: object) -> None:
        mask = Handle(np.ones(ptr.data.shape, bool), tl.int1)
        self.create_masked_store(ptr, value, mask)

    def create_masked_load(
        self, ptrs: Handle, mask: Handle, other: Handle | None, *hints: object, **more: object
    ) -> Handle:
        dtype = ptrs.get_element_ty()
        if other is not None:
            rest = other.data
        else:
            rest = _zero(dtype) if self.other_is_given else _undefined(dtype)
        return Handle(self.memory.load(ptrs.data, mask.data, rest, self.where()), dtype)

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle, *hints: object, **more: object
    ) -> None:
        self.memory.store(ptrs.data, value.data, mask.data, self.where())

    def create_atomic_rmw(
        self, op: object, ptr: Handle, val: Handle, mask: Handle, sem: object, scope: object
    ) -> Handle:
        pointers, values, active = np.broadcast_arrays(ptr.data, val.data, mask.data)
        dtype = val.dtype.scalar
        real = self.memory.atomic(
            pointers, active, values.itemsize, _ordering(sem, scope), self.where()
        )
        before = np.broadcast_to(_undefined(dtype), values.shape).copy()
        if dtype == tl.bfloat16:
            before[active] = self._add_one_by_one(real, values[active], dtype)
        elif real.size:
            raw_op = self.ir_rmw_op_to_interpreter_rmw_op[op]
            raw_sem = self.ir_sem_to_interpreter_sem[sem]
            before[active] = it._interpreter.atomic_rmw(
                raw_op, real, values[active], np.ones(real.shape, bool), raw_sem
            )
        return Handle(before, dtype)

    def create_atomic_cas(
        self, ptr: Handle, cmp: Handle, val: Handle, sem: object, scope: object
    ) -> Handle:
        pointers, wanted, values = np.broadcast_arrays(ptr.data, cmp.data, val.data)
        active = np.ones(pointers.shape, bool)
        ordering = _ordering(sem, scope)
        real = self.memory.atomic(pointers, active, values.itemsize, ordering, self.where())
        raw_sem = self.ir_sem_to_interpreter_sem[sem]
        before = it._interpreter.atomic_cas(real, wanted.ravel(), values.ravel(), raw_sem)
        return Handle(before.reshape(pointers.shape), cmp.dtype.scalar)

    def create_barrier(self) -> None:
        self.memory.clock.barrier()

    def _add_one_by_one(self, real: np.ndarray, values: np.ndarray, dtype: tl.dtype) -> np.ndarray:
        """bf16 atomic add, rounded at each step; the interpreter's own knows no bf16. Only add
        exists on GPUs.
        """
        before = np.empty_like(values)
        one = np.ones(1, bool)
        for i, value in enumerate(values):
            address = real[i : i + 1]
            before[i : i + 1] = it._interpreter.load(address, one, before[i : i + 1], before.dtype)
            total = number(Handle(before[i : i + 1], dtype)) + number(Handle(value[None], dtype))
            it._interpreter.store(address, as_handle(total, dtype).data, one)
        return before


class CheckedSemantic(TritonSemantic):
    """Tells the builder whether a load has an `other`."""

    def load(self, ptr, mask, other, *rest):
        self.builder.other_is_given = other is not None
        try:
            return super().load(ptr, mask, other, *rest)
        finally:
            self.builder.other_is_given = False


def _ordering(sem: object, scope: object) -> Ordering:
    across = scope != it._ir.MEM_SYNC_SCOPE.CTA
    return Ordering(across and sem in _RELEASES, across and sem in _ACQUIRES, across)


def _zero(dtype: tl.dtype) -> np.ndarray:
    return np.zeros(1, np_dtype(dtype))


def _undefined(dtype: tl.dtype) -> np.ndarray:
    """What a lane without a value holds: every bit set, which is NaN in all IEEE-like formats and
    -1 in integers.
    """
    kept = np_dtype(dtype)
    return np.full(kept.itemsize, 0xFF, np.uint8).view(kept)
