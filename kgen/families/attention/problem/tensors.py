"""Arguments of a call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from kgen.families.attention.problem.caches import JOINED, drawn_cache, order
from kgen.families.attention.problem.epilogue import epilogue_inputs
from kgen.families.attention.problem.latents import latent, parted
from kgen.families.attention.problem.layouts import lay_out
from kgen.families.attention.problem.pages import as_told, drawn_pages, visible
from kgen.families.attention.problem.shape import Shape, shape_of
from kgen.families.attention.problem.tree import drawn_trees
from kgen.families.formats import TORCH
from kgen.runner.case import Case

K_SCALE, V_SCALE = 0.5, 2.0
EXTREME_SINKS = (3.0, math.inf, -math.inf, 200.0, -200.0)


def inputs(
    problem: Mapping[str, Any], case: Case, generator: torch.Generator, device: torch.device
) -> dict[str, torch.Tensor | int | None]:
    """Fresh arguments of the entry, by name."""
    shape = shape_of(problem, case)
    dtypes = problem["dtypes"]
    table = drawn_pages(shape, generator)
    found: dict[str, torch.Tensor | int | None] = {
        "q": _queries(shape, dtypes["q"], case.layout, generator),
        **_drawn_caches(problem, shape, table, generator),
        **as_told(shape, table),
        "cu_q": _offsets(shape, case.layout),
        "k_scale": K_SCALE * _scale(problem, "k", shape, table, generator),
        "v_scale": _largest_scale(problem, case.layout)
        * _scale(problem, "v", shape, table, generator),
        "sinks": drawn_sinks(shape, case.layout, generator),
        "window": shape.window,
        "max_q": shape.queries,
    }
    if "tree" in problem:
        found["tree_mask"] = drawn_trees(problem["tree"], shape, case.layout, generator)
    outputs = (*shape.rows(), shape.heads * shape.group, shape.value_columns)
    drawn = epilogue_inputs(problem.get("epilogue", {}), outputs, case.layout, generator)
    found |= {name: value.to(TORCH[dtypes["q"]]) for name, value in drawn.items()}
    if problem.get("kv") == "latent_split":
        found |= parted(shape.value_columns, found["q"], found["kv_cache"])
    used = {name: found[name] for name in problem["arguments"]}
    return {name: lay_out(value, name, case.layout, device) for name, value in used.items()}


def _drawn_caches(
    problem: Mapping[str, Any], shape: Shape, table: torch.Tensor, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Keys and values, in a tensor each and in the one that a problem has for both."""
    k = drawn_cache(problem, shape, shape.columns, table, generator)
    if latent(problem):
        return {"kv_cache": k}
    v = drawn_cache(problem, shape, shape.value_columns, table, generator)
    joined = {"kv_cache": JOINED[problem["kv"]][0](k, v)} if "kv" in problem else {}
    return {"k_cache": k, "v_cache": v, **joined}


def _queries(shape: Shape, dtype: str, layout: str, generator: torch.Generator) -> torch.Tensor:
    size = (*shape.rows(), shape.heads * shape.group, shape.columns)
    q = torch.randn(size, generator=generator, device=generator.device).clamp(-4, 4)
    if layout == "extreme" and q.numel():
        # rows of very different size: a cast of q to a narrow type would lose the small ones or overflow
        q *= torch.logspace(-3, 0, size[-2], device=q.device)[:, None]
        q[..., 0] *= 500.0
    if shape.counts is not None:
        q[shape.starts()[-1] :] = math.nan
    return q.to(TORCH[dtype])


def _offsets(shape: Shape, layout: str) -> torch.Tensor:
    """Where requests begin among ragged queries; with an `overlong` table, the first before all and the last behind."""
    offsets = torch.tensor(shape.starts(), dtype=torch.int32)
    if layout == "overlong":
        offsets[0] -= 5
        offsets[-1] += 7
    return offsets


def _scale(
    problem: Mapping[str, Any],
    side: str,
    shape: Shape,
    table: torch.Tensor,
    generator: torch.Generator,
) -> torch.Tensor:
    """One for all heads, another power of two for each of up to four in turn, or a number for each token and head."""
    mode = problem["scales"][side]
    if mode != "per_token":
        return 2.0 ** (torch.arange(shape.heads if mode == "per_head" else 1) % 4)
    scales = torch.full((shape.pages, shape.page, shape.heads), math.nan, device=table.device)
    for page, slot in visible(shape, table):
        size = (len(slot), shape.heads)
        scales[page, slot] = 0.25 + torch.rand(size, generator=generator, device=table.device)
    return scales.permute(*order(problem, columns=False)).contiguous()


def _largest_scale(problem: Mapping[str, Any], layout: str) -> float:
    """The scale of values; as one of tokens also so large that its product with p is no fp16 number."""
    ample = problem["scales"]["v"] == "per_token" and problem["dtypes"]["out"] != "fp16"
    return V_SCALE * 2.0**17 if ample and layout == "extreme" else V_SCALE


def drawn_sinks(shape: Shape, layout: str, generator: torch.Generator) -> torch.Tensor:
    """Logits like those of scores, or, in turn, ones that exceed all of them and that nothing comes of."""
    size = (shape.heads * shape.group,)
    if layout in ("check", "extreme"):
        return torch.tensor(EXTREME_SINKS).repeat(size[0])[: size[0]]
    return 2 * torch.randn(size, generator=generator, device=generator.device)
