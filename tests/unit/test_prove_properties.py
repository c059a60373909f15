"""The prover's own rules against enumeration: coordinates, digits, statements as one, and arithmetic of the reader."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from kgen.algebra import TRUE, Formula, Kind, Poly, Space, conjunction, eq, ge, lt, ne
from kgen.algebra.valuation import Valuation
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import IntegerArgument, Launch, PointerArgument, TensorFacts, World
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.place import Place
from kgen.prove.obligations.statements import as_one
from kgen.prove.reader import Access, Reader
from kgen.prove.ttir import Operation, read

ZERO = Poly.of(0)


# ---------------------------------------------------------------- coordinates


@st.composite
def tensors(draw) -> tuple[Space, TensorFacts, list[Poly]]:
    """A tensor, contiguous or with strides of their own, and what indices may be made of."""
    space = Space()
    sizes = [
        draw(st.sampled_from([space.axis(name, 1), space.fixed(f"{name}'", 6), Poly.of(4)]))
        for name in "mn"
    ]
    contiguous = [sizes[0] * sizes[1], sizes[1], Poly.of(1)]
    own = [space.axis(f"s{n}", 1) for n in range(2)]
    strides = draw(st.sampled_from([contiguous, [*own, Poly.of(1)], [own[0], own[1], own[0]]]))
    atoms = [space.axis("i", 0, 9), space.axis("j", 0, 9), space.axis("k", 0, 9)]
    extents = (Poly.of(9), *sizes)
    return space, TensorFacts("x", "f32", ("a", "b", "c"), extents, tuple(strides), ""), atoms


@settings(max_examples=120)
@given(tensors(), st.data())
def test_coordinates_times_strides_are_the_offset(tensor, data):
    space, facts, atoms = tensor
    index = st.tuples(*(st.integers(0, 3) for _ in atoms), st.integers(0, 5)).map(
        lambda drawn: sum((c * x for c, x in zip(drawn, atoms)), Poly.of(drawn[-1]))
    )
    wanted = [data.draw(index) for _ in facts.strides]
    offset = sum((c * s for c, s in zip(wanted, facts.strides)), ZERO)
    found = coordinates(space, offset, facts)
    assert found is not None
    again = sum((c * s for c, s in zip(found, facts.strides)), ZERO)
    assert space.concrete(again) == space.concrete(offset)


# ---------------------------------------------------------------- digits


@dataclass(frozen=True)
class Coordinate:
    """A sum of multiples of the variables, or its quotient or remainder by `by`, below `extent`. Of the sum of the
    multiples up to `inner`, only what is below `limit` is touched.
    """

    factors: tuple[int, ...]
    extent: int
    kind: str = "whole"
    by: int = 1
    inner: tuple[int, ...] = (0, 0, 0)
    limit: int = 1

    def poly(self, space: Space, variables: Sequence[Poly]) -> Poly:
        whole = _sum(self.factors, variables)
        if self.kind == "whole":
            return whole
        divide = space.quotient if self.kind == "quotient" else space.remainder
        return divide(whole, Poly.of(self.by))

    def at(self, values: Sequence[int]) -> int:
        whole = sum(f * x for f, x in zip(self.factors, values))
        return {"whole": whole, "quotient": whole // self.by, "remainder": whole % self.by}[
            self.kind
        ]

    def touched(self, space: Space, variables: Sequence[Poly]) -> Formula:
        poly, inner = self.poly(space, variables), _sum(self.inner, variables)
        return conjunction(ge(poly, 0), lt(poly, self.extent), lt(inner, self.limit))

    def touches(self, values: Sequence[int]) -> bool:
        inner = sum(f * x for f, x in zip(self.inner, values))
        return self.at(values) < self.extent and inner < self.limit


def _sum(factors: Sequence[int], variables: Sequence[Poly]) -> Poly:
    return sum((f * v for f, v in zip(factors, variables)), ZERO)


@st.composite
def programs(draw) -> tuple[tuple[int, ...], tuple[Coordinate, Coordinate]]:
    """Ranges of three variables that are digits of two coordinates, or of one that is divided; some of it a bit off."""
    off = st.sampled_from((0, 0, 0, 0, 0, 0, -1, 1))
    ranges = draw(st.tuples(*(st.integers(1, 4) for _ in range(3))))
    order = draw(st.permutations(range(3)))
    shape = draw(st.sampled_from(("two", "divided", "joined")))
    cut = draw(st.integers(0, 3)) if shape == "two" else 3
    first, size = _digits(order[:cut], ranges, [draw(off) for _ in range(3)])
    if shape == "two":
        second, other = _digits(order[cut:], ranges, [draw(off) for _ in range(3)])
        return ranges, (Coordinate(first, size + draw(off)), Coordinate(second, other + draw(off)))
    if shape == "divided":
        by = draw(st.integers(1, 4))
        high = Coordinate(first, -(-size // by) + draw(off), "quotient", by)
        return ranges, (high, Coordinate(first, by + draw(off), "remainder", by))
    low, below = _digits(order[:2], ranges, [draw(off) for _ in range(3)])
    limit = draw(st.integers(1, max(below, 1)))
    joined = tuple(limit if n == order[2] else f for n, f in enumerate(low))
    extent = limit * ranges[order[2]] + draw(off)
    one = Coordinate(joined, extent, inner=low, limit=limit + draw(off))
    return ranges, (one, Coordinate((0, 0, 0), 1))


def _digits(
    order: Sequence[int], ranges: Sequence[int], off: Sequence[int]
) -> tuple[tuple[int, ...], int]:
    """Factors of the variables in `order` as digits of one number, and how many numbers these are."""
    factors, size = [0, 0, 0], 1
    for n in order:
        factors[n] = max(size + off[n], 0)
        size *= ranges[n]
    return tuple(factors), size


@settings(max_examples=200)
@given(programs())
def test_variables_that_digits_tell_correspond_to_the_elements_one_to_one(drawn):
    """What `exactly once` rests on, counted: wherever the coordinates are within their extents."""
    ranges, parts = drawn
    if _one_to_one(ranges, parts):
        met = Counter(
            tuple(part.at(values) for part in parts)
            for values in itertools.product(*map(range, ranges))
            if all(part.touches(values) for part in parts)
        )
        assert met == Counter(itertools.product(*(range(part.extent) for part in parts)))


def _one_to_one(ranges: Sequence[int], parts: Sequence[Coordinate]) -> bool:
    """Whether the prover finds it so."""
    space = Space()
    engine = Engine(World(space, (), {}, ()))
    variables = [space.axis(n, 0, high - 1, Kind.PROGRAM) for n, high in zip("pqr", ranges)]
    touched = [part.touched(space, variables) for part in parts]
    digits = Digits(engine, [next(iter(v.variables)) for v in variables], touched)
    try:
        for name, part in zip("ij", parts):
            digits.any(name, part.poly(space, variables), ZERO, Poly.of(part.extent))
        for variable in digits.missing:
            digits.only_zero(variable)
    except NotDigits:
        return False
    demands = [conjunction(ge(v, 0), lt(v, high)) for v, high in zip(variables, ranges)]
    return all(digits.proves(digits.at(demand)) for demand in (*demands, *touched))


def test_programs_that_are_one_to_one_are_found_to_be():
    """Otherwise the test above would say nothing."""
    tiles = Coordinate((4, 1, 0), 12)
    assert _one_to_one((3, 4, 1), (tiles, Coordinate((0, 0, 0), 1)))
    assert _one_to_one((4, 1, 3), (Coordinate((1, 0, 0), 4), Coordinate((0, 0, 1), 3)))
    high, low = Coordinate((4, 1, 0), 2, "quotient", 4), Coordinate((4, 1, 0), 4, "remainder", 4)
    assert _one_to_one((2, 4, 1), (high, low))
    parts = Coordinate((5, 2, 1), 15, inner=(0, 2, 1), limit=5)
    assert _one_to_one((3, 3, 2), (parts, Coordinate((0, 0, 0), 1)))


# ---------------------------------------------------------------- statements as one


@st.composite
def statements(draw) -> list[tuple[int, int, int, str]]:
    """Stores to `factor * i + first` where `i < end`, in a branch: in steps or in branches, and some of it off."""
    factor, stepped = draw(st.sampled_from((1, 2, 3))), draw(st.booleans())
    ways = draw(st.sampled_from((("low", "high"), ("one", "not one"), ("none", "one", "high"))))
    off = st.sampled_from((0, 0, 0, 0, 0, 0, 1, 2))
    branch = draw(st.sampled_from(("no", "no", "low")))
    return [
        (factor, (n if stepped else 3) + draw(off), 4 - draw(off), branch if stepped else way)
        for n, way in enumerate(ways)
    ]


@settings(max_examples=120)
@given(statements())
def test_statements_as_one_access_what_they_access_and_as_often(drawn):
    space = Space()
    i, flag = space.axis("i", 0, 4, Kind.PROGRAM), space.axis("F", 0, 3)
    branches = {
        "no": TRUE,
        "low": lt(flag, 2),
        "high": ge(flag, 2),
        "none": eq(flag, 0),
        "one": eq(flag, 1),
        "not one": ne(flag, 1),
    }
    facts = TensorFacts("o", "f32", ("i",), (Poly.of(20),), (Poly.of(1),), "output")
    engine = Engine(World(space, (), {"o": facts}, ()))
    places = [
        _store(factor * i + first, lt(i, end), branches[branch])
        for factor, first, end, branch in drawn
    ]
    try:
        joined = as_one(engine, places)
    except NotDigits:
        return
    for at, f in itertools.product(range(5), range(4)):
        expected = Counter(_touched(space, places, {0: at, 1: f}))
        assert Counter(_touched(space, [joined], {0: at, 1: f})) == expected


def test_statements_in_steps_and_in_branches_are_joined():
    space = Space()
    i, flag = space.axis("i", 0, 4, Kind.PROGRAM), space.axis("F", 0, 3)
    facts = TensorFacts("o", "f32", ("i",), (Poly.of(20),), (Poly.of(1),), "output")
    engine = Engine(World(space, (), {"o": facts}, ()))
    even, odd = (_store(2 * i + n, lt(i, 4), TRUE) for n in range(2))
    assert as_one(engine, [even, odd]).statements
    low, high = (_store(i, lt(i, 4), path) for path in (lt(flag, 2), ge(flag, 2)))
    assert not as_one(engine, [low, high]).statements


def _store(offset: Poly, mask: Formula, path: Formula) -> Place:
    operation = Operation("tt.store", (), (), (), {}, (), (), (), (), 0, 1, "tt.store")
    nothing = frozenset()
    access = Access(
        *("store", operation, "o", offset, "f32", (), mask, path),
        *((), nothing, nothing, None, None, 0),
    )
    return Place(access, Launch("kernel", {}, {}, {}), 0, {})


def _touched(space: Space, places: Sequence[Place], at: dict[int, int]) -> Iterator[int]:
    """The offsets that are stored to, each as often as it is."""
    for place in places:
        numbers = [dict(zip(place.statements, (n,))) for n in range(4 if place.statements else 1)]
        for number in numbers:
            values = Valuation(space, {**at, **number}, {})
            if values.formula(place.access.path) and values.formula(place.access.mask):
                yield values.poly(place.access.offset)


# ---------------------------------------------------------------- arithmetic of the reader

NUMPY = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
CORNERS = (-128, -127, -65, -9, -2, -1, 0, 1, 2, 7, 63, 64, 127)


def _divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division toward zero, as in C; by zero it gives anything."""
    safe = np.where(b == 0, 1, b).astype(np.int64)
    quotient = np.abs(a.astype(np.int64)) // np.abs(safe)
    return np.where((a < 0) != (safe < 0), -quotient, quotient).astype(a.dtype)


def _rest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a - _divided(a, b) * b).astype(a.dtype)


def _unsigned(a: np.ndarray) -> np.ndarray:
    return a.view(a.dtype.name.replace("int", "uint"))


BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _divided,
    "arith.remsi": _rest,
    "arith.divui": lambda a, b: (_unsigned(a) // np.where(b == 0, 1, _unsigned(b))).view(a.dtype),
    "arith.remui": lambda a, b: (_unsigned(a) % np.where(b == 0, 1, _unsigned(b))).view(a.dtype),
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.minui": lambda a, b: np.minimum(_unsigned(a), _unsigned(b)).view(a.dtype),
    "arith.maxui": lambda a, b: np.maximum(_unsigned(a), _unsigned(b)).view(a.dtype),
}
"""Numbers at their true width: numpy's arrays wrap around silently."""
BITWISE: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "arith.shli": lambda a, n: a << n,
    "arith.shrsi": lambda a, n: a >> n,
    "arith.shrui": lambda a, n: (_unsigned(a) >> _unsigned(a).dtype.type(n)).view(a.dtype),
    "arith.andi": lambda a, n: a & a.dtype.type(2**n - 1),
    "arith.xori": lambda a, n: ~a,
}
SIGNS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "slt": np.less,
    "sge": np.greater_equal,
    "eq": np.equal,
    "ult": lambda a, b: _unsigned(a) < _unsigned(b),
    "ugt": lambda a, b: _unsigned(a) > _unsigned(b),
}


class Written:
    """Lines of TTIR, and what each value is on a machine at every pair of two 8-bit arguments."""

    def __init__(self) -> None:
        a, b = (np.array(side, dtype=np.int8) for side in zip(*POINTS))
        self.lines: list[str] = []
        self.values: list[tuple[str, int, np.ndarray]] = [("%a", 8, a), ("%b", 8, b)]

    def add(self, text: str, bits: int, value: np.ndarray) -> str:
        name = f"%v{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, bits, value.astype(NUMPY[bits], copy=False)))
        return name

    def constant(self, number: int, bits: int) -> str:
        name = f"%c{len(self.lines)}"
        self.lines.append(f"{name} = arith.constant {number} : i{bits}")
        return name


POINTS = list(itertools.product(CORNERS, CORNERS))


@st.composite
def arithmetic(draw) -> Written:
    """A few operations on what is there already, the last of them widened to 64 bits as an offset."""
    made = Written()
    for _ in range(draw(st.integers(1, 4))):
        _operation(draw, made)
    name, bits, value = made.values[-1]
    if bits < 64:
        name = made.add(f"arith.extsi {name} : i{bits} to i64", 64, value)
    made.lines.append(f"%at = tt.addptr %x, {name} : !tt.ptr<f32>, i64")
    made.lines.append("tt.store %at, %z : !tt.ptr<f32>")
    return made


def _operation(draw, made: Written) -> None:
    name, bits, value = draw(st.sampled_from(made.values))
    other, _, number = draw(st.sampled_from([one for one in made.values if one[1] == bits]))
    kind = draw(st.sampled_from(("binary", "binary", "bitwise", "choice", "wider", "narrower")))
    if kind == "binary":
        operation = draw(st.sampled_from(sorted(BINARY)))
        made.add(f"{operation} {name}, {other} : i{bits}", bits, BINARY[operation](value, number))
    elif kind == "bitwise":
        operation, amount = draw(st.sampled_from(sorted(BITWISE))), draw(st.integers(1, bits - 2))
        by = {"arith.andi": 2**amount - 1, "arith.xori": -1}.get(operation, amount)
        by = made.constant(by, bits)
        made.add(f"{operation} {name}, {by} : i{bits}", bits, BITWISE[operation](value, amount))
    elif kind == "choice":
        sign = draw(st.sampled_from(sorted(SIGNS)))
        test = f"%t{len(made.lines)}"
        made.lines.append(f"{test} = arith.cmpi {sign}, {name}, {other} : i{bits}")
        chosen = np.where(SIGNS[sign](value, number), value, number)
        made.add(f"arith.select {test}, {name}, {other} : i{bits}", bits, chosen)
    elif kind == "wider" and bits < 64:
        unsigned = draw(st.booleans())
        wide = _unsigned(value) if unsigned else value
        operation = "extui" if unsigned else "extsi"
        made.add(f"arith.{operation} {name} : i{bits} to i{2 * bits}", 2 * bits, wide)
    elif kind == "narrower" and bits > 8:
        half = value.astype(NUMPY[bits // 2])
        made.add(f"arith.trunci {name} : i{bits} to i{bits // 2}", bits // 2, half)


HEAD = "%x: !tt.ptr<f32>, %a: i8, %b: i8"


@settings(max_examples=150)
@given(arithmetic())
def test_where_its_needs_hold_a_value_that_was_read_is_what_a_machine_computes(made):
    assert _compared(made) >= 0


def test_needs_hold_at_many_points_and_fail_where_a_number_wraps():
    """Otherwise the test above would say nothing."""
    made = Written()
    for _ in range(2):
        name, bits, value = made.values[-1]
        made.add(f"arith.muli {name}, %a : i8", 8, value * made.values[0][2])
    name, _, value = made.values[-1]
    wide = made.add(f"arith.extsi {name} : i8 to i64", 64, value)
    made.lines += [
        f"%at = tt.addptr %x, {wide} : !tt.ptr<f32>, i64",
        "tt.store %at, %z : !tt.ptr<f32>",
    ]
    assert 30 < _compared(made) < len(POINTS)


def _compared(made: Written) -> int:
    """At how many points the needs hold, where the reader's number is that of the machine."""
    space = Space()
    a, b = space.axis("a", -128, 127), space.axis("b", -128, 127)
    x = TensorFacts("x", "f32", ("i",), (space.axis("N", 1),), (Poly.of(1),), "output")
    arguments = {"x": PointerArgument("x"), "a": IntegerArgument(a), "b": IntegerArgument(b)}
    launch = Launch("kernel", {}, arguments, {})
    engine = Engine(World(space, (), {"x": x}, (launch,)))
    lines = "\n".join(f"    {line}" for line in ("%z = arith.constant 0.0 : f32", *made.lines))
    text = (
        f"module {{\n  tt.func public @kernel({HEAD}) attributes {{noinline = false}} {{\n"
        f"{lines}\n    tt.return\n  }}\n}}\n"
    )
    reading = Reader(engine, launch, read(text, "file.py"), "k").read()
    assert reading.obstacles == (), text
    (access,) = reading.accesses
    needs = [reading.needs[n].formula for n in access.needs | access.control_needs]
    compared = 0
    for at, expected in zip(POINTS, made.values[-1][2].tolist()):
        values = Valuation(space, dict(enumerate(at)), {})
        if all(values.formula(need) for need in needs):
            number = values.poly(access.offset)
            assert number is None or number == expected, (text, at, number, expected)
            compared += number is not None
    return compared
