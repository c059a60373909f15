"""Compares an output with its reference, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from kgen.runner.case import Expected
from kgen.runner.poison import poisoned
from kgen.runner.results import Failure

Index = tuple[int, ...]
Writer = Callable[[torch.Tensor, Index], "tuple[str, Index] | None"]
"""(kernel, program) that wrote an element last; None if no kernel did or nobody watched."""


@dataclass(frozen=True)
class Comparison:
    """How an output came out. `worst` is the largest error as a fraction of what is allowed."""

    failure: Failure | None
    worst: float


def compare(name: str, output: torch.Tensor, expected: Expected, writer: Writer) -> Comparison:
    """Judges `output`, of any dtype and device, which has the shape of what is expected."""
    if not output.numel():
        return Comparison(None, 0.0)
    unwritten = _unwritten(output, writer)
    if unwritten is not None:
        return Comparison(_never_written(name, output, *unwritten), math.inf)
    got, right = _comparable(output.detach().to(expected.values.device), expected.values)
    allowed = expected.absolute + expected.relative * right.abs().to(torch.float64)
    ratio = _ratio(got, right, allowed)
    worst = _unravel(int(ratio.argmax()), output)
    if ratio[worst] <= 1:
        return Comparison(None, float(ratio[worst]))
    text = (
        f"output {name!r} is wrong at element {list(worst)}: got {got[worst].item():.9g}, "
        f"wanted {right[worst].item():.9g}, error {(got[worst] - right[worst]).abs().item():.3g}, "
        f"allowed {allowed[worst].item():.3g} ({expected.why}); "
        f"{int((ratio > 1).sum())} of {output.numel()} elements are wrong"
    )
    kernel, program = writer(output, worst) or ("", ())
    if kernel:
        text += f"; program {program} of kernel {kernel!r} wrote it last"
    failure = Failure("KG701", text, tensor=name, element=worst, kernel=kernel, program=program)
    return Comparison(failure, float(ratio[worst]))


def _never_written(name: str, output: torch.Tensor, count: int, element: Index) -> Failure:
    text = (
        f"output {name!r} was never written at element {list(element)}: it still holds the poison "
        f"that it was allocated with; so do {count} of {output.numel()} elements"
    )
    return Failure("KG702", text, tensor=name, element=element)


def _unwritten(output: torch.Tensor, writer: Writer) -> tuple[int, Index] | None:
    """A NaN with every bit set can also be computed; then a kernel is known to have written it."""
    left = poisoned(output)
    if not left.any():
        return None
    first = _unravel(int(left.flatten().to(torch.uint8).argmax()), output)
    return None if writer(output, first) else (int(left.sum()), first)


def _comparable(got: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both in int64 if both are integers, so that none is rounded, else in float64."""
    exact = not (got.is_floating_point() or right.is_floating_point())
    dtype = torch.int64 if exact else torch.float64
    return got.to(dtype), right.to(dtype)


def _ratio(got: torch.Tensor, right: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Error over allowed error: 0 where equal (also NaN), infinite where only one is finite."""
    ratio = (got - right).abs().to(torch.float64) / allowed
    equal = (got == right) | (torch.isnan(got) & torch.isnan(right))
    finite = torch.isfinite(got) & torch.isfinite(right)
    return torch.where(equal, 0.0, torch.where(finite, ratio, math.inf))


def _unravel(flat: int, tensor: torch.Tensor) -> Index:
    index = torch.unravel_index(torch.tensor(flat), tuple(tensor.shape))
    return tuple(int(i) for i in index)
