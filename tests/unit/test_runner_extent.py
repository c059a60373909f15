"""Which offsets belong to a strided view, against all elements of the view, counted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.runner.extent import Extent


def offsets_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> set[int]:
    """The offset of every element."""
    indices = itertools.product(*map(range, shape))
    return {sum(i * stride for i, stride in zip(index, strides)) for index in indices}


@st.composite
def views(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Views as slicing, transposing and expanding make them: no two elements that should differ
    overlap.
    """
    shape, strides = [], []
    stride = draw(st.integers(1, 3))
    for size in draw(st.lists(st.integers(1, 4), max_size=4)):
        expanded = draw(st.booleans()) and draw(st.booleans())
        shape.append(size)
        strides.append(0 if expanded else stride)
        if not expanded:
            stride = stride * size + draw(st.integers(0, 3))
    order = draw(st.permutations(range(len(shape))))
    return tuple(shape[i] for i in order), tuple(strides[i] for i in order)


@given(views())
def test_a_view_holds_just_its_own_elements(view):
    extent = Extent.of(*view)
    near = np.arange(-5, extent.span + 5)
    assert set(near[extent.contains(near)].tolist()) == offsets_of(*view)


@given(views())
def test_an_index_leads_back_to_its_offset(view):
    shape, strides = view
    extent = Extent.of(shape, strides)
    for offset in offsets_of(shape, strides):
        index = extent.index(offset)
        assert sum(i * stride for i, stride in zip(index, strides)) == offset
        assert all(0 <= i < n for i, n in zip(index, shape))


def test_a_tensor_without_elements_holds_nothing():
    assert not Extent.of((3, 0, 2), (0, 2, 1)).contains(np.array([-1, 0, 1])).any()


def test_an_offset_in_a_gap_reads_as_a_column_too_far():
    assert Extent.of((2, 20), (28, 1)).index(48) == (1, 20)


def test_an_offset_past_the_end_reads_as_a_row_too_far():
    assert Extent.of((2, 20), (20, 1)).index(45) == (2, 5)


def test_rows_that_overlap_count_as_one_stretch():
    """Sliding windows over one line: every offset from first to last belongs to some row."""
    extent = Extent.of((4, 3), (1, 1))
    assert extent.contains(np.arange(-1, 8)).tolist() == [False] + [True] * 6 + [False] * 2


@pytest.mark.parametrize("offset", [2**41 + 3, -(2**40)])
def test_far_offsets_do_not_overflow(offset):
    assert not Extent.of((3, 5), (2**39, 1)).holds(offset)


def test_far_rows_are_told_apart_without_memory_for_the_gap():
    extent = Extent.of((3, 5), (2**39, 1))
    assert extent.holds(2 * 2**39 + 4)
    assert not extent.holds(2 * 2**39 + 5)
