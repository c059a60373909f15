"""Triton's scalar types, and how two of them combine in one operation.

The rules are those of Triton's language semantics: two integers take the wider type, unsigned where
widths are equal and one of them is; a Python number takes the other operand's type if its kind is
not higher (bool, int, float).
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.prove.replay.model import Unsupported


@dataclass(frozen=True, eq=False)
class IntType:
    """An integer type, one object for each. Triton counts `int1`, its bool, as unsigned."""

    name: str
    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    def wrap(self, value: int) -> int:
        """The value that fits, equal modulo 2**bits."""
        return (value - self.low) % (1 << self.bits) + self.low


@dataclass(frozen=True, eq=False)
class FloatType:
    """A float type, one object for each.

    `computed` says that numpy computes in it as a GPU does; of others only contents are known.
    """

    name: str
    bits: int
    computed: bool

    @property
    def size(self) -> int:
        return self.bits // 8


@dataclass(frozen=True)
class PointerType:
    """A pointer into `tensor`, whose offset counts elements of `element`."""

    tensor: str
    element: IntType | FloatType

    @property
    def name(self) -> str:
        return f"pointer to {self.element.name} in {self.tensor}"


@dataclass(frozen=True)
class PointerTo:
    """What `tl.pointer_type(element)` gives: the target of a cast, of no tensor yet."""

    element: IntType | FloatType


ScalarType = IntType | FloatType
ElementType = IntType | FloatType | PointerType

BOOL = IntType("int1", 1, False)
INT32 = IntType("int32", 32, True)
UINT32 = IntType("uint32", 32, False)
INT64 = IntType("int64", 64, True)
FLOAT16 = FloatType("float16", 16, True)
BFLOAT16 = FloatType("bfloat16", 16, False)
FLOAT32 = FloatType("float32", 32, True)
FLOAT64 = FloatType("float64", 64, True)

_INTS = (
    BOOL,
    *(IntType(f"int{bits}", bits, True) for bits in (8, 16)),
    INT32,
    INT64,
    *(IntType(f"uint{bits}", bits, False) for bits in (8, 16)),
    UINT32,
    IntType("uint64", 64, False),
)
_FP8 = tuple(
    FloatType(f"float8{kind}", 8, False) for kind in ("e4nv", "e5", "e4b15", "e4b8", "e5b16")
)

NAMED: dict[str, ScalarType] = {
    type.name: type for type in (*_INTS, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, *_FP8)
}
"""Types by their name in `triton.language`."""

_SHORT: dict[str, ScalarType] = {
    "fp16": FLOAT16,
    "bf16": BFLOAT16,
    "fp32": FLOAT32,
    "fp64": FLOAT64,
    **{f"{'i' if type.signed or type is BOOL else 'u'}{type.bits}": type for type in _INTS},
    **{type.name.replace("float", "fp"): type for type in _FP8},
}


_SHORT_OF = {type.name: name for name, type in _SHORT.items()}
_SHORT |= {
    "f16": FLOAT16,
    "f32": FLOAT32,
    "f64": FLOAT64,
    "f8E4M3FN": NAMED["float8e4nv"],
    "f8E5M2": NAMED["float8e5"],
}


def short(name: str) -> ScalarType:
    """The type by its name in a signature (`i64`, `fp8e4nv`) or in MLIR. Raises Unsupported."""
    if name not in _SHORT:
        raise Unsupported(f"{name!r} is no element type that is known here")
    return _SHORT[name]


def short_name(name: str) -> str:
    """The name in a signature of a type of the language: `i64` for `int64`. Raises Unsupported."""
    if name not in _SHORT_OF:
        raise Unsupported(f"{name!r} is no element type that is known here")
    return _SHORT_OF[name]


def type_of_number(value: bool | int | float) -> ScalarType:
    """The type that a Python number has when it stands alone."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        plain = value != value or value in (0.0, float("inf"), float("-inf"))
        return FLOAT32 if plain or 2.0**-126 <= abs(value) <= 3.4028234663852886e38 else FLOAT64
    for type in (INT32, UINT32, INT64, NAMED["uint64"]):
        if type.low <= value <= type.high:
            return type
    raise Unsupported(f"{value} does not fit 64 bits")


def promote_integers(a: IntType, b: IntType) -> IntType:
    """The wider of two; of equal widths the unsigned one."""
    if a.bits == b.bits:
        return a if not a.signed else b
    if a.signed == b.signed:
        return a if a.bits > b.bits else b
    unsigned, signed = (a, b) if b.signed else (b, a)
    return unsigned if unsigned.bits >= signed.bits else signed


def promote(a: ScalarType, b: ScalarType, *, divides: bool = False) -> ScalarType:
    """The type in which an operation on two tensors is done. `divides` marks `/`, `//` and `%`."""
    if isinstance(a, IntType) and isinstance(b, IntType):
        if divides and a.signed != b.signed:
            raise Unsupported(
                f"{a.name} and {b.name} differ in signedness: Triton refuses to divide them"
            )
        return promote_integers(a, b)
    floats = [type for type in (a, b) if isinstance(type, FloatType)]
    for wide in (FLOAT64, FLOAT32):
        if wide in floats:
            return wide
    if FLOAT16 in floats:
        return FLOAT32 if divides else FLOAT16
    if BFLOAT16 in floats:
        return BFLOAT16 if a == b and not divides else FLOAT32
    if len(floats) == 2:
        return a if a == b else FLOAT16
    raise Unsupported(f"Triton refuses an operation of {a.name} and {b.name}")


def promote_number(
    number: bool | int | float, other: ScalarType, *, divides: bool = False
) -> ScalarType:
    """The type in which an operation on a Python number and a tensor is done."""
    own = type_of_number(number)
    if _kind(own) <= _kind(other):
        half = divides and other in (FLOAT16, BFLOAT16)
        chosen: ScalarType = FLOAT32 if half else other
    else:
        chosen = promote(own, other, divides=divides)
    if isinstance(chosen, IntType) and not chosen.low <= number <= chosen.high:
        raise Unsupported(f"{number} does not fit {chosen.name}: Triton refuses this")
    return chosen


def _kind(type: ScalarType) -> int:
    if isinstance(type, FloatType):
        return 2
    return 0 if type is BOOL else 1
