"""Outputs against what is right, as flags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from kgen.runner.case import Expected
from kgen.runner.compare import compare
from kgen.runner.outputs import wrong_form
from kgen.runner.results import Failure


@dataclass(frozen=True)
class Verdict:
    """How outputs came out. `flag` is empty where nothing is held against them.

    They can have `failures`, against the problem's tolerance, and no flag: where the file declares a tolerance of its
    own and keeps it.
    """

    failures: tuple[Failure, ...]
    worst: float
    flag: str

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        return self.failures[0].message if self.failures else ""


def verdict(
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, Expected],
    tolerance: float | None = None,
) -> Verdict:
    """Judges outputs, of the form and the values that are expected; one that is rightly left out is not there."""
    failures, worst, flags = [], 0.0, []
    for name, output in outputs.items():
        right = expected[name]
        failure = wrong_form(name, output, right, right.values.device.type)
        if failure is None:
            compared = compare(name, output, right, lambda *_: None)
            failure, worst = compared.failure, max(worst, compared.worst)
        if failure is not None:
            failures.append(failure)
            flags.append(_flag(failure, output, right, tolerance))
    told = [flag for flag in flags if flag]
    return Verdict(tuple(failures), worst, told[0] if told else "")


def _flag(failure: Failure, output: torch.Tensor, right: Expected, own: float | None) -> str:
    if failure.code == "KG702":
        return "not_fully_written"
    if failure.code != "KG701":
        return "wrong_output"
    got, values = output.detach().double(), right.values.double()
    if bool((torch.isfinite(values) & ~torch.isfinite(got)).any()):
        return "not_finite"
    if own is not None and _distance(got, values) <= own:
        return ""
    return "wrong_output"


def _distance(got: torch.Tensor, values: torch.Tensor) -> float:
    """The largest error as a share of the largest value."""
    finite = torch.isfinite(values)
    if not bool(finite.any()):
        return math.inf
    error = (got - values)[finite].abs().max()
    return float(error / values[finite].abs().max().clamp_min(1e-30))
