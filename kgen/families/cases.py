"""Which regime a case belongs to: the dispatcher's own rule, read from the manifest instead of from its code."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kgen.expr import Expr, Number, children, evaluate, parse
from kgen.runner.case import Case


def inside(problem: Mapping[str, Any], axes: Mapping[str, int | None]) -> bool:
    """Whether every axis has a value that the spec declares."""
    return all(_holds(problem["axes"][name], axes, value) for name, value in axes.items())


def _holds(axis: Mapping[str, Any], axes: Mapping[str, int | None], value: int | None) -> bool:
    if "const" in axis:
        return value == axis["const"]
    if "values" in axis:
        return value in axis["values"]
    low, high = (_number(bound, axes) for bound in axis["range"])
    return value is not None and low <= value <= high


def _number(bound: int | str, axes: Mapping[str, int | None]) -> int:
    return bound if isinstance(bound, int) else int(evaluate(parse(bound), axes))


def regime_of(
    problem: Mapping[str, Any], axes: Mapping[str, int | None], aligned: bool
) -> str | None:
    """The name of the regime that serves `axes`, or None where the file refuses them.

    `aligned` says whether the tensors meet every variant's alignment.
    """
    declared = inside(problem, axes)
    constants = {name: axis["const"] for name, axis in problem["axes"].items() if "const" in axis}
    for regime in problem["regimes"]:
        if regime["when"] == "otherwise":
            served = (declared or regime["fallback"]) and (aligned or not regime["aligned"])
            return regime["name"] if served else None
        ready = declared and (aligned or not regime["aligned"])
        if ready and evaluate(parse(regime["when"]), {**constants, **axes}):
            return regime["name"]
    raise LookupError("no regime ends the list with `when: otherwise`")


def values_of(axis: Mapping[str, Any], few: Iterable[int]) -> list[int | None]:
    """All values of a const or values axis; of a range those of `few` that lie in it, and its least value."""
    if "const" in axis:
        return [axis["const"]]
    if "values" in axis:
        return list(axis["values"])
    low, high = axis["range"]
    inner = {value for value in few if low <= value <= high} if isinstance(high, int) else set(few)
    return sorted(inner | {low})


def edges(problem: Mapping[str, Any], name: str) -> list[int | None]:
    """The values of an axis at which a regime may begin or end: beside each number that a `when` compares with.

    That may be a product of axes, so each number counts divided by each size that the other axes have as well.
    """
    axes, numbers = problem["axes"], set()
    for regime in problem["regimes"]:
        if regime["when"] != "otherwise":
            numbers |= _numbers(parse(regime["when"]))
    sizes = [axis.get("values", [axis.get("const")]) for key, axis in axes.items() if key != name]
    factors = {size for size in itertools.chain(*sizes) if size and size > 1} | {1}
    at = {number // factor for number in numbers for factor in factors}
    return values_of(axes[name], {value + step for value in at for step in (-1, 0, 1)})


def _numbers(node: Expr) -> set[int]:
    if isinstance(node, Number):
        return {int(node.value)}
    return set().union(*map(_numbers, children(node)))


def unreached(
    problem: Mapping[str, Any], found: Iterable[Case], more: Iterable[Case]
) -> Iterator[Case]:
    """For each regime that serves no case of `found`, the first of `more` that it serves."""
    missing = {regime["name"] for regime in problem["regimes"]} - {case.regime for case in found}
    for case in more if missing else ():
        if case.regime in missing:
            missing.remove(case.regime)
            yield case


def expand(
    workloads: Iterable[Mapping[str, Any]],
) -> list[tuple[dict[str, int | None], dict[str, list[int]]]]:
    """Workloads as (axes, lists of run-time values): one for each combination of their `sweep` values."""
    found = []
    for workload in workloads:
        choices = [
            [(name, one) for one in (value["sweep"] if _is(value, "sweep") else [value])]
            for name, value in workload.items()
        ]
        for point in map(dict, itertools.product(*choices)):
            requests = point.get("B", 1)
            axes: dict[str, int | None] = {}
            runtime: dict[str, list[int]] = {}
            for name, value in point.items():
                if _is(value, "per_request"):
                    runtime[name] = list(value["per_request"])
                elif name in ("S", "N"):
                    runtime[name] = [value] * requests
                else:
                    axes[name] = None if value == "none" else value
            found.append((axes, runtime))
    return found


def _is(value: Any, key: str) -> bool:
    return isinstance(value, Mapping) and key in value
