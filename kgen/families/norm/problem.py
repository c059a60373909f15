"""Row operations in fp64 torch, and the inputs that kernels are tested on.

Tensors: x [T, H] with any row stride, weight [H] or none, out [T, H].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from kgen.expr import Binary, Call, Expr, Name, Number, Unary, parse
from kgen.expr.functions import ROW_FUNCTIONS
from kgen.families.cases import edges, expand, regime_of, unreached, values_of
from kgen.families.formats import ROUNDOFF, TORCH
from kgen.families.memory import far_apart, within
from kgen.runner.case import Case, Expected, Work

MOST_ELEMENTS = {"interpret": 2**20, "gpu": 2**26}
"""Of a case that is there to reach a regime."""
LAYOUTS = ("plain", "padded", "shifted", "far", "large", "tiny", "zero", "equal")


def cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """Every row length with few and many rows, in each layout, and no rows at all."""
    axes = problem["axes"]
    rows = values_of(axes["T"], (1, 2, 5) if mode == "interpret" else (1, 2, 5, 257))
    found = []
    for columns in values_of(axes["H"], (1, 3, 513, 2880)):
        found += [_case(problem, count, columns, "plain") for count in rows]
        found += [_case(problem, min(3, rows[-1]), columns, layout) for layout in LAYOUTS]
        found.append(_case(problem, 0, columns, "plain"))
    for point, _ in expand(problem["workloads"]["check"]):
        found.append(
            _case(problem, point["T"], point.get("H", values_of(axes["H"], ())[0]), "check")
        )
    found += unreached(problem, found, _cases_at_edges(problem, mode))
    return list({case.name: case for case in found if case.regime is not None}.values())


def _cases_at_edges(problem: Mapping[str, Any], mode: str) -> Iterator[Case]:
    """Every combination of sizes at which a regime may begin or end, small ones first."""
    for columns, rows in itertools.product(edges(problem, "H"), edges(problem, "T")):
        if rows * columns <= MOST_ELEMENTS[mode]:
            yield _case(problem, rows, columns, "plain")


def _case(problem: Mapping[str, Any], rows: int, columns: int, layout: str) -> Case:
    axes: dict[str, int | None] = {"T": rows, "H": columns}
    regime = (
        regime_of(problem, axes, aligned=layout != "shifted" and columns % 16 == 0) if rows else ""
    )
    return Case(
        name=f"T {rows} H {columns} {layout}", axes=axes, runtime={}, layout=layout, regime=regime
    )


def workloads(problem: Mapping[str, Any]) -> list[Case]:
    """The spec's own `workloads.bench`."""
    first = values_of(problem["axes"]["H"], ())[0]
    points = [axes for axes, _ in expand(problem["workloads"]["bench"])]
    found = [_case(problem, point["T"], point.get("H", first), "plain") for point in points]
    named = [replace(one, name=f"T {one.axes['T']} H {one.axes['H']}") for one in found]
    return list({case.name: case for case in named if case.regime is not None}.values())


def work(problem: Mapping[str, Any], case: Case) -> Work:
    """x and the weights read once, out written once; an operation for each node of the formula, for each element."""
    rows, columns = case.axes["T"], case.axes["H"]
    sizes = {
        name: TORCH[kind].itemsize for name, kind in problem["dtypes"].items() if kind != "none"
    }
    moved = rows * columns * (sizes["x"] + sizes["out"]) + columns * sizes.get("weight", 0)
    return Work(
        moved, rows * columns * _operations(parse(problem["formula"], functions=ROW_FUNCTIONS))
    )


def _operations(node: Expr) -> int:
    """Operators and functions of a formula."""
    match node:
        case Unary():
            return 1 + _operations(node.operand)
        case Binary():
            return 1 + _operations(node.left) + _operations(node.right)
        case Call():
            return 1 + sum(map(_operations, node.arguments))
    return 0


def inputs(
    problem: Mapping[str, Any], case: Case, generator: torch.Generator, device: torch.device
) -> dict[str, torch.Tensor]:
    """Fresh arguments of the entry, by name."""
    rows, columns = case.axes["T"], case.axes["H"]
    x = torch.randn((rows, columns), generator=generator, device=generator.device)
    if case.layout == "large":
        x = x.sign() * 300.0
    elif case.layout == "tiny":
        x = x * 1e-4
    elif case.layout == "zero":
        x = torch.zeros_like(x)
    elif case.layout == "equal":
        x = torch.full_like(x, 0.25)
    found = {"x": _lay_out(x.to(TORCH[problem["dtypes"]["x"]]), case.layout, device)}
    if problem["dtypes"]["weight"] != "none":
        weight = torch.randn((columns,), generator=generator, device=generator.device) + 1.0
        found["weight"] = weight.to(TORCH[problem["dtypes"]["weight"]]).to(device)
    return {name: found[name] for name in problem["arguments"]}


def _lay_out(x: torch.Tensor, layout: str, device: torch.device) -> torch.Tensor:
    if layout == "far" and x.shape[0] > 1:
        return far_apart(x.to(device))
    extra, start = {"padded": (16, 0), "shifted": (1, 1)}.get(layout, (0, 0))
    if not extra:
        return x.to(device)
    return within(x.to(device), [x.shape[0], x.shape[1] + extra], start)


def expected(
    problem: Mapping[str, Any], case: Case, arguments: Mapping[str, Any]
) -> dict[str, Expected]:
    """The formula in fp64; a kernel may differ by one rounding of the output and by fp32 sums over the row."""
    names: dict[str, Any] = {"EPS": problem["eps"], "H": float(case.axes["H"]), "weight": 1.0}
    names |= {name: value.double() for name, value in arguments.items()}
    out = _value(parse(problem["formula"], functions=ROW_FUNCTIONS), names)
    dtype = TORCH[problem["dtypes"]["out"]]
    if problem["tolerance"] != "auto":
        return {"out": Expected(out, float(problem["tolerance"]), 0.0, "as the spec says", dtype)}
    sums = 2.0**-24 * (8 + math.log2(max(case.axes["H"], 2)))
    relative = 1.01 * ROUNDOFF[problem["dtypes"]["out"]] + sums
    # below the least normal number of the output type, spacing no longer shrinks
    absolute = {"fp16": 2.0**-25}.get(problem["dtypes"]["out"], 1e-30)
    why = f"one rounding and fp32 sums over {case.axes['H']} columns"
    return {"out": Expected(out, absolute, relative, why, dtype)}


_REDUCTIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean(-1, keepdim=True),
    "max": lambda x: x.amax(-1, keepdim=True),
    "min": lambda x: x.amin(-1, keepdim=True),
}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
}


def _value(node: Expr, names: Mapping[str, Any]) -> Any:
    """The value of a formula, fp64 tensors [T, H] or [T, 1]. Raises ValueError for what a formula cannot hold."""
    match node:
        case Number():
            return float(node.value)
        case Name():
            return names[node.id]
        case Unary(op="-"):
            return -_value(node.operand, names)
        case Binary() if node.op in _OPERATORS:
            return _OPERATORS[node.op](_value(node.left, names), _value(node.right, names))
        case Call(arguments=(argument,)):
            value = torch.as_tensor(
                _value(argument, names), dtype=torch.float64, device=names["x"].device
            )
            if node.function in _REDUCTIONS:
                return _REDUCTIONS[node.function](value)
            return getattr(torch, node.function)(value)
    raise ValueError(f"a formula over rows cannot hold {type(node).__name__}")
