"""Which values of a parameter a sweep tries, and whether those that somebody asks for are allowed."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.plan.variant import Parameter
from kgen.sweep.model import Scalar

FEW = 8
"""A parameter with so many values at most is tried with all of them."""
REACH = 4
"""Others are tried with powers of two, from the default divided by this to the default times this."""


def usual(parameter: Parameter) -> tuple[Scalar, ...]:
    """The values to try where nobody names any: all of a few, else powers of two about the default."""
    if parameter.type == "bool":
        return False, True
    if parameter.choices is not None or parameter.words:
        return parameter.choices or tuple(parameter.words)
    low, high = parameter.min, parameter.max
    if low is not None and high is not None and high - low < FEW:
        return tuple(range(low, high + 1))
    return tuple(sorted({*_powers(parameter), parameter.default}))


def _powers(parameter: Parameter) -> Iterator[int]:
    least = max(parameter.default // REACH, 1 if parameter.min is None else parameter.min)
    most = parameter.default * REACH
    most = most if parameter.max is None else min(most, parameter.max)
    power = 1
    while power <= most:
        if power >= least:
            yield power
        power *= 2
