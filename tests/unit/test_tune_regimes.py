"""Cuts of a regime: as few as the measured shapes ask for, and what they assume where nothing was measured."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgen.tune.regimes import Point, assumed, pieces, widened

A, B, C = (("core " + name, "signature") for name in "ABC")


def point(batch: int, *good, **axes) -> Point:
    return Point(f"B {batch}", {"B": batch, **axes}, {core: 1.0 for core in good})


def test_one_candidate_that_is_as_good_everywhere_needs_no_cut():
    assert pieces([point(1, A, B), point(8, B), point(64, B, C)]) == ()


def test_a_cut_is_where_no_candidate_is_as_good_on_both_sides():
    first, second = pieces([point(64, C), point(1, A, B), point(8, B)])
    assert (first.core, first.axis, first.most) == (B, "B", 8)
    assert (second.core, second.most) == (C, None)


def test_what_was_not_measured_is_said():
    cut = pieces([point(1, A), point(8, A), point(64, C)])
    between = "B from 9 to 63 was not measured; it goes with 64"
    assert list(assumed(cut, 1, 64)) == [between]
    assert list(assumed(cut, None, 256)) == [
        "B below 1 was not measured; it goes with 1",
        between,
        "B above 64 was not measured; it goes with 64",
    ]
    wider = widened(cut)
    assert [one.most for one in wider] == [63, None]
    assert list(assumed(wider, 1, 64)) == [between.replace("with 64", "with 8")]


def test_shapes_of_one_value_that_ask_for_different_candidates_are_not_cut_apart():
    assert pieces([point(8, A), point(8, B), point(9, B)]) == ()


def test_the_axis_that_needs_fewest_cuts_is_taken():
    shapes = [point(1, A, CAP=1), point(2, B, CAP=9), point(3, A, CAP=2), point(4, B, CAP=8)]
    assert [(one.axis, one.most, one.core) for one in pieces(shapes)] == [
        ("CAP", 2, A),
        ("CAP", None, B),
    ]


GOOD = st.sets(st.sampled_from([A, B, C]), min_size=1)


def cuts(good: list[set]) -> int:
    """The fewest pieces, tried out."""
    fewest = [0] + [len(good)] * len(good)
    for end in range(1, len(good) + 1):
        for start in range(end):
            if set.intersection(*good[start:end]):
                fewest[end] = min(fewest[end], fewest[start] + 1)
    return fewest[-1]


def test_what_the_spec_has_stays_where_nothing_is_distinguishably_better():
    """A candidate that is as good as the best, and faster by luck, is no reason to change a part."""
    shapes = [point(1, A, B), point(8, C)]
    assert [one.core for one in pieces(shapes, B)] == [B, C]
    assert [one.core for one in pieces(shapes, C)] == [A, C]


@given(st.lists(GOOD, min_size=1, max_size=7))
def test_no_cutting_has_fewer_pieces_and_each_serves_its_shapes(good):
    found = pieces([point(1 + 2 * number, *sorted(each)) for number, each in enumerate(good)])
    assert (len(found) or 1) == cuts(good)
    for number, each in enumerate(good):
        value = 1 + 2 * number
        serving = [one for one in found if one.most is None or value <= one.most]
        assert not found or serving[0].core in each
