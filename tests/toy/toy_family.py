"""A family small enough to test the runner with; `problem["operation"]` names the operation."""

from __future__ import annotations

import torch

from kgen.runner.case import Case, Expected


def cases(problem, mode):
    return [Case(**case) for case in problem["cases"]]


def inputs(problem, case, generator, device):
    def randn(*shape):
        return torch.randn(*shape, generator=generator).to(device)

    rows, n = case.axes.get("ROWS", 1), case.axes["N"]
    if problem["operation"] == "add":
        return {"x": randn(n), "y": randn(n)}
    if problem["operation"] == "softmax":
        return {"x": _laid_out(randn(rows, n).to(torch.bfloat16), case.layout)}
    if problem["operation"] == "sum":
        return {"x": randn(rows, n).to(torch.bfloat16)}
    ids = torch.tensor(case.runtime["ID"], dtype=torch.int32, device=device)
    return {"table": _laid_out(randn(rows, n).to(torch.bfloat16), case.layout), "ids": ids}


def _laid_out(values, layout):
    """ "padded" rows have NaN between them; "far" rows lie 2**30 elements apart in memory that is
    never touched.
    """
    rows, n = values.shape
    if layout == "padded":
        wide = values.new_full((rows, n + 8), float("nan"))
        wide[:, :n] = values
        return wide[:, :n]
    if layout == "far":
        far = torch.empty(2**30 * (rows - 1) + n, dtype=values.dtype, device=values.device)
        view = far.as_strided((rows, n), (2**30, 1))
        return view.copy_(values)
    return values


def expected(problem, case, arguments):
    return {"out": _EXPECTED[problem["operation"]](arguments)}


def _sums(values):
    return Expected(values, 1e-5, 1e-5, "float32 sums in another order", torch.float32)


_EXPECTED = {
    "add": lambda given: _sums(given["x"].double() + given["y"].double()),
    "sum": lambda given: _sums(given["x"].double().sum(-1)),
    "softmax": lambda given: Expected(
        given["x"].double().softmax(-1), 1e-6, 2**-8, "one rounding to bf16", torch.bfloat16
    ),
    "gather": lambda given: Expected(
        given["table"][given["ids"].long()].double(), 0.0, 0.0, "copied", torch.bfloat16
    ),
}
