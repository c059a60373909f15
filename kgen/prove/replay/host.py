"""Runs the launcher of an emitted file with a stand-in torch, and takes down what it would launch.

Nothing is computed: tensors have shapes and strides only, `kernel[grid](...)` writes down the
launch. So the arguments, grids and scratch sizes of an instance are those of the file itself, not
of what the file was made from.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from kgen.prove.replay.dtypes import short, short_name, type_of_number
from kgen.prove.replay.model import (
    Argument,
    Dim,
    Instance,
    Launch,
    Number,
    Pointer,
    Role,
    TensorSpec,
    Unsupported,
)
from kgen.prove.replay.source import Function, parse
from kgen.runner.environment import defaults

_REAL_MODULES = frozenset({"__future__", "functools", "math", "os", "typing"})


@dataclass(frozen=True)
class TorchType:
    """A torch dtype, and Triton's short name of it."""

    name: str
    short: str

    def __str__(self) -> str:
        return f"torch.{self.name}"


TORCH_TYPES = {
    short_name: TorchType(name, short_name)
    for name, short_name in (
        ("bfloat16", "bf16"),
        ("float16", "fp16"),
        ("float32", "fp32"),
        ("float64", "fp64"),
        ("float8_e4m3fn", "fp8e4nv"),
        ("float8_e5m2", "fp8e5"),
        ("int8", "i8"),
        ("uint8", "u8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("int64", "i64"),
        ("bool", "i1"),
    )
}
_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "launch_pdl"})
_BASE = 1 << 20
DEVICE = "device"


@dataclass(eq=False)
class HostTensor:
    """A tensor of the launcher: shape, strides and alignment, no memory.

    `element` is Triton's short name of its type. A tensor that the launcher allocates gets its
    `name` from the first kernel parameter that it is passed to. `misaligned` moves its base off a
    multiple of 16 bytes.
    """

    name: str
    element: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dims: tuple[str, ...] = ()
    role: Role = "input"
    contents: Callable[[np.ndarray], np.ndarray] | None = None
    misaligned: bool = False
    device: str = DEVICE

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents

    @property
    def dtype(self) -> TorchType:
        return TORCH_TYPES[self.element]

    def dim(self) -> int:
        return len(self.extents)

    def numel(self) -> int:
        return int(np.prod(self.extents, dtype=object))

    def size(self, axis: int | None = None) -> int | tuple[int, ...]:
        return self.extents if axis is None else self.extents[axis]

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        return self.strides if axis is None else self.strides[axis]

    def data_ptr(self) -> int:
        return _BASE + (short(self.element).size if self.misaligned else 0)

    def element_size(self) -> int:
        return short(self.element).size

    def is_contiguous(self) -> bool:
        return self.strides == contiguous(self.extents)

    def __getattr__(self, name: str) -> Any:
        raise Unsupported(f"the launcher uses {name} of a tensor, which has no meaning here")

    def spec(self) -> TensorSpec:
        """The tensor as kernels see it."""
        names = self.dims or tuple(f"d{axis}" for axis in range(len(self.extents)))
        rows = zip(names, self.extents, self.strides, strict=True)
        dims = tuple(Dim(name, extent, stride) for name, extent, stride in rows)
        return TensorSpec(self.name, self.element, dims, self.role, self.contents)


def contiguous(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a row-major tensor without gaps."""
    strides, step = [], 1
    for extent in reversed(extents):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def capture(
    source: str,
    arguments: Mapping[str, HostTensor | int | float | None],
    *,
    axes: Mapping[str, int | None] | None = None,
    entry: str = "run",
    dims: Mapping[str, tuple[str, ...]] | None = None,
    knobs: Mapping[str, int] | None = None,
) -> Instance:
    """The instance that a call of `entry` with these arguments makes.

    What it returns has the role `output`; what else it allocates is `scratch`, or with
    `torch.zeros` `state`: counters that a later call wants to find as they were. `dims` names the
    dimensions of what it allocates, by the tensor's name; `knobs` are integers that the environment
    might have set. Raises Unsupported
    where the launcher does something that has no meaning here; its own refusals (ValueError,
    TypeError) pass through.
    """
    return _module(source).call(entry, arguments, axes or {}, dims or {}, knobs or {})


@dataclass(eq=False)
class _Recording:
    """What one call has done so far: the tensors that kernels got, by name, and the launches."""

    tensors: dict[str, HostTensor] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)

    def named(self, tensor: HostTensor, name: str) -> str:
        """The tensor's name; one without gets this one, or the next that is free."""
        while not tensor.name:
            tensor.name = name if name not in self.tensors else ""
            name += "_"
        self.tensors.setdefault(tensor.name, tensor)
        return tensor.name


class _HostModule:
    """An emitted file, executed once with stand-in modules."""

    def __init__(self, text: str):
        self.source = parse(text)
        self.recording = _Recording()
        namespace: dict[str, Any] = {
            "__name__": "submission",
            "__builtins__": {**vars(builtins), "__import__": self._import},
        }
        with defaults():
            exec(compile(text, "submission.py", "exec"), namespace)
        self._namespace = namespace

    def call(
        self,
        entry: str,
        arguments: Mapping[str, HostTensor | int | float | None],
        axes: Mapping[str, int | None],
        dims: Mapping[str, tuple[str, ...]],
        knobs: Mapping[str, int],
    ) -> Instance:
        if entry not in self._namespace:
            raise Unsupported(f"the file has no function {entry}")
        self.recording = recording = _Recording()
        before = {name: self._namespace[name] for name in knobs}
        self._namespace.update(knobs)
        try:
            returned = self._namespace[entry](**arguments)
        finally:
            self._namespace.update(before)
        for tensor in returned if isinstance(returned, tuple) else (returned,):
            if isinstance(tensor, HostTensor):
                tensor.role = "output"
                recording.named(tensor, "returned")
        for name, tensor in recording.tensors.items():
            if not tensor.dims and len(dims.get(name, ())) == len(tensor.extents):
                tensor.dims = dims[name]
        specs = tuple(tensor.spec() for tensor in recording.tensors.values())
        return Instance(dict(axes), specs, tuple(recording.launches))

    def _import(self, name: str, *rest: Any) -> Any:
        if name in _REAL_MODULES:
            return importlib.import_module(name)
        root = name.partition(".")[0]
        if root not in ("torch", "triton"):
            raise Unsupported(f"the file imports {name}, which is not known here")
        module = self._torch() if root == "torch" else self._triton()
        named = bool(rest) and len(rest) > 2 and bool(rest[2])
        return module.language if named and name == "triton.language" else module

    def _torch(self) -> Any:
        types = {type.name: type for type in TORCH_TYPES.values()}
        return _Strict(
            "torch", {**types, "empty": self._empty, "zeros": self._zeros, "Tensor": HostTensor}
        )

    def _triton(self) -> Any:
        return _Strict(
            "triton",
            {
                "jit": self._jit,
                "language": _Language(),
                "cdiv": lambda x, y: -(-x // y),
                "next_power_of_2": lambda x: 1 << max(x - 1, 0).bit_length(),
            },
        )

    def _empty(self, *shape: Any, dtype: Any, device: str = DEVICE) -> HostTensor:
        extents = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if any(extent < 0 for extent in extents):
            raise ValueError(f"torch.empty of shape {extents}")
        strides = contiguous(extents)
        return HostTensor("", dtype.short, extents, strides, role="scratch", device=device)

    def _zeros(self, *shape: Any, dtype: Any, device: str = DEVICE) -> HostTensor:
        tensor = self._empty(*shape, dtype=dtype, device=device)
        tensor.role = "state"
        tensor.contents = lambda elements: np.zeros(len(elements), dtype=np.int64)
        return tensor

    def _jit(self, function: Callable | None = None, **options: Any) -> Any:
        if function is None:
            return lambda decorated: _Kernel(self, decorated.__name__, options)
        return _Kernel(self, function.__name__, options)


@lru_cache(maxsize=8)
def _module(text: str) -> _HostModule:
    return _HostModule(text)


class _Strict(SimpleNamespace):
    """A stand-in module: what it lacks is Unsupported."""

    def __init__(self, name: str, members: Mapping[str, Any]):
        super().__init__(**members)
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise Unsupported(f"the launcher uses {self._name}.{name}, which has no meaning here")


class _Language:
    """`triton.language` as host code sees it: names in annotations."""

    def __getattr__(self, name: str) -> str:
        return name


class _Kernel:
    """A `@triton.jit` function, to be launched."""

    def __init__(self, module: _HostModule, name: str, options: Mapping[str, Any]):
        self._module = module
        self._name = name
        self._fixed = frozenset(options.get("do_not_specialize") or ())

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *arguments, **keywords: self._launch(grid, arguments, keywords)

    def _launch(self, grid: Any, positional: tuple, keywords: dict[str, Any]) -> None:
        function = self._module.source.function(self._name)
        options = {key: value for key, value in keywords.items() if key in _OPTIONS}
        named = {key: value for key, value in keywords.items() if key not in _OPTIONS}
        names = [parameter.name for parameter in function.parameters]
        given = {**dict(zip(names, positional, strict=False)), **named}
        if len(positional) > len(names) or set(given) - set(names):
            raise Unsupported(f"{self._name} is launched with arguments that it does not have")
        extents = grid(given) if callable(grid) else grid
        extents = tuple(extents) if isinstance(extents, tuple) else (extents,)
        whole = (*extents, *(1,) * (3 - len(extents)))
        arguments = self._arguments(function, given)
        launch = Launch(self._name, arguments, whole, bool(options.get("launch_pdl")))
        self._module.recording.launches.append(launch)

    def _arguments(self, function: Function, given: Mapping[str, Any]) -> dict[str, Argument]:
        found: dict[str, Argument] = {}
        for index, parameter in enumerate(function.parameters):
            if parameter.name in given:
                fixed = parameter.name in self._fixed or index in self._fixed
                found[parameter.name] = self._argument(
                    parameter.name, parameter.annotation, given[parameter.name], fixed
                )
        return found

    def _argument(self, name: str, annotation: str, value: Any, fixed: bool) -> Argument:
        """The argument as Triton's launcher types it.

        An annotated number has that type, another the smallest of i32 and i64 that holds it; a 1 is
        a constant unless the parameter is exempt from specialisation.
        """
        if isinstance(value, HostTensor):
            return Pointer(self._module.recording.named(value, name.removeprefix("p_")))
        if annotation == "constexpr" or value is None:
            return value
        if annotation:
            return Number(value, short_name(annotation))
        if isinstance(value, bool):
            return Number(value, "i1")
        if isinstance(value, float):
            return Number(value, "fp32")
        if value == 1 and not fixed:
            return 1
        kind = type_of_number(value)
        return Number(value, "i32" if kind.bits == 32 and kind.signed else "i64")
