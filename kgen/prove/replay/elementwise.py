"""Functions of one lane at a time: `tl.minimum`, `tl.where`, `tl.cdiv`, casts, hints ..."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgen.prove.replay import arithmetic, integers
from kgen.prove.replay.arithmetic import Operand, binary, cast, lift
from kgen.prove.replay.dtypes import (
    INT32,
    ElementType,
    FloatType,
    IntType,
    PointerTo,
    ScalarType,
)
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.trace import BrokenPromise
from kgen.prove.replay.values import Value, constant, is_float, is_integer, storage, unknown


def program_id(machine: Machine, axis: int) -> Value:
    """The program's coordinate on a grid axis, int32."""
    return constant(INT32, machine.program[_grid_axis(axis)])


def num_programs(machine: Machine, axis: int) -> Value:
    """The grid's extent on an axis, int32."""
    return constant(INT32, machine.grid[_grid_axis(axis)])


def cdiv(machine: Machine, x: Operand, div: Operand) -> Operand:
    """`(x + (div - 1)) // div`, each step in its own type."""
    recorder = machine.recorder
    rounded = binary(recorder, "+", x, binary(recorder, "-", div, 1))
    return binary(recorder, "//", rounded, div)


def selecting(symbol: str) -> Callable[..., Value]:
    """`tl.minimum` or `tl.maximum`; two numbers become a scalar too."""

    def operation(
        machine: Machine, x: Operand, y: Operand, propagate_nan: object = None
    ) -> Operand:
        return binary(machine.recorder, symbol, lift(x) if isinstance(y, (int, float)) else x, y)

    return operation


def clamp(
    machine: Machine, x: Operand, min: Operand, max: Operand, propagate_nan: object = None
) -> Value:
    """`x` held between two bounds; floats only, as in Triton."""
    value = lift(x)
    if not is_float(value):
        raise Unsupported("tl.clamp of integers: use tl.minimum and tl.maximum")
    low = binary(machine.recorder, "max", value, min)
    return lift(binary(machine.recorder, "min", low, max))


def where(machine: Machine, condition: Operand, x: Operand, y: Operand) -> Value:
    """`x` where the condition holds, else `y`."""
    return arithmetic.where(machine.recorder, condition, x, y)


def to(
    machine: Machine,
    input: Operand,
    dtype: ElementType | PointerTo,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
) -> Value:
    """A cast, or the same bits as another type."""
    if not isinstance(dtype, (IntType, FloatType, PointerTo)):
        raise Unsupported(f"a cast to {dtype!r}, which is no type")
    if bitcast:
        return arithmetic.bitcast(lift(input), dtype)
    return cast(machine.recorder, input, dtype)


def absolute(machine: Machine, x: Operand) -> Value:
    """The magnitude."""
    value = lift(x)
    if is_integer(value):
        return integers.absolute(machine.recorder, value)
    return _through(value, np.abs)


def of_floats(function: Callable | None) -> Callable[..., Value]:
    """A function of floats lane by lane; without a numpy `function` its result is opaque."""

    def operation(machine: Machine, x: Operand) -> Value:
        value = lift(x)
        if not is_float(value):
            raise Unsupported(f"a function of floats on {value.type.name}: Triton refuses this")
        return unknown(value.type, value.shape) if function is None else _through(value, function)

    return operation


def fdiv(machine: Machine, x: Operand, y: Operand, ieee_rounding: bool = False) -> Value:
    """Division of floats."""
    return lift(binary(machine.recorder, "/", lift(x), y))


def fma(machine: Machine, x: Operand, y: Operand, z: Operand) -> Value:
    """`x * y + z`."""
    return lift(binary(machine.recorder, "+", binary(machine.recorder, "*", lift(x), y), z))


def inline_assembly(
    machine: Machine,
    asm: str,
    constraints: str,
    args: tuple | list,
    dtype: ScalarType | tuple,
    is_pure: bool,
    pack: int,
) -> Value | tuple[Value, ...]:
    """Pure assembly gives opaque lanes; what is not pure might touch memory unseen."""
    if not is_pure:
        raise Unsupported("inline assembly that is not pure: its accesses cannot be followed")
    shape = np.broadcast_shapes(*(lift(arg).shape for arg in args)) if args else ()
    if isinstance(dtype, tuple):
        return tuple(unknown(each, shape) for each in dtype)
    return unknown(dtype, shape)


def assume(machine: Machine, cond: Operand) -> None:
    """What the compiler may rely on: noted where it is false."""
    _promise(machine, lift(cond), "tl.assume")


def device_assert(
    machine: Machine, cond: Operand, msg: str = "", mask: Operand | None = None
) -> None:
    """An assertion of debug builds: noted where it fails, and nothing stops."""
    held = lift(cond)
    if mask is not None:
        held = lift(binary(machine.recorder, "|", held, integers.negate_bits(lift(mask))))
    _promise(machine, held, "tl.device_assert")


def static_assert(machine: Machine, cond: object, msg: object = "") -> None:
    """A condition on constants: a kernel where it fails does not compile."""
    if isinstance(cond, Value):
        raise Unsupported("tl.static_assert of a run-time value")
    if not cond:
        raise Unsupported(f"tl.static_assert failed: {msg or 'no message'}")


def multiple_of(machine: Machine, input: Operand, values: int | list | tuple) -> Operand:
    """A hint on alignment, checked where a scalar is hinted at."""
    if is_integer(input) and isinstance(values, int) and input.opaque is None and not input.shape:
        rest = binary(machine.recorder, "%", input, values)
        _promise(machine, lift(binary(machine.recorder, "==", rest, 0)), f"tl.multiple_of {values}")
    return input


def hint(machine: Machine, input: Operand, values: object) -> Operand:
    """A hint on contiguity or constancy, which changes no value."""
    return input


def static_print(machine: Machine, *values: object, **options: object) -> None:
    """Prints while compiling: no effect on a program."""


def device_print(machine: Machine, prefix: str, *args: object, hex: bool = False) -> None:
    """Prints from the device: no effect on addresses."""


def to_tensor(machine: Machine, x: Operand) -> Value:
    """A Python number as a scalar."""
    return lift(x)


def _grid_axis(axis: object) -> int:
    if not isinstance(axis, int) or axis not in (0, 1, 2):
        raise Unsupported(f"grid axis {axis!r}: Triton has 0, 1 and 2")
    return axis


def _through(value: Value, function: Callable) -> Value:
    if value.is_unknown or not value.type.computed:
        return unknown(value.type, value.shape)
    with np.errstate(all="ignore"):
        data = np.asarray(function(value.data)).astype(storage(value.type), copy=False)
    return Value(value.type, data, value.opaque, value.taint)


def _promise(machine: Machine, value: Value, name: str) -> None:
    lanes = ~value.data.astype(bool)
    if value.opaque is not None:
        lanes = lanes & ~value.opaque
    if lanes.any():
        broken = BrokenPromise(f"{name} does not hold", machine.recorder.line)
        machine.recorder.broken[broken] = None


FUNCTIONS: dict[str, Callable] = {
    "program_id": program_id,
    "num_programs": num_programs,
    "cdiv": cdiv,
    "minimum": selecting("min"),
    "maximum": selecting("max"),
    "clamp": clamp,
    "where": where,
    "cast": to,
    "to": to,
    "abs": absolute,
    "fdiv": fdiv,
    "div_rn": fdiv,
    "fma": fma,
    "exp": of_floats(np.exp),
    "exp2": of_floats(np.exp2),
    "log": of_floats(np.log),
    "log2": of_floats(np.log2),
    "sin": of_floats(np.sin),
    "cos": of_floats(np.cos),
    "sqrt": of_floats(np.sqrt),
    "sqrt_rn": of_floats(np.sqrt),
    "rsqrt": of_floats(lambda x: 1 / np.sqrt(x)),
    "sigmoid": of_floats(lambda x: 1 / (1 + np.exp(-x))),
    "floor": of_floats(np.floor),
    "ceil": of_floats(np.ceil),
    "erf": of_floats(None),
    "softmax": of_floats(None),
    "inline_asm_elementwise": inline_assembly,
    "assume": assume,
    "device_assert": device_assert,
    "static_assert": static_assert,
    "static_print": static_print,
    "device_print": device_print,
    "multiple_of": multiple_of,
    "max_contiguous": hint,
    "max_constancy": hint,
    "to_tensor": to_tensor,
}
