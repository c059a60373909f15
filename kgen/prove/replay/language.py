"""What a name means in a kernel: the functions, types and constants of `triton.language`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from kgen.prove.replay import access, elementwise, reductions, shaping
from kgen.prove.replay.dtypes import NAMED, FloatType, IntType, PointerTo
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.model import Unsupported

FUNCTIONS: dict[str, Callable] = {
    **access.FUNCTIONS,
    **elementwise.FUNCTIONS,
    **reductions.FUNCTIONS,
    **shaping.FUNCTIONS,
}

_FREE = frozenset(
    "program_id num_programs arange full zeros zeros_like where minimum maximum clamp fma fdiv "
    "div_rn load broadcast join interleave flip dot to_tensor assume static_assert static_print "
    "device_assert device_print debug_barrier multiple_of max_contiguous max_constancy "
    "inline_asm_elementwise".split()
)
"""Functions that are not methods of blocks too."""

_DESCRIPTOR = "tensor descriptors check and swizzle addresses by rules of their own"
_BLOCK = "block pointers bring bounds checks of their own"
_REFUSED = {
    "make_tensor_descriptor": _DESCRIPTOR,
    "load_tensor_descriptor": _DESCRIPTOR,
    "store_tensor_descriptor": _DESCRIPTOR,
    "make_block_ptr": _BLOCK,
    "advance": _BLOCK,
}


@dataclass(frozen=True)
class Module:
    """A module or a part of one, by its dotted path below `triton.language`; "" is `tl` itself."""

    path: str = ""


@dataclass(frozen=True)
class Builtin:
    """A function of `triton.language`, or the method of a block that is the same function."""

    name: str


@dataclass(frozen=True)
class Special:
    """A name with a meaning in syntax: `constexpr`, `range`, `triton` itself ..."""

    name: str


SPECIAL = frozenset({"constexpr", "range", "static_range", "pointer_type"})


def attribute_of_module(module: Module, name: str) -> object:
    """`module.name`."""
    path = f"{module.path}.{name}" if module.path else name
    if path in SPECIAL:
        return Special(path)
    if path in NAMED:
        return NAMED[path]
    # tl.math.exp2 and tl.exp2 are one function
    plain = path.removeprefix("math.")
    if plain in FUNCTIONS and plain != "to":
        return Builtin(plain)
    if plain in _REFUSED:
        raise Unsupported(f"tl.{plain}: {_REFUSED[plain]}; write offsets and a mask instead")
    if any(known.startswith(f"{path}.") for known in FUNCTIONS) or path == "math":
        return Module(path)
    raise Unsupported(f"tl.{path} is not known here")


def method(name: str) -> Builtin:
    """The method of a block with this name."""
    if name not in FUNCTIONS or name in _FREE or "." in name:
        raise Unsupported(f"a block has no method {name} that is known here")
    return Builtin(name)


def attribute_of_type(type: IntType | FloatType, name: str) -> object:
    """`dtype.name`, such as `primitive_bitwidth`, or `is_fp8` to be called."""
    facts = {
        "name": type.name,
        "primitive_bitwidth": type.bits,
        "itemsize": type.size,
        "scalar": type,
    }
    if isinstance(type, IntType):
        facts["int_bitwidth"] = type.bits
    checks = {
        "is_int": isinstance(type, IntType),
        "is_floating": isinstance(type, FloatType),
        "is_fp8": type.name.startswith("float8"),
        "is_fp16": type.name == "float16",
        "is_bf16": type.name == "bfloat16",
        "is_fp32": type.name == "float32",
        "is_fp64": type.name == "float64",
        "is_int_signed": isinstance(type, IntType) and type.signed,
    }
    if name in facts:
        return facts[name]
    if name in checks:
        return Answer(checks[name])
    raise Unsupported(f"a type has no attribute {name} that is known here")


@dataclass(frozen=True)
class Answer:
    """A method without arguments whose result is known, such as `dtype.is_int`."""

    value: object


def call(machine: Machine, name: str, arguments: list, keywords: dict[str, object]) -> object:
    """Calls a function of `triton.language`; strange arguments raise Unsupported."""
    function = FUNCTIONS[name]
    places, names = _parameters(name)
    strange = [key for key in keywords if names is not None and key not in names]
    if strange or (places is not None and len(arguments) > places):
        what = f"the argument {strange[0]}" if strange else f"{len(arguments)} arguments"
        raise Unsupported(f"tl.{name} with {what} is not known here")
    try:
        return function(machine, *arguments, **keywords)
    except (TypeError, AttributeError, IndexError) as error:
        raise Unsupported(f"tl.{name} with these arguments: {error}") from error


@lru_cache(maxsize=None)
def _parameters(name: str) -> tuple[int | None, frozenset[str] | None]:
    """How many positional arguments a function takes, and all their names; None for any."""
    parameters = list(inspect.signature(FUNCTIONS[name]).parameters.values())[1:]
    kinds = {parameter.kind for parameter in parameters}
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    places = None if inspect.Parameter.VAR_POSITIONAL in kinds else len(positional)
    names = frozenset(
        p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    )
    return places, None if inspect.Parameter.VAR_KEYWORD in kinds else names


def pointer_to(element: object) -> PointerTo:
    """`tl.pointer_type(element)`."""
    if not isinstance(element, (IntType, FloatType)):
        raise Unsupported(f"a pointer to {element!r}")
    return PointerTo(element)
