"""A problem of its own for any file: rows of `x`, each scaled by `w` and summed with its index's value in `ids`."""

from __future__ import annotations

import torch

from kgen.runner.case import Case, Expected, Work


def cases(problem, mode):
    return workloads(problem)


def workloads(problem):
    return [
        Case(f"ROWS {rows} N {n}", {"ROWS": rows, "N": n}, {"ID": [1] * rows}, "plain", "")
        for rows, n in ((4, 64), (8, 128))
    ]


def work(problem, case):
    rows, n = case.axes["ROWS"], case.axes["N"]
    return Work(4 * (2 * rows * n + n + rows), 2 * rows * n)


def variations(problem, case):
    ids = [i % 3 for i in range(case.axes["ROWS"])]
    return [Case(f"{case.name}, other ids", case.axes, {"ID": ids}, "plain", "")]


def inputs(problem, case, generator, device):
    rows, n = case.axes["ROWS"], case.axes["N"]
    place = {"generator": generator, "device": generator.device}
    return {
        "x": torch.randn(rows, n, **place).to(device),
        "w": (torch.rand(n, **place) + 0.5).to(device),
        "ids": torch.tensor(case.runtime["ID"], dtype=torch.int32, device=device),
    }


def expected(problem, case, arguments):
    x, w, ids = (arguments[name].double() for name in ("x", "w", "ids"))
    return {"out": Expected(x * w + ids[:, None], 1e-5, 1e-5, "fp32", torch.float32)}
