"""Handlers of integer arithmetic and comparisons.

An operation whose machine result may differ from the mathematical one leaves a need. What is not arithmetic (bits of
real numbers, exclusive or) gives an unknown of its type, which is fine for data and useless for addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgen.algebra import (
    FALSE,
    TRUE,
    Formula,
    Interval,
    Opaque,
    Poly,
    Rounding,
    conjunction,
    disjunction,
    eq,
    ge,
    gt,
    iff,
    le,
    lt,
    ne,
    negate,
)
from kgen.prove.reader.machine import Handler, Reader, merged
from kgen.prove.reader.record import DIVIDES
from kgen.prove.reader.values import Condition, Data, Integer, Value
from kgen.prove.ttir import Operation

_COMPARISONS: Mapping[str, Callable[[Poly, Poly], Formula]] = {
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
}


def _integers(*values: Value) -> bool:
    return all(isinstance(value, Integer) for value in values)


def _lost(reader: Reader, operation: Operation) -> Value:
    return reader.unknown(operation, operation.result_types[0])


def constant(reader: Reader, operation: Operation) -> Value:
    """`arith.constant`: integers and truth values, the same in all lanes."""
    (kind,) = operation.result_types
    text = operation.attributes["value"]
    if kind.bits == 1 and text in ("true", "false"):
        return Condition(TRUE if text == "true" else FALSE, kind.shape)
    if kind.bits and kind.bits > 1 and text.lstrip("-").isdigit():
        return Integer(Poly.of(int(text)), kind.shape, kind.bits)
    return Data(kind.shape) if kind.bits is None else _lost(reader, operation)


def _exact(combine: Callable[[Poly, Poly], Poly]) -> Handler:
    """`+`, `-` and `*`: exact where the result fits."""

    def handler(reader: Reader, operation: Operation, left: Value, right: Value) -> Value:
        if not _integers(left, right):
            return _lost(reader, operation)
        poly = combine(left.poly, right.poly)
        needs = left.needs | right.needs | reader.fits(operation, poly, left.bits)
        return Integer(poly, operation.result_types[0].shape, left.bits, needs)

    return handler


def _division(remainder: bool, unsigned: bool, up: bool = False) -> Handler:
    """Division toward zero by a positive number; as unsigned, of a number that is not negative."""

    def handler(reader: Reader, operation: Operation, left: Value, right: Value) -> Value:
        if not _integers(left, right):
            return _lost(reader, operation)
        domain = conjunction(ge(right.poly, 1), ge(left.poly, 0) if unsigned or up else TRUE)
        needs = left.needs | right.needs | reader.need(operation, DIVIDES, domain)
        if up:
            poly = reader.space.ceiling_quotient(left.poly, right.poly)
        else:
            divide = reader.space.remainder if remainder else reader.space.quotient
            poly = divide(left.poly, right.poly, Rounding.TRUNCATE)
            # what is known of a quotient rests on this, so it is proved once, here
            if reader.certain(ge(left.poly, 0)) and reader.certain(ge(right.poly, 1)):
                reader.certain(ge(poly, 0))
                most = reader.space.interval(left.poly).high
                if most is not None and reader.space.interval(poly).high is None:
                    reader.certain(le(poly, most))
                groups = reader.groups(left.poly, right.poly)
                if groups is not None:
                    reader.certain(lt(poly, groups))
        return Integer(poly, operation.result_types[0].shape, left.bits, needs)

    return handler


def _extreme(largest: bool, unsigned: bool) -> Handler:
    def handler(reader: Reader, operation: Operation, left: Value, right: Value) -> Value:
        if not _integers(left, right):
            return _lost(reader, operation)
        needs = left.needs | right.needs
        if unsigned:
            needs |= reader.need(operation, "it is not negative", _from_zero(left, right))
        choose = reader.space.maximum if largest else reader.space.minimum
        shape = operation.result_types[0].shape
        return Integer(choose(left.poly, right.poly), shape, left.bits, needs)

    return handler


def _from_zero(*values: Integer) -> Formula:
    return conjunction(*(ge(value.poly, 0) for value in values))


def compare(reader: Reader, operation: Operation, left: Value, right: Value) -> Value:
    """`arith.cmpi`."""
    shape = operation.result_types[0].shape
    predicate = operation.keywords[0]
    if isinstance(left, Condition) and isinstance(right, Condition) and predicate in ("eq", "ne"):
        equal = iff(left.formula, right.formula)
        needs = left.needs | right.needs
        return Condition(equal if predicate == "eq" else negate(equal), shape, needs)
    if not _integers(left, right):
        return _opaque(reader, operation)
    needs = left.needs | right.needs
    if predicate in ("eq", "ne"):
        formula = eq(left.poly, right.poly) if predicate == "eq" else ne(left.poly, right.poly)
        return Condition(formula, shape, needs)
    if predicate.startswith("u"):
        needs |= reader.need(operation, "it is not negative", _from_zero(left, right))
    return Condition(_COMPARISONS[predicate[1:]](left.poly, right.poly), shape, needs)


def opaque(reader: Reader, operation: Operation, *_: Value) -> Value:
    """A truth value that the engine cannot look into, such as a comparison of real numbers."""
    return _opaque(reader, operation)


def _opaque(reader: Reader, operation: Operation) -> Condition:
    shape = operation.result_types[0].shape
    reason = f"{reader.name}: {operation.name} in line {operation.line}"
    return Condition(Opaque(reason, tuple(reader.place(shape)), operation.number * 16), shape)


def select(
    reader: Reader, operation: Operation, condition: Value, then: Value, otherwise: Value
) -> Value:
    """`arith.select`."""
    kind = operation.result_types[-1]
    if not isinstance(condition, Condition):
        return reader.unknown(operation, kind)
    return merged(reader, condition, then, otherwise, kind.shape)


def _logic(combine: Callable[..., Formula], bits: Callable[..., Interval]) -> Handler:
    """`and` and `or` of truth values; of integers, an unknown between bounds."""

    def handler(reader: Reader, operation: Operation, left: Value, right: Value) -> Value:
        shape = operation.result_types[0].shape
        if isinstance(left, Condition) and isinstance(right, Condition):
            formula = combine(left.formula, right.formula)
            return Condition(formula, shape, left.needs | right.needs)
        if not _integers(left, right):
            return _lost(reader, operation)
        if combine is conjunction:
            for value, mask in ((left, right), (right, left)):
                low_bits = _low_bits(mask.poly)
                if low_bits is not None:
                    needs = left.needs | right.needs
                    needs |= reader.need(operation, "it is not negative", ge(value.poly, 0))
                    poly = reader.space.remainder(value.poly, Poly.of(low_bits))
                    return Integer(poly, shape, left.bits, needs)
        bounds = bits(reader.space.interval(left.poly), reader.space.interval(right.poly))
        needs = left.needs | right.needs
        return reader.unknown(operation, operation.result_types[0], bounds=bounds, needs=needs)

    return handler


def _low_bits(mask: Poly) -> int | None:
    """n for a constant n - 1 where n is a power of two: `x & (n - 1)` is `x % n`."""
    value = mask.constant
    return value + 1 if value is not None and value >= 0 and value & (value + 1) == 0 else None


def _and_bounds(left: Interval, right: Interval) -> Interval:
    """`x & y` is at most either that is not negative."""
    known = [side.high for side in (left, right) if side.low is not None and side.low >= 0]
    highs = [high for high in known if high is not None]
    return Interval(0, min(highs)) if highs else Interval(0, None) if known else Interval()


def _or_bounds(left: Interval, right: Interval) -> Interval:
    """`x | y` has no more bits than the longer, and is at least either."""
    ends = (left.low, left.high, right.low, right.high)
    if None in ends or left.low < 0 or right.low < 0:
        return Interval()
    return Interval(max(left.low, right.low), 2 ** max(left.high, right.high).bit_length() - 1)


def exclusive_or(reader: Reader, operation: Operation, left: Value, right: Value) -> Value:
    """`arith.xori`: the negation of a truth value; of integers, an unknown between bounds."""
    shape = operation.result_types[0].shape
    if isinstance(left, Condition) and isinstance(right, Condition):
        unequal = negate(iff(left.formula, right.formula))
        return Condition(unequal, shape, left.needs | right.needs)
    if not _integers(left, right):
        return _lost(reader, operation)
    if right.poly.constant == -1:
        return Integer(-left.poly - 1, shape, left.bits, left.needs)
    bounds = _or_bounds(reader.space.interval(left.poly), reader.space.interval(right.poly))
    bounds = bounds if bounds.low is None else Interval(0, bounds.high)
    needs = left.needs | right.needs
    return reader.unknown(operation, operation.result_types[0], bounds=bounds, needs=needs)


def _shift(left_shift: bool, unsigned: bool = False) -> Handler:
    """Shifts by a constant number of bits."""

    def handler(reader: Reader, operation: Operation, value: Value, by: Value) -> Value:
        shape = operation.result_types[0].shape
        amount = by.poly.constant if _integers(value, by) else None
        if amount is None or not 0 <= amount < value.bits:
            return _lost(reader, operation)
        factor = Poly.of(2**amount)
        needs = value.needs | by.needs
        if left_shift:
            poly = value.poly * factor
            needs |= reader.fits(operation, poly, value.bits)
        else:
            poly = reader.space.quotient(value.poly, factor)
            if unsigned:
                needs |= reader.need(operation, "it is not negative", ge(value.poly, 0))
        return Integer(poly, shape, value.bits, needs)

    return handler


def widen(reader: Reader, operation: Operation, value: Value) -> Value:
    """`arith.extsi`, `arith.index_cast`: the same number; a truth value becomes 0 or -1."""
    (kind,) = operation.result_types
    if isinstance(value, Condition):
        poly = reader.space.where(value.formula, Poly.of(-1), Poly.of(0))
        return Integer(poly, kind.shape, kind.bits, value.needs)
    if not _integers(value) or kind.bits is None:
        return _lost(reader, operation)
    return Integer(value.poly, kind.shape, kind.bits, value.needs)


def widen_unsigned(reader: Reader, operation: Operation, value: Value) -> Value:
    """`arith.extui`: the same number where it is not negative; a truth value becomes 0 or 1."""
    (kind,) = operation.result_types
    if isinstance(value, Condition):
        poly = reader.space.where(value.formula, Poly.of(1), Poly.of(0))
        return Integer(poly, kind.shape, kind.bits, value.needs)
    if not _integers(value):
        return _lost(reader, operation)
    needs = value.needs | reader.need(operation, "it is not negative", ge(value.poly, 0))
    return Integer(value.poly, kind.shape, kind.bits, needs)


def narrow(reader: Reader, operation: Operation, value: Value) -> Value:
    """`arith.trunci`: the same number where it fits."""
    (kind,) = operation.result_types
    if not _integers(value) or kind.bits in (None, 1):
        return _lost(reader, operation)
    needs = value.needs | reader.fits(operation, value.poly, kind.bits)
    return Integer(value.poly, kind.shape, kind.bits, needs)


def unknown(reader: Reader, operation: Operation, *_: Value) -> Value:
    """A value that depends on real numbers or on bits."""
    return _lost(reader, operation)


ARITHMETIC: Mapping[str, Handler] = {
    "arith.constant": constant,
    "arith.addi": _exact(Poly.__add__),
    "arith.subi": _exact(Poly.__sub__),
    "arith.muli": _exact(Poly.__mul__),
    "arith.divsi": _division(remainder=False, unsigned=False),
    "arith.divui": _division(remainder=False, unsigned=True),
    "arith.remsi": _division(remainder=True, unsigned=False),
    "arith.remui": _division(remainder=True, unsigned=True),
    "arith.ceildivsi": _division(remainder=False, unsigned=False, up=True),
    "arith.minsi": _extreme(largest=False, unsigned=False),
    "arith.maxsi": _extreme(largest=True, unsigned=False),
    "arith.minui": _extreme(largest=False, unsigned=True),
    "arith.maxui": _extreme(largest=True, unsigned=True),
    "arith.cmpi": compare,
    "arith.cmpf": opaque,
    "arith.select": select,
    "arith.andi": _logic(conjunction, _and_bounds),
    "arith.ori": _logic(disjunction, _or_bounds),
    "arith.xori": exclusive_or,
    "arith.shli": _shift(left_shift=True),
    "arith.shrsi": _shift(left_shift=False),
    "arith.shrui": _shift(left_shift=False, unsigned=True),
    "arith.extsi": widen,
    "arith.index_cast": widen,
    "arith.extui": widen_unsigned,
    "arith.trunci": narrow,
    "arith.bitcast": unknown,
    "arith.fptosi": unknown,
    "arith.fptoui": unknown,
    "tt.mulhiui": unknown,
    "math.absi": unknown,
    "math.ctlz": unknown,
    "math.cttz": unknown,
    "math.ctpop": unknown,
}
