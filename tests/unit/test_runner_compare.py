"""An output is compared element by element, and the worst one is told."""

from __future__ import annotations

import math

import pytest
import torch

from kgen.runner.case import Expected
from kgen.runner.compare import compare
from kgen.runner.poison import Poison


def expected(values, absolute=0.1, relative=0.0, dtype=torch.float32) -> Expected:
    return Expected(torch.as_tensor(values).double(), absolute, relative, "why", dtype)


def nobody(tensor, index):
    return None


def compared(output, right, writer=nobody):
    return compare("out", output, right, writer)


def test_the_largest_error_is_told_as_a_fraction_of_what_is_allowed():
    outcome = compared(torch.tensor([1.0, 2.05]), expected([1.0, 2.0]))
    assert outcome.failure is None
    assert outcome.worst == pytest.approx(0.5, rel=1e-4)


def test_the_worst_element_is_told():
    output = torch.tensor([[1.0, 2.0], [3.5, 4.15]])
    failure = compared(output, expected([[1.0, 2.0], [3.0, 4.0]])).failure
    assert (failure.code, failure.element) == ("KG701", (1, 0))
    assert failure.message == (
        "output 'out' is wrong at element [1, 0]: got 3.5, wanted 3, error 0.5, allowed 0.1 (why); "
        "2 of 4 elements are wrong"
    )


def test_the_program_that_wrote_it_is_told():
    failure = compared(torch.ones(2), expected([1.0, 2.0]), lambda *_: ("split", (0, 3, 1))).failure
    assert failure.message.endswith("; program (0, 3, 1) of kernel 'split' wrote it last")
    assert (failure.kernel, failure.program) == ("split", (0, 3, 1))


def test_the_allowed_error_grows_with_the_reference():
    assert compared(torch.tensor([101.0]), expected([100.0], 0.0, 0.02)).failure is None
    assert compared(torch.tensor([103.0]), expected([100.0], 0.0, 0.02)).failure is not None


def test_the_allowed_error_may_differ_from_element_to_element():
    allowed = torch.tensor([0.1, 1.0])
    assert compared(torch.tensor([1.0, 2.5]), expected([1.0, 2.0], allowed)).failure is None
    assert compared(torch.tensor([1.5, 2.0]), expected([1.0, 2.0], allowed)).failure.element == (0,)


@pytest.mark.parametrize("got", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_wrong_whatever_is_allowed(got):
    outcome = compared(torch.tensor([got]), expected([1.0], absolute=math.inf))
    assert outcome.failure.code == "KG701"
    assert outcome.worst == math.inf


@pytest.mark.parametrize("same", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_right_where_the_reference_has_the_same(same):
    assert compared(torch.tensor([same]), expected([same])).failure is None


@pytest.mark.parametrize(
    ("got", "right"),
    [(1.0, math.inf), (-math.inf, math.inf), (0.0, math.nan), (math.inf, math.nan)],
)
def test_another_value_than_an_infinite_reference_is_wrong(got, right):
    assert compared(torch.tensor([got]), expected([right])).failure is not None


def test_integers_are_compared_exactly():
    right = Expected(torch.tensor([2**62, 5]), 0.0, 0.0, "ids", torch.int64)
    assert compared(torch.tensor([2**62, 5]), right).failure is None
    assert compared(torch.tensor([2**62 + 1, 5]), right).failure.element == (0,)


def test_an_element_that_still_holds_the_poison_was_never_written():
    with Poison():
        output = torch.empty(2, 3)
    output[0], output[1, 0] = 1.0, 1.0
    failure = compared(output, expected(torch.ones(2, 3))).failure
    assert (failure.code, failure.element) == ("KG702", (1, 1))
    assert failure.message.endswith("allocated with; so do 2 of 6 elements")


def test_a_nan_with_the_bits_of_the_poison_that_a_kernel_wrote_is_a_wrong_value():
    with Poison():
        output = torch.empty(1)
    assert compared(output, expected([1.0]), lambda *_: ("k", (0, 0, 0))).failure.code == "KG701"


def test_an_output_without_elements_is_right():
    assert compared(torch.zeros(0, 4), expected(torch.zeros(0, 4))).failure is None


def test_a_strided_output_is_judged_by_its_elements():
    output = torch.zeros(3, 4)[:, ::2]
    output[2, 1] = 9
    assert compared(output, expected(torch.zeros(3, 2))).failure.element == (2, 1)
