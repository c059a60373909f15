"""What a problem module gives is looked at before a submission is judged by it."""

from __future__ import annotations

import pytest
import torch

from kgen.runner.case import Case, Expected
from kgen.runner.problem import ProblemError, _same_shape

CASE = Case("B 1", {"B": 1}, {}, "plain", "")


def _expected(absolute) -> Expected:
    return Expected(torch.zeros(5, 8, 64), absolute, 1e-3, "fp32", torch.float32)


@pytest.mark.parametrize("shape", [(), (64,), (5, 8, 1), (5, 8, 64)])
def test_an_error_is_allowed_for_all_values_or_for_each(shape):
    _same_shape(CASE, "out", _expected(torch.ones(shape)))
    _same_shape(CASE, "out", _expected(1e-6))


@pytest.mark.parametrize("shape", [(2, 5, 8, 64), (1, 5, 8, 64), (3, 8, 64)])
def test_allowed_errors_of_another_shape_are_the_problems_fault(shape):
    told = (
        f"case 'B 1': expected() allows 'out' errors of shape {shape}, and its values have shape "
        "(5, 8, 64); give one number, or one for each value"
    )
    with pytest.raises(ProblemError) as raised:
        _same_shape(CASE, "out", _expected(torch.ones(shape)))
    assert str(raised.value) == told
