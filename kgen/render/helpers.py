"""The small functions that an emitted file carries, each only where it is used."""

from __future__ import annotations

from collections.abc import Set

_HELPERS: dict[str, str] = {
    "ceil_div": '''def ceil_div(a, b):
    """a / b, rounded up."""
    return -(-a // b)''',
    "clamp": '''def clamp(x, low, high):
    """x, moved into [low, high]."""
    return min(max(x, low), high)''',
    "next_pow2": '''def next_pow2(x):
    """The smallest power of two that is at least x."""
    return 1 << max(x - 1, 0).bit_length()''',
    "is_pow2": '''def is_pow2(x):
    """Whether x is a power of two."""
    return x > 0 and x & (x - 1) == 0''',
    "log2": '''def log2(x):
    """The logarithm to base 2 of a power of two."""
    return x.bit_length() - 1''',
    "read_knob": '''def read_knob(variable, default, low, high):
    """The integer that an environment variable holds, within bounds; the default where it is not set."""
    text = os.environ.get(variable)
    if text is None:
        return default
    digits = text.isascii() and text.isdigit() and len(text) < 19
    if not digits or not low <= int(text) <= high:
        raise ValueError(f"{variable} is {text!r}; this file takes an integer from {low} to {high}")
    return int(text)''',
    "check_tensor": """def check_tensor(name, tensor, dtype, rank, device):
    if tensor.dtype != dtype:
        raise TypeError(f"{name} is {tensor.dtype}; this file was made for {dtype}")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, other arguments are on {device}")
    if rank == 0 and tensor.numel() != 1:
        raise ValueError(f"{name} has {tensor.numel()} elements, not one")
    if rank and tensor.dim() != rank:
        raise ValueError(f"{name} has {tensor.dim()} dimensions, not {rank}")
    if rank and tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        raise ValueError(f"{name} has stride {tensor.stride(-1)} in its last dimension, not 1")""",
    "check_shape": """def check_shape(name, tensor, shape):
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, not {shape}")""",
    "check_range": """def check_range(name, value, low, high):
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; this file serves {low} to {high}")""",
    "check_integer": """def check_integer(name, value, low, high):
    if type(value) is not int:
        raise TypeError(f"{name} is {value!r}, not an integer")
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; this file serves {low} to {high}")""",
    "check_optional": """def check_optional(name, value, low, high):
    if value is not None and type(value) is not int:
        raise TypeError(f"{name} is {value!r}, neither an integer nor None")
    if value is not None and not low <= value <= high:
        raise ValueError(f"{name} is {value}; this file serves None and {low} to {high}")""",
    "check_choice": """def check_choice(name, value, allowed):
    if value is not None and type(value) is not int:
        raise TypeError(f"{name} is {value!r}, neither an integer nor None")
    if value not in allowed:
        raise ValueError(f"{name} is {value}; this file serves {allowed}")""",
    "is_aligned": '''def is_aligned(*tensors):
    """Whether every base is a multiple of 16 bytes and every stride but the last of 16 elements."""
    return all(
        tensor.data_ptr() % 16 == 0 and all(stride % 16 == 0 for stride in tensor.stride()[:-1])
        for tensor in tensors
    )''',
}


def sources(wanted: Set[str]) -> tuple[str, ...]:
    """The source of each wanted function, in a fixed order."""
    return tuple(source for name, source in _HELPERS.items() if name in wanted)
