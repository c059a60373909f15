"""Which handler reads which operation, and which operations only compute real numbers."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.prove.reader.arithmetic import ARITHMETIC
from kgen.prove.reader.machine import Handler
from kgen.prove.reader.memory import MEMORY
from kgen.prove.reader.shapes import SHAPES

HANDLERS: Mapping[str, Handler] = {**ARITHMETIC, **SHAPES, **MEMORY}

_REAL = (
    """addf subf mulf divf remf negf maximumf minimumf maxnumf minnumf extf truncf sitofp uitofp"""
)
_MATH = """absf acos asin atan atan2 cbrt ceil copysign cos cosh erf exp exp2 expm1 floor fma isfinite isinf isnan log
log10 log1p log2 powf round roundeven rsqrt sin sinh sqrt tan tanh trunc"""
_TRITON = (
    """clampf dot dot_scaled fp_to_fp extern_elementwise precise_divf precise_sqrt histogram"""
)

PURE = frozenset(
    f"{dialect}.{name}"
    for dialect, names in (("arith", _REAL), ("math", _MATH), ("tt", _TRITON))
    for name in names.split()
)
"""Operations without effect, whose results reach an address only through a cast, which makes them unknown."""
