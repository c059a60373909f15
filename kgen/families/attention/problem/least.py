"""What a call cannot do without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kgen.families.attention.problem.latents import latent
from kgen.families.attention.problem.shape import Shape, shape_of
from kgen.families.attention.problem.topk import names_a_token
from kgen.families.formats import TORCH
from kgen.runner.case import Case, Work


def work(problem: Mapping[str, Any], case: Case) -> Work:
    """q, a gate, the live keys and values, their table entries and lengths read once, out and lse written once; where each
    query token has keys of its own, these for each of them.

    A row's operations are those of its two products with the keys that it sees.
    """
    shape = shape_of(problem, case)
    pairs = sum(_keys(shape, request, token) for request, token in shape.each_token())
    columns = shape.columns + shape.value_columns
    operations = 2 * pairs * shape.heads * shape.group * columns
    return Work(_of_rows(problem, shape) + _of_keys(problem, shape), operations)


def _keys(shape: Shape, request: int, token: int) -> int:
    """How many keys a query token sees."""
    own = shape.keys(request, token)
    return int(names_a_token(shape, request, token)[: len(own)].sum()) if shape.sparse else len(own)


def _of_rows(problem: Mapping[str, Any], shape: Shape) -> int:
    """Bytes of q, of what goes with its rows, and of results."""
    rows = math.prod(shape.rows()) * shape.heads * shape.group
    sizes = _sizes(problem)
    moved = rows * (shape.columns * sizes["q"] + shape.value_columns * sizes["out"])
    moved += 4 * rows if problem["lse"] != "none" else 0
    if "gate" in problem.get("epilogue", {}):
        moved += rows * shape.value_columns * sizes["q"]
    return moved


def _of_keys(problem: Mapping[str, Any], shape: Shape) -> int:
    """Bytes of live keys and values, of their scales, and of what says where they are."""
    scales = 4 * list(problem["scales"].values()).count("per_token")
    columns = shape.columns + (0 if latent(problem) else shape.value_columns)
    token = columns * _sizes(problem)["kv"] + scales
    if shape.sparse:
        of_tokens = list(shape.each_token())
        named = sum(_keys(shape, *one) for one in of_tokens)
        return named * token + 4 * sum(1 + len(shape.keys(*one)) for one in of_tokens)
    moved = 4 * (2 * shape.requests + 1 if shape.listed else shape.requests)
    for request in range(shape.requests):
        live, first = shape.live(request), shape.first(request)
        moved += (live - first) * shape.heads * token
        if shape.paged and live > first:
            moved += 4 * (-(-live // shape.page) - first // shape.page)
    return moved


def _sizes(problem: Mapping[str, Any]) -> dict[str, int]:
    return {name: TORCH[kind].itemsize for name, kind in problem["dtypes"].items()}
