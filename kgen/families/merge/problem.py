"""Merging partial states in fp64 torch, and the inputs that kernels are tested on.

Tensors: parts [N, T, H, D] and lse [N, T, H] fp32, or with T before N, as `order` of the problem has it; out [T, H, D],
merged_lse [T, H] fp32. Outputs of states that have no keys, whose lse is -inf, are poisoned with NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from kgen.families.cases import edges, expand, regime_of, unreached, values_of
from kgen.families.formats import ROUNDOFF, TORCH
from kgen.families.memory import far_apart, within
from kgen.runner.case import Case, Expected, Work

MOST_ELEMENTS = {"interpret": 2**20, "gpu": 2**26}
"""Of a case that is there to reach a regime."""
LAYOUTS = ("plain", "padded", "shifted", "far", "apart", "near", "one", "empty", "sinks")
EMPTY_SHARE = 0.25
FAR_LSE = 300.0
"""Exponentials of such numbers are no fp32 numbers."""


def cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """Numbers of states around a turn of the loop, few and many tokens, each layout, and no tokens at all."""
    axes = problem["axes"]
    turn = max(regime["parameters"]["BLOCK_N"] for regime in problem["regimes"])
    states = values_of(axes["N"], (1, 2, 3, turn, turn + 1, 2 * turn + 1))
    tokens = values_of(axes["T"], (1, 5) if mode == "interpret" else (1, 5, 257))
    found = [_case(problem, t, n, "plain") for t in tokens for n in states]
    found += [_case(problem, tokens[-1], states[-1], layout) for layout in LAYOUTS]
    found.append(_case(problem, 0, states[0], "plain"))
    for point, _ in expand(problem["workloads"]["check"]):
        found.append(_case(problem, point.get("T", 1), point.get("N", states[0]), "check"))
    found += unreached(problem, found, _cases_at_edges(problem, mode))
    return list({case.name: case for case in found if case.regime is not None}.values())


def _cases_at_edges(problem: Mapping[str, Any], mode: str) -> Iterator[Case]:
    """Every combination of sizes at which a regime may begin or end, small ones first."""
    row = problem["axes"]["H"]["const"] * problem["axes"]["D"]["const"]
    for states, tokens in itertools.product(edges(problem, "N"), edges(problem, "T")):
        if tokens * states * row <= MOST_ELEMENTS[mode]:
            yield _case(problem, tokens, states, "plain")


def _case(problem: Mapping[str, Any], tokens: int, states: int, layout: str) -> Case:
    axes: dict[str, int | None] = {"T": tokens, "N": states}
    regime = regime_of(problem, axes, aligned=layout != "shifted") if tokens else ""
    name = f"T {tokens} N {states} {layout}"
    return Case(name=name, axes=axes, runtime={}, layout=layout, regime=regime)


def workloads(problem: Mapping[str, Any]) -> list[Case]:
    """The spec's own `workloads.bench`."""
    points = [axes for axes, _ in expand(problem["workloads"]["bench"])]
    first = values_of(problem["axes"]["N"], (2,))[-1]
    found = [_case(problem, point["T"], point.get("N", first), "plain") for point in points]
    named = [replace(one, name=f"T {one.axes['T']} N {one.axes['N']}") for one in found]
    return list({case.name: case for case in named if case.regime is not None}.values())


def work(problem: Mapping[str, Any], case: Case) -> Work:
    """States read once, results written once; a weight and a product for each of their elements."""
    tokens, states, heads, columns = _sizes(problem, case)
    sizes = {name: TORCH[kind].itemsize for name, kind in problem["dtypes"].items()}
    moved = tokens * heads * states * (columns * sizes["parts"] + 4)
    moved += tokens * heads * columns * sizes["out"]
    moved += 4 * tokens * heads if "merged_lse" in problem["returns"] else 0
    return Work(moved, 2 * tokens * heads * states * columns)


def _sizes(problem: Mapping[str, Any], case: Case) -> tuple[int, int, int, int]:
    """Tokens, states, heads, columns."""
    constants = problem["axes"]["H"]["const"], problem["axes"]["D"]["const"]
    return case.axes["T"], case.axes["N"], *constants


# ---------------------------------------------------------------- inputs


def inputs(
    problem: Mapping[str, Any], case: Case, generator: torch.Generator, device: torch.device
) -> dict[str, torch.Tensor]:
    """Fresh arguments of the entry, by name."""
    tokens, states, heads, columns = _sizes(problem, case)
    size = (states, tokens, heads)
    lse = _drawn_lse(size, case.layout, generator)
    parts = torch.randn((*size, columns), generator=generator, device=generator.device)
    parts[lse == -math.inf] = math.nan
    # a sink of inf leaves no weight to any key
    parts[lse == math.inf] = 0.0
    parts = parts.to(TORCH[problem["dtypes"]["parts"]])
    if problem["order"][0] == "t":
        parts, lse = parts.transpose(0, 1).contiguous(), lse.transpose(0, 1).contiguous()
    found = {"parts": parts, "lse": lse}
    return {name: _lay_out(found[name].to(device), case.layout) for name in problem["arguments"]}


def _drawn_lse(size: tuple[int, int, int], layout: str, generator: torch.Generator) -> torch.Tensor:
    """Log-sum-exps of states, some of them empty; by layout far from each other, equal, of one state only, or none."""
    lse = 3 * torch.randn(size, generator=generator, device=generator.device)
    if layout == "apart":
        lse *= FAR_LSE
    elif layout == "near":
        lse = torch.full_like(lse, FAR_LSE)
    empty = torch.rand(size, generator=generator, device=generator.device) < EMPTY_SHARE
    if layout == "one":
        empty[:] = True
        empty[size[0] // 2] = False
    if layout == "empty" and size[1]:
        empty[:, 0] = True
    lse = torch.where(empty, -math.inf, lse)
    if layout == "sinks":
        lse[0] = math.inf
    return lse


def _lay_out(value: torch.Tensor, layout: str) -> torch.Tensor:
    if not value.numel():
        return value
    if layout == "far":
        return far_apart(value)
    extra, start = {"padded": (16, 0), "shifted": (1, 1)}.get(layout, (0, 0))
    if not extra:
        return value
    wide = [extent + 1 for extent in value.shape[:-1]] + [value.shape[-1] + extra]
    return within(value, wide, start)


# ---------------------------------------------------------------- reference


def expected(
    problem: Mapping[str, Any], case: Case, arguments: Mapping[str, Any]
) -> dict[str, Expected]:
    """The merged state in fp64, and how far fp32 weights and one rounding may take a kernel from it.

    A weight is off by the error of its exponent: that of an LSE in base 2, rounded to fp32, and of its difference.
    """
    parts, lse = arguments["parts"].double(), arguments["lse"].double()
    if problem["order"][0] == "t":
        parts, lse = parts.transpose(0, 1), lse.transpose(0, 1)
    if problem["lse"] == "base_2":
        lse = lse * math.log(2.0)
    top = lse.amax(0)
    total = lse.logsumexp(0)
    # equal to the largest, which may be inf; or a share of it
    w = torch.where(lse == top, 1.0, (lse - top).exp())
    w = torch.where(lse == -math.inf, 0.0, w)
    share = (w / w.sum(0).clamp(min=1e-300))[..., None]
    held = torch.where(share > 0, parts, 0.0)
    out = (share * held).sum(0)
    size = torch.where(lse.isfinite(), lse.abs(), 0.0).amax(0)
    exponent = 2.0**-22 * (size + 8)
    absolute = exponent[..., None] * (share * held.abs()).sum(0) + 1e-30
    relative = 1.01 * ROUNDOFF[problem["dtypes"]["out"]] + 2.0**-20
    if problem["tolerance"] != "auto":
        absolute, relative = torch.full_like(out, float(problem["tolerance"])), 0.0
    why = f"fp32 exponents x sum w |part| + {relative:.1e} x |out|"
    found = {"out": Expected(out, absolute, relative, why, TORCH[problem["dtypes"]["out"]])}
    merged = total / math.log(2.0) if problem["lse"] == "base_2" else total
    why = "fp32 exponents"
    found["merged_lse"] = Expected(merged, exponent + 1e-6, 1e-6, why, torch.float32)
    return {name: found[name] for name in problem["returns"]}
