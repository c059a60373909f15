"""What host code may say, and what is known to be wrong: all else is `unknown`, never good."""

from __future__ import annotations

DTYPES = frozenset(
    f"torch.{name}"
    for name in (
        *("bfloat16", "float16", "float32", "float64", "half", "float", "double", "bool"),
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int", "long"),
    )
)

# ---------------------------------------------------------------- tensors

NAMED_ATTRIBUTES = frozenset({"dtype", "device"})
"""Attributes of a tensor that stand for themselves."""
PLAIN_ATTRIBUTES = frozenset({"is_cuda", "is_sparse", "layout", "requires_grad", "itemsize"})
"""Attributes that a launch knows, but of which nothing follows."""
PLAIN_METHODS = frozenset(
    {"element_size", "is_contiguous", "storage_offset", "get_device", "is_floating_point"}
)
"""Methods that a launch can call without asking the GPU, but of which nothing follows."""

READING_METHODS = frozenset(
    {"item", "tolist", "cpu", "numpy", "nonzero", "equal", "allclose", "unique"}
    | {"masked_select", "is_nonzero", "repeat_interleave", "bincount"}
    | {"__bool__", "__int__", "__float__", "__index__", "__array__", "__format__", "__contains__"}
)
"""Methods that wait for the GPU and read its memory, or size their result by what is there."""
READING_FUNCTIONS = frozenset(
    f"torch.{name}"
    for name in (
        *("equal", "allclose", "nonzero", "argwhere", "unique", "unique_consecutive"),
        *("masked_select", "is_nonzero", "repeat_interleave", "bincount", "save"),
    )
)
"""Functions of torch that do so."""
VALUE_METHODS = frozenset(
    f"{name}_"
    for name in (
        "zero",
        "fill",
        "copy",
        "add",
        "sub",
        "mul",
        "div",
        "clamp",
        "neg",
        "exp",
        "random",
    )
)
"""Methods that change what a tensor holds, and never its shape or strides."""
HARMLESS_BUILTINS = frozenset({"isinstance", "type", "id", "hasattr", "callable"})
"""Builtins that look at an object and never at its elements; others read a tensor they get."""
COMPUTING_BUILTINS = frozenset(
    {"min", "max", "bool", "tuple", "list", "len", "all", "any", "sum"}
    | {"int", "abs", "float", "round", "range", "str", "repr"}
)
"""Builtins that compute a value from others and do nothing else."""
ERRORS = frozenset({"ValueError", "TypeError", "RuntimeError", "NotImplementedError", "IndexError"})

ALLOCATORS = frozenset(
    f"torch.{name}"
    for name in (
        *("zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"),
        *("empty_strided", "tensor", "arange", "rand", "randn", "randint", "linspace", "eye"),
    )
)
"""Functions that allocate, and do more than `torch.empty`."""

# ---------------------------------------------------------------- outside of the call

CONTROL_FUNCTIONS = frozenset(
    f"torch.{module}.{name}"
    for module in ("cuda", "xpu", "accelerator")
    for name in (
        *(
            "synchronize",
            "Stream",
            "Event",
            "ExternalStream",
            "stream",
            "set_stream",
            "StreamContext",
        ),
        *("graph", "CUDAGraph", "empty_cache", "set_device", "init", "ipc_collect"),
    )
)
CONTROL_METHODS = frozenset(
    {"synchronize", "record_stream", "wait_stream", "wait_event", "record_event"}
)
"""What makes streams or events, or waits for the GPU."""

OUTSIDE_BUILTINS = frozenset(
    {"print", "open", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals"}
)
OUTSIDE_MODULES = frozenset(
    {"os", "sys", "io", "time", "datetime", "random", "logging", "warnings", "subprocess"}
    | {"pathlib", "importlib", "socket", "threading", "multiprocessing", "ctypes", "pickle", "json"}
)
"""Modules whose functions read or change what is neither an argument nor a constant."""

JIT_KEYWORDS = frozenset({"do_not_specialize", "do_not_specialize_on_alignment", "noinline"})
"""What `triton.jit` is told without changing what a kernel does; `debug` compiles checks that stop it."""

OWN_MODULES = frozenset({"torch", "triton", "builtins", "kgen"})
"""Whose functions kgen knows, or at least knows to be no other project's."""

MUTATORS = frozenset(
    {"append", "extend", "insert", "add", "update", "setdefault", "pop", "clear", "remove"}
    | {"__setitem__", "appendleft", "popitem"}
)
"""Methods that change a container."""
CACHES = frozenset({"functools.cache", "functools.lru_cache"})
