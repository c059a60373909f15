"""Keys and values in the order of dimensions that a problem names, apart or in one tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from kgen.families.attention.problem.latents import keys_of, latent
from kgen.families.attention.problem.pages import visible
from kgen.families.attention.problem.shape import Shape
from kgen.families.formats import TORCH, as_bytes

BY_TOKEN = ("page", "slot", "h", "d")
"""The order of a cache's dimensions in which tokens are written and read here, and that of a problem that names none."""

JOINED = {
    "interleaved": (lambda k, v: torch.stack((k, v), 1), lambda kv: kv.unbind(1)),
    "packed": (lambda k, v: torch.cat((k, v), -1), lambda kv: kv.chunk(2, -1)),
}
"""How keys and values become one tensor, and are taken apart again."""


def dims(problem: Mapping[str, Any]) -> list[str]:
    """The order of a cache's dimensions, the requests of a contiguous one being its pages."""
    return ["page" if name == "b" else name for name in problem.get("cache", BY_TOKEN)]


def order(problem: Mapping[str, Any], columns: bool = True) -> list[int]:
    """How dimensions by token are to be permuted into those of a cache, or of one without columns."""
    return [BY_TOKEN.index(name) for name in dims(problem) if columns or name != "d"]


def drawn_cache(
    problem: Mapping[str, Any],
    shape: Shape,
    columns: int,
    table: torch.Tensor,
    generator: torch.Generator,
) -> torch.Tensor:
    """Random tokens where some row sees them, NaN everywhere else."""
    size = (shape.pages, shape.page, shape.heads, columns)
    cache = torch.full(size, math.nan, dtype=torch.float32, device=table.device)
    cache = cache.to(TORCH[problem["dtypes"]["kv"]])
    for page, slot in visible(shape, table):
        fresh = torch.randn((len(slot), *size[2:]), generator=generator, device=table.device)
        as_bytes(cache)[page, slot] = as_bytes(fresh.clamp(-4, 4).to(cache.dtype))
    stored = TORCH[problem.get("stored", problem["dtypes"]["kv"])]
    return cache.permute(order(problem)).contiguous().view(stored)


def caches_by_token(problem: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[torch.Tensor]:
    """Keys and values of a call, dimensions by token."""
    by_token = [dims(problem).index(name) for name in BY_TOKEN]
    if latent(problem):
        k = keys_of(arguments).permute(by_token)
        return [k, k[..., : problem["axes"]["D"]["const"]]]
    if "kv" in problem:
        both = JOINED[problem["kv"]][1](arguments["kv_cache"])
    else:
        both = arguments["k_cache"], arguments["v_cache"]
    return [one.permute(by_token) for one in both]
