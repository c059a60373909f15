"""Addresses as coordinates, and coordinates as digits: what tells a program from what it touches."""

from __future__ import annotations

import itertools

import pytest

from kgen.algebra import Kind, Poly, Space, conjunction, eq, ge, lt
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import TensorFacts, World
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine


def tensor(extents, strides) -> TensorFacts:
    dims = tuple("abcd"[: len(extents)])
    return TensorFacts(
        "x", "f32", dims, tuple(map(Poly.of, extents)), tuple(map(Poly.of, strides)), ""
    )


@pytest.fixture
def space() -> Space:
    return Space()


# ---------------------------------------------------------------- coordinates


def test_terms_go_to_the_stride_that_they_are_multiples_of(space):
    i, j = space.axis("i", 0, 9), space.axis("j", 0, 9)
    s, t = space.axis("s", 0), space.axis("t", 0)
    x = tensor((9, 9, 9), (s, t, 1))
    assert coordinates(space, i * s + 2 * j * t + 7, x) == (i, 2 * j, Poly.of(7))
    assert coordinates(space, i * s * t, x) == (i * t, Poly.of(0), Poly.of(0))


def test_products_of_strides_go_to_the_longest_product(space):
    i, j = space.axis("i", 0, 9), space.axis("j", 0, 9)
    m, n = space.axis("m", 1), space.axis("n", 1)
    x = tensor((9, m, n), (m * n, n, 1))
    assert coordinates(space, i * m * n + j * n + 3, x) == (i, j, Poly.of(3))


def test_named_constants_tell_equal_strides_apart(space):
    i = space.axis("i", 0, 9)
    m, n = space.fixed("M", 4), space.fixed("N", 4)
    x = tensor((9, m, n), (m * n, n, 1))
    assert coordinates(space, i * m * n + i * n + i, x) == (i, i, i)


def test_a_name_that_the_offset_does_not_have_is_a_number_there(space):
    """A size that the launcher computes is a name in strides, and a constant in the kernel."""
    i, j = space.axis("i", 0, 9), space.axis("j", 0, 31)
    rows = space.fixed("ROWS", 32)
    assert coordinates(space, 32 * i + j, tensor((9, rows), (rows, 1))) == (i, j)


def test_numbers_are_divided_where_names_do_not_help(space):
    i, j = space.axis("i", 0, 9), space.axis("j", 0, 9)
    x = tensor((9, 8, 16), (128, 16, 1))
    assert coordinates(space, 128 * i + 48 + j, x) == (i, Poly.of(3), j)


def test_a_dimension_of_one_element_takes_nothing(space):
    i, s = space.axis("i", 0, 9), space.axis("s", 0)
    assert coordinates(space, i * 1, tensor((1, 9), (s, 1))) == (Poly.of(0), i)


def test_what_is_no_multiple_of_a_stride_has_no_coordinates(space):
    i, s, t = space.axis("i", 0, 9), space.axis("s", 0), space.axis("t", 0)
    x = tensor((9, 9), (s, 2 * t))
    assert coordinates(space, i * s + i * t, x) is None
    assert coordinates(space, i, tensor((9,), (s + t,))) is None


# ---------------------------------------------------------------- digits


class Program:
    """A program with variables of these ranges, upper ends excluded."""

    def __init__(self, **ranges: int):
        self.space = Space()
        self.engine = Engine(World(self.space, (), {}, ()))
        self.vars = {
            name: self.space.axis(name, 0, high - 1, Kind.PROGRAM) for name, high in ranges.items()
        }
        self.unknown = [next(iter(v.variables)) for v in self.vars.values()]

    def digits(self, *given) -> Digits:
        return Digits(self.engine, self.unknown, given)

    def reach(self, digits: Digits) -> bool:
        """Whether every value of the coordinates is reached by variables within their ranges."""
        for variable in digits.missing:
            digits.only_zero(variable)
        return all(
            digits.proves(digits.at(conjunction(ge(v, 0), lt(v, self._high(v)))))
            for v in self.vars.values()
        )

    def _high(self, v: Poly) -> int:
        return self.space.interval(v).high + 1


def test_a_tile_and_its_lanes_are_the_digits_of_a_row():
    one = Program(p=10, lane=64)
    p, lane = one.vars["p"], one.vars["lane"]
    digits = one.digits()
    digits.any("i", 64 * p + lane, Poly.of(0), Poly.of(640))
    assert one.reach(digits)


def test_a_grid_that_is_too_small_or_a_row_too_long_does_not_reach():
    one = Program(p=9, lane=64)
    digits = one.digits()
    digits.any("i", 64 * one.vars["p"] + one.vars["lane"], Poly.of(0), Poly.of(640))
    assert not one.reach(digits)


def test_lanes_that_run_into_the_next_tile_are_no_digits():
    one = Program(p=9, lane=65)
    with pytest.raises(NotDigits, match="where the next digit begins"):
        one.digits().any("i", 64 * one.vars["p"] + one.vars["lane"], Poly.of(0), Poly.of(640))


def test_lanes_of_which_a_mask_leaves_one_tell_nothing():
    """A tile of rows over one row: part and row have the same factor."""
    one = Program(s=5, row=16)
    s, row = one.vars.values()
    digits = one.digits(lt(row, 1))
    digits.any("i", s + row, Poly.of(0), Poly.of(5))
    assert one.reach(digits)
    with pytest.raises(NotDigits, match="the factors 1, 1 are no chain of radices"):
        one.digits(lt(row, 2)).any("i", s + row, Poly.of(0), Poly.of(6))


def test_parts_that_no_tile_divides_are_numbers_of_their_own():
    one = Program(s=5, t=4, lane=4)
    s, t, lane = one.vars.values()
    inner = 4 * t + lane
    digits = one.digits(lt(inner, 13))
    digits.any("i", 13 * s + inner, Poly.of(0), Poly.of(65))
    assert one.reach(digits)
    with pytest.raises(NotDigits, match="may reach 13, where the next digit begins"):
        one.digits(lt(inner, 14)).any("i", 13 * s + inner, Poly.of(0), Poly.of(65))


def test_parts_of_a_size_that_is_not_known():
    one = Program(s=5, t=4, lane=4)
    s, t, lane = one.vars.values()
    chunk = one.space.axis("chunk", 0, 16)
    inner = 4 * t + lane
    positive = one.digits(lt(inner, chunk), ge(chunk, 1))
    positive.any("i", chunk * s + inner, Poly.of(0), 5 * chunk)
    assert one.reach(positive)
    maybe_none = one.digits(lt(inner, chunk))
    maybe_none.any("i", chunk * s + inner, Poly.of(0), 5 * chunk)  # then there are no elements
    assert one.reach(maybe_none)


def test_a_gap_between_tiles_is_not_reached():
    one = Program(p=10, lane=63)
    digits = one.digits()
    digits.any("i", 64 * one.vars["p"] + one.vars["lane"], Poly.of(0), Poly.of(640))
    assert not one.reach(digits)


def test_a_start_behind_the_first_element_is_no_match():
    one = Program(p=10, lane=64)
    with pytest.raises(NotDigits, match="begins 1 behind"):
        one.digits().any("i", 64 * one.vars["p"] + one.vars["lane"] + 1, Poly.of(0), Poly.of(641))


def test_a_variable_that_no_coordinate_tells_repeats_every_element():
    one = Program(p=10, q=2)
    digits = one.digits()
    digits.any("i", one.vars["p"], Poly.of(0), Poly.of(10))
    with pytest.raises(NotDigits, match="met several times"):
        digits.only_zero(*digits.missing)


def test_quotient_and_remainder_are_two_digits_of_one_variable():
    one = Program(p=35)
    p, space = one.vars["p"], one.space
    digits = one.digits()
    digits.any("row", space.quotient(p, Poly.of(7)), Poly.of(0), Poly.of(5))
    digits.any("column", space.remainder(p, Poly.of(7)), Poly.of(0), Poly.of(7))
    assert digits.missing == [] and one.reach(digits)


def test_each_of_some_neighbours_may_meet_all_elements():
    one = Program(p=35)
    p, space = one.vars["p"], one.space
    which = space.remainder(p, Poly.of(7))

    def digits(count: int) -> Digits:
        found = one.digits()
        found.any("row", space.quotient(p, Poly.of(7)), Poly.of(0), Poly.of(5))
        found.each_of(p, count)
        return found

    told = digits(7)
    assert told.missing == [] and one.reach(told)
    # what only one of them does is not done by each
    assert not told.proves(told.at(eq(which, 0)))
    assert digits(5).missing == one.unknown


def test_what_counts_the_same_and_is_always_zero_tells_itself():
    one = Program(s=5, lane=16)
    s, lane = one.vars.values()
    digits = one.digits(lt(lane, 1))
    digits.any("i", s + lane, Poly.of(0), Poly.of(5))
    assert digits.missing == [] and one.reach(digits)
    with pytest.raises(NotDigits, match="no chain of radices"):
        one.digits(lt(lane, 2)).any("i", s + lane, Poly.of(0), Poly.of(5))


def test_a_product_of_variables_is_no_digit():
    one = Program(p=10, q=10)
    with pytest.raises(NotDigits):
        one.digits().any("i", one.vars["p"] * one.vars["q"], Poly.of(0), Poly.of(100))


@pytest.mark.parametrize("case", range(60))
def test_digits_agree_with_counting(case):
    """Two coordinates over three variables with small factors: what is proved is a bijection, counted."""
    numbers = itertools.islice(_cases(), case * 61 % 400, None)
    first, second, ranges, extents = next(numbers)
    one = Program(**dict(zip("pqr", ranges)))
    variables = list(one.vars.values())

    def value(factors, at):
        return sum(f * x for f, x in zip(factors, at))

    digits = one.digits()
    try:
        for name, factors, extent in (("i", first, extents[0]), ("j", second, extents[1])):
            poly = sum((f * v for f, v in zip(factors, variables)), Poly.of(0))
            digits.any(name, poly, Poly.of(0), Poly.of(extent))
        proved = one.reach(digits)
    except NotDigits:
        proved = False
    met = [(value(first, at), value(second, at)) for at in itertools.product(*map(range, ranges))]
    inside = [m for m in met if m[0] < extents[0] and m[1] < extents[1]]
    exactly = sorted(met) == sorted(itertools.product(range(extents[0]), range(extents[1])))
    if proved:
        # coordinates beyond the extents would be another obligation's fault
        assert len(set(inside)) == len(inside) == extents[0] * extents[1]
    if exactly and not any(a and b for a, b in zip(first, second)):
        assert proved


def _cases():
    factors = ((1, 0, 0), (0, 1, 0), (2, 1, 0), (1, 3, 0), (4, 1, 2), (1, 2, 4))
    others = ((0, 0, 1), (0, 1, 3), (0, 1, 0), (0, 0, 2))
    sizes = ((2, 3, 2), (4, 2, 3), (3, 3, 2), (2, 2, 2))
    extents = ((2, 2), (6, 2), (8, 3), (9, 2), (3, 6), (2, 6))
    return itertools.product(factors, others, sizes, extents)
