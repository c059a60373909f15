"""The functions an expression may call.

Two tables: `SIZE_FUNCTIONS` for sizes, conditions and scales; `ROW_FUNCTIONS` for the formula of a
norm, where `x` is one row of a matrix. The implementations here are complete as they stand (they
call nothing of kgen), so that a generated file can carry the same definitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """A function's arity, the kinds it takes and gives, and its Python implementation.

    `most` is None for any number of arguments. `takes` is `int`, `number` (int or real) or `row`.
    `gives` is `int`, `real`, `bool`, `same` (the widest kind among the arguments) or `map` (a row
    for a row, else a real). `implementation` is None for row functions: only a family's torch
    reference computes rows.
    """

    least: int
    most: int | None
    takes: str
    gives: str
    implementation: Callable[..., int | float | bool] | None = None

    @property
    def arity(self) -> str:
        """The number of arguments in words, such as `2 arguments`."""
        if self.most is None:
            return f"{self.least} or more arguments"
        return f"{self.least} argument" + "s" * (self.least != 1)


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def clamp(x: float, low: float, high: float) -> float:
    """x, moved into [low, high]."""
    return min(max(x, low), high)


def next_pow2(x: int) -> int:
    """The smallest power of two that is at least x (1 for x < 1)."""
    return 1 << max(x - 1, 0).bit_length()


def is_pow2(x: int) -> bool:
    """Whether x is a power of two."""
    return x > 0 and x & (x - 1) == 0


def log2(x: float) -> float:
    """The logarithm to base 2: an integer for a power of two, a real for a real."""
    if isinstance(x, float):
        return math.log2(x)
    if x < 1 or x & (x - 1):
        raise ValueError(f"log2({x}) is no integer")
    return x.bit_length() - 1


def sqrt(x: float) -> float:
    """The square root, a real."""
    return math.sqrt(x)


SIZE_FUNCTIONS: Mapping[str, Function] = {
    "ceil_div": Function(2, 2, "int", "int", ceil_div),
    "min": Function(2, None, "number", "same", min),
    "max": Function(2, None, "number", "same", max),
    "clamp": Function(3, 3, "number", "same", clamp),
    "next_pow2": Function(1, 1, "int", "int", next_pow2),
    "is_pow2": Function(1, 1, "int", "bool", is_pow2),
    "log2": Function(1, 1, "number", "same", log2),
    "sqrt": Function(1, 1, "number", "map", sqrt),
}

ROW_FUNCTIONS: Mapping[str, Function] = {
    **{name: Function(1, 1, "row", "real") for name in ("sum", "mean", "max", "min")},
    **{
        name: Function(1, 1, "number", "map")
        for name in ("exp", "log", "sqrt", "rsqrt", "abs", "tanh", "sigmoid")
    },
}

BUILTINS = frozenset({"min", "max"})
"""The functions that Python has under the same name; others need a helper."""
