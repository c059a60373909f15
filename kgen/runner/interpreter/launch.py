"""Runs one kernel launch, program by program, with arguments typed as the compiled kernel types
them.
"""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable, Mapping

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as it
from triton.runtime.jit import _normalize_ty, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from kgen.runner.interpreter.builder import CheckedBuilder
from kgen.runner.interpreter.formats import np_dtype

MAX_GRID = (2**31 - 1, 65535, 65535)
"""CUDA's limits of a grid's three dimensions (CUDA C++ Programming Guide, compute capabilities)."""

_BY_ANNOTATION = {
    name: getattr(tl, long)
    for name, long in {
        "i8": "int8",
        "i16": "int16",
        "i32": "int32",
        "i64": "int64",
        "u8": "uint8",
        "u16": "uint16",
        "u32": "uint32",
        "u64": "uint64",
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp32": "float32",
        "fp64": "float64",
    }.items()
}


class Launch:
    """One launch of `fn` (already rewritten for the interpreter) on `builder`."""

    def __init__(self, executor: it.GridExecutor, builder: CheckedBuilder):
        self._fn = executor.fn
        self._grid = executor.grid
        self._hooks = executor.pre_run_hooks
        self._builder = builder
        self._types = {n: _normalize_ty(t) for n, t in executor.fn.__annotations__.items()}

    def run(self, args: tuple, options: Mapping[str, object]) -> None:
        """Binds arguments, drops launch options such as `num_warps`, and runs every program of the
        grid.
        """
        names = inspect.signature(self._fn).parameters
        keywords = {name: value for name, value in options.items() if name in names}
        for hook in self._hooks:
            hook(*args, **keywords)
        bound = inspect.getcallargs(self._fn, *args, **keywords)
        grid = self._dimensions(bound)
        self._builder.kernel = self._fn.__name__
        dependent = bool(options.get("launch_pdl"))
        self._builder.memory.begin_launch(self._fn.__name__, dependent)
        arguments = {name: self._argument(name, value) for name, value in bound.items()}
        self._builder.set_grid_dim(*grid)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            for program in itertools.product(*map(range, grid)):
                self._builder.set_grid_idx(*program)
                self._builder.memory.clock.begin_program(program)
                self._fn(**arguments)

    def _dimensions(self, bound: Mapping[str, object]) -> tuple[int, int, int]:
        grid = self._grid(bound) if callable(self._grid) else self._grid
        grid = tuple(grid) + (1,) * (3 - len(grid))
        for axis, (size, limit) in enumerate(zip(grid, MAX_GRID, strict=True)):
            if size > limit:
                raise ValueError(
                    f"kernel {self._fn.__name__!r}: grid {grid} has {size} programs along axis "
                    f"{axis}, a GPU allows {limit}"
                )
        return grid

    def _argument(self, name: str, value: object) -> object:
        annotation = self._types.get(name, "")
        if annotation == "constexpr":
            return value
        return self._converted(name, value, annotation)

    def _converted(self, name: str, value: object, annotation: str = "") -> object:
        if isinstance(value, (bool, int, float)):
            return self._scalar(name, value, annotation)
        if hasattr(value, "data_ptr"):
            return self._pointer(name, value)
        if isinstance(value, tuple):
            items = [self._converted(f"{name}[{i}]", item) for i, item in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value)
        return value

    def _pointer(self, name: str, value: object) -> tl.tensor:
        pointer_type = tl.str_to_ty(mangle_type(value), None)
        address = self._builder.memory.map(name, it._unwrap_tensor(value))
        return tl.tensor(
            it.TensorHandle(np.array([address], np.uint64), pointer_type), pointer_type
        )

    def _descriptor(self, name: str, value: TensorDescriptor) -> object:
        strides = [self._scalar(name, stride, "") for stride in value.strides[:-1]]
        return it.interpreter_semantic.make_tensor_descriptor(
            base=self._pointer(name, value.base),
            shape=[self._scalar(name, size, "") for size in value.shape],
            strides=[*strides, tl.constexpr(1)],
            block_shape=[tl.constexpr(size) for size in value.block_shape],
            padding_option=value.padding,
        )

    def _scalar(self, name: str, value: bool | int | float, annotation: str) -> tl.tensor:
        """A scalar with the type that the JIT gives it: its annotation, else by its value."""
        dtype = _BY_ANNOTATION.get(annotation) or _type_of(value)
        start = tl.float32 if dtype.is_floating() else dtype
        try:
            handle = it.TensorHandle(np.array([value], np_dtype(start)), start)
        except OverflowError:
            raise OverflowError(
                f"argument {name!r} of kernel {self._fn.__name__!r} is {value}, "
                f"which {dtype} can't hold"
            ) from None
        return tl.tensor(self._builder.cast_impl(handle, dtype), dtype)


def _type_of(value: bool | int | float) -> tl.dtype:
    if isinstance(value, bool):
        return tl.int1
    if isinstance(value, float):
        return tl.float32
    if -(2**31) <= value < 2**31:
        return tl.int32
    return tl.int64 if value < 2**63 else tl.uint64


def launcher(builder: CheckedBuilder) -> Callable[..., None]:
    """What stands in for `GridExecutor.__call__`."""

    def launch(executor: it.GridExecutor, *args: object, **options: object) -> None:
        Launch(executor, builder).run(args, options)

    return launch
