"""What an expression of host code can be, as far as the analysis tells.

*Static* is what a launch knows without asking the GPU: shapes, strides, addresses, dtypes, Python
scalars, and what is computed from them. `Data` has been read back from the GPU, `Derived` is a
tensor that torch computed, `Unknown` is what the analysis has no rule for; none of these may decide
a grid or an allocation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from kgen.expr import Expr


@dataclass(frozen=True)
class Static:
    """A Python value that the launch knows; `meaning` is None where kgen cannot express it."""

    meaning: Expr | None


@dataclass(frozen=True)
class Choice:
    """`then` where the condition holds, else `otherwise`."""

    condition: Expr
    then: Static
    otherwise: Static


@dataclass(frozen=True)
class Text:
    """A string."""


@dataclass(frozen=True)
class Sequence:
    """A tuple, list or generator of known length. A tuple equals no list, and a generator is used up."""

    items: tuple[Value, ...]
    kind: Literal["tuple", "list", "generator"] = "tuple"


@dataclass(frozen=True)
class Allocation:
    """What `torch.empty` was called with, and where; `lines` go from the entry inwards."""

    shape: tuple[Value, ...]
    dtype: Value
    device: Value
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """An argument of the entry, or, with `allocation`, a fresh tensor named by its variable."""

    name: str
    allocation: Allocation | None = None


@dataclass(frozen=True)
class Extents:
    """`tensor.shape` or `tensor.stride()` of a tensor whose rank may not be known yet."""

    tensor: str
    of: Literal["shape", "stride"]


@dataclass(frozen=True)
class Symbol:
    """A module, or something in it, by its dotted name: `torch.empty`, `builtins.min`."""

    path: str


@dataclass(frozen=True)
class Function:
    """A host function of the file."""

    name: str


@dataclass(frozen=True)
class Kernel:
    """A kernel of the file; with `grid`, ready to be called."""

    name: str
    grid: Value | None = None


@dataclass(frozen=True)
class State:
    """Something at module level that is neither a constant nor a function: it outlives a call."""

    name: str


@dataclass(frozen=True)
class Setting:
    """An integer that the environment variable sets, `default` where there is none, read at `line`."""

    variable: str
    default: int
    low: int
    high: int
    line: int

    def __str__(self) -> str:
        return (
            f"{self.variable}, {self.default} where it is not set, from {self.low} to {self.high}"
        )


@dataclass(frozen=True)
class Data:
    """A value that the host read from the GPU; `why` says where."""

    why: str


@dataclass(frozen=True)
class Derived:
    """A tensor that torch computed from other tensors."""

    why: str


@dataclass(frozen=True)
class Unknown:
    """Something the analysis has no rule for; `why` says what."""

    why: str


Value = Union[
    Static,
    Choice,
    Text,
    Sequence,
    Tensor,
    Extents,
    Symbol,
    Function,
    Kernel,
    State,
    Data,
    Derived,
    Unknown,
]

NOTHING_KNOWN = Static(None)
"""Static, but of no meaning to kgen."""


def on_device(value: Value) -> str:
    """The name of the tensor that `value` is or holds, or nothing."""
    match value:
        case Tensor(name):
            return name
        case Derived(why):
            return why
        case Sequence(items):
            return next(filter(None, map(on_device, items)), "")
        case Choice(_, then, otherwise):
            return on_device(then) or on_device(otherwise)
    return ""


def held(name: str, value: Value) -> Value:
    """What a variable of that name holds once `value` is bound to it: a fresh tensor is called by it.

    A generator can be used once, and fresh tensors in a tuple may get several names: neither is followed.
    """
    match value:
        case Tensor("", allocation):
            return Tensor(name, allocation)
        case Sequence() if _is_fleeting(value):
            return Unknown(f"{name} holds a generator, or tensors without names")
    return value


def _is_fleeting(value: Value) -> bool:
    match value:
        case Tensor(name):
            return not name
        case Sequence(items, kind):
            return kind == "generator" or any(map(_is_fleeting, items))
    return False


def taint(value: Value) -> Data | Derived | Unknown | None:
    """What keeps `value` from being static, the worst first; None where nothing does."""
    match value:
        case Sequence(items):
            found = [one for one in map(taint, items) if one is not None]
            order = (Data, Derived, Unknown)
            return min(found, key=lambda one: order.index(type(one)), default=None)
        case Data() | Derived() | Unknown():
            return value
        case Tensor(name):
            return Derived(name)
        case Symbol() | Function() | Kernel() | State():
            return Unknown(f"{getattr(value, 'path', None) or value.name} is no plain value")
    return None
