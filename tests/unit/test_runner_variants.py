"""Which case a graph is captured with, and which run-time values it is replayed with."""

from __future__ import annotations

from kgen.runner.case import Case
from kgen.runner.variants import most_telling, rotations


def case(name: str, capacity: int, *lengths: int, layout: str = "plain") -> Case:
    return Case(name, {"CAP": capacity}, {"S": list(lengths)}, layout, "decode")


def test_cases_of_the_same_shapes_come_before_a_larger_one_alone():
    alone = case("alone", 4096, 4000)
    alike = [case("long", 256, 200), case("short", 256, 3)]
    assert most_telling([alone, *alike]) == alike


def test_requests_of_different_length_vary_by_their_order():
    few = [case("zero", 1, 0), case("one", 1, 1)]
    many = case("many", 4096, 8, 700, 4096)
    assert most_telling([*few, many]) == [many]


def test_layouts_are_not_mixed():
    plain, padded = case("plain", 8, 5), case("padded", 8, 7, layout="padded")
    assert most_telling([plain, padded]) == [padded]


def test_rotations_keep_every_request():
    rotated = rotations(case("x", 8, 1, 2, 3))
    assert [one.runtime["S"] for one in rotated] == [[2, 3, 1], [3, 1, 2]]
    assert rotated[0].name == "x, requests moved by 1"
    assert rotated[0].axes == {"CAP": 8}
