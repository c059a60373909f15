"""The right outputs in fp64, and how far rounding may take a kernel from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kgen.families.attention.problem.caches import BY_TOKEN, caches_by_token, dims
from kgen.families.attention.problem.epilogue import applied
from kgen.families.attention.problem.latents import latent, queries_of
from kgen.families.attention.problem.pages import given_places
from kgen.families.attention.problem.shape import Shape, shape_of
from kgen.families.attention.problem.topk import seen_of_set
from kgen.families.attention.problem.tree import seen_of_tree
from kgen.families.formats import ROUNDOFF, TORCH, as_bytes
from kgen.runner.case import Case, Expected


def expected(
    problem: Mapping[str, Any], case: Case, arguments: Mapping[str, Any]
) -> dict[str, Expected]:
    """The epilogue of softmax(cap(q k^T * scale * k_scale), masked, beside a sink) v * v_scale in fp64, and how far rounding
    may take a kernel from it.

    The error of an output is that of P rounded to the operand type, independent from key to key, so that it grows
    with sqrt(sum p^2 v^2), but for what fp16 holds to 2^-25 only, however small p is; of the scores, accumulated in fp32 over D products, so that p is off by their absolute
    error, of which a softcap leaves the less, the nearer they are to it; of parts that are kept in a narrow type; and of
    one rounding to the output type. Norm and gate pass on all but the last.
    """
    shape = shape_of(problem, case)
    rows = _attend(problem, shape, arguments)
    rounding = ROUNDOFF[problem["dtypes"]["operand"]]
    relative = 1.01 * ROUNDOFF[problem["dtypes"]["out"]]
    if problem["tolerance"] != "auto":
        rounding = float(problem["tolerance"])
    parts = _rounding_of_parts(problem, case, shape).to(rows.spread.device)
    error = (4 * (rounding + rows.score_error) + parts) * rows.spread
    if problem["dtypes"]["operand"] == "fp16":
        error = error + 4 * 2.0**-25 * rows.length
    out, error = applied(problem.get("epilogue", {}), arguments, rows.out, error)
    absolute = error + 1e-6
    scores = "scores, parts" if parts.any() else "scores"
    why = f"4 x ({rounding:.1e} + {scores}) x sqrt(sum p^2 v^2) + {relative:.1e} x |out|"
    why += " through the epilogue" if "epilogue" in problem else ""
    found = {"out": Expected(out, absolute, relative, why, TORCH[problem["dtypes"]["out"]])}
    if problem["lse"] != "none":
        lse = rows.lse / math.log(2.0) if problem["lse"] == "base_2" else rows.lse
        absolute = 4 * rows.score_error.squeeze(-1) + 1e-5
        why = "4 x the error of a score + 1e-5"
        found["lse"] = Expected(lse, absolute, 1e-5, why, torch.float32)
    return {name: found[name] for name in problem["returns"]}


def _rounding_of_parts(problem: Mapping[str, Any], case: Case, shape: Shape) -> torch.Tensor:
    """What rounded parts may add to an output's error, over sqrt(sum p^2 v^2), [tokens of q, 1, 1] in fp64.

    Each is off by at most half a unit of its own size, all of them by half a unit of sum p |v|, and that is at most
    sqrt(sum p^2 v^2) times the root of the number of keys.
    """
    own = [one["parameters"] for one in problem["regimes"] if one["name"] == case.regime]
    kept = own[0].get("PARTIALS", "fp32") if own else "fp32"
    found = torch.zeros((*shape.rows(), 1, 1), dtype=torch.float64)
    for request, token in shape.each_token() if kept != "fp32" else ():
        keys = max(shape.live(request) - shape.first(request), 0)
        found[shape.row(request, token)] = ROUNDOFF[kept] / 2 * math.sqrt(keys)
    return found


@dataclass(frozen=True)
class _Rows:
    """out, lse to base e, sqrt(sum p^2 v^2), sqrt(sum v^2) and the absolute error of a score: of one row of q, or of all."""

    out: torch.Tensor
    lse: torch.Tensor
    spread: torch.Tensor
    length: torch.Tensor
    score_error: torch.Tensor


def _attend(problem: Mapping[str, Any], shape: Shape, arguments: Mapping[str, Any]) -> _Rows:
    """Every row; those without keys hold 0 and what their sink leaves."""
    q = queries_of(arguments).double()
    caches = caches_by_token(problem, arguments)
    places = given_places(shape, arguments)
    sink, _ = sinks = _sink_of_rows(arguments)
    out = q.new_zeros((*q.shape[:-1], shape.value_columns))
    lse = torch.full(q.shape[:-1], -math.inf, dtype=torch.float64, device=q.device)
    score_error = torch.zeros((*q.shape[:-1], 1), dtype=torch.float64, device=q.device)
    found = _Rows(out, lse, torch.zeros_like(out), torch.zeros_like(out), score_error)
    for request, token in shape.each_token():
        row, keys = shape.row(request, token), _seen(shape, arguments, request, token)
        lse[row] = sink.squeeze(-1)
        if not len(keys):
            continue
        keys = torch.tensor(keys, device=q.device)
        at = places(request, token, keys)
        k, v = (_of_heads(problem, shape, cache, at) for cache in caches)
        k_scale, v_scale = (
            _scale_of_rows(problem, side, shape, arguments, *at) for side in ("k", "v")
        )
        scores, error = _scores(problem, q[row], k, k_scale)
        one = _soften(scores, error, v, v_scale, *sinks)
        found.out[row], found.lse[row] = one.out, one.lse
        found.spread[row], found.length[row] = one.spread, one.length
        found.score_error[row] = one.score_error
    return found


def _seen(shape: Shape, arguments: Mapping[str, Any], request: int, token: int) -> Sequence[int]:
    """The keys that a row sees."""
    if shape.sparse:
        indices = arguments["indices"][request, token]
        return seen_of_set(shape, indices, shape.entries(request, token))
    if "tree_mask" not in arguments:
        return shape.keys(request, token)
    mask = int(arguments["tree_mask"][shape.row(request, token)])
    return seen_of_tree(mask, shape.live(request), shape.tokens(request), shape.window)


def _of_heads(
    problem: Mapping[str, Any],
    shape: Shape,
    cache: torch.Tensor,
    at: tuple[torch.Tensor, torch.Tensor],
) -> torch.Tensor:
    """The keys or values at these pages and slots, for each query head, in fp64."""
    found = as_bytes(cache)[at].view(TORCH[problem["dtypes"]["kv"]])
    return found.float().double().repeat_interleave(shape.group, dim=1)


def _scale_of_rows(
    problem: Mapping[str, Any],
    side: str,
    shape: Shape,
    arguments: Mapping[str, Any],
    page: torch.Tensor,
    slot: torch.Tensor,
) -> torch.Tensor:
    """The factor of each query head's keys or values in fp64, [HK * G, 1] or one for each key; 1 where there is none.

    That of values which are columns of keys is the keys'.
    """
    side = "k" if latent(problem) else side
    given = arguments.get(f"{side}_scale", torch.ones(1)).double().to(page.device)
    if problem["scales"][side] != "per_token":
        return given.expand(shape.heads).repeat_interleave(shape.group)[:, None]
    own = [name for name in dims(problem) if name != "d"]
    by_token = given.permute([own.index(name) for name in BY_TOKEN[:-1]])
    return by_token[page, slot].T.repeat_interleave(shape.group, dim=0)


def _scores(
    problem: Mapping[str, Any], query: torch.Tensor, k: torch.Tensor, k_scale: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores of one row and their absolute errors, [HK * G, keys]."""
    # what is left of a product after the casts of q and k: fp16 and bf16 hold their sources, fp32 sums them
    unit = 2.0**-24 if problem["dtypes"]["q"] in ("bf16", problem["dtypes"]["operand"]) else 2.0**-8
    scale = problem["softmax"] * k_scale
    scores = torch.einsum("hd,nhd->hn", query, k) * scale
    error = 4 * unit * torch.einsum("hd,nhd->hn", query.abs(), k.abs()) * scale
    if "softcap" in problem:
        return _capped(scores, error, problem["softcap"])
    return scores, error


def _soften(
    scores: torch.Tensor,
    error: torch.Tensor,
    v: torch.Tensor,
    v_scale: torch.Tensor,
    sink: torch.Tensor,
    sink_error: torch.Tensor,
) -> _Rows:
    """The softmax of one row's scores beside its sink, times values."""
    lse = torch.cat([scores, sink], -1).logsumexp(-1)
    p = (scores - lse[:, None]).exp()
    out = torch.einsum("hn,nhd->hd", p * v_scale, v)
    spread = torch.einsum("hn,nhd->hd", (p * v_scale) ** 2, v**2).sqrt()
    length = torch.einsum("hn,nhd->hd", v_scale.expand_as(p) ** 2, v**2).sqrt()
    return _Rows(out, lse, spread, length, torch.maximum(error.amax(-1, keepdim=True), sink_error))


def _sink_of_rows(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """The logit of each query head's sink, [HK * G, 1] in fp64, and its error in fp32; -inf where there are none."""
    q = queries_of(arguments)
    none = torch.full(q.shape[-2:-1], -math.inf, device=q.device)
    sink = arguments.get("sinks", none).double().to(q.device)[:, None]
    return sink, torch.where(sink.isfinite(), sink.abs() * 2.0**-22, 0.0)


def _capped(
    scores: torch.Tensor, error: torch.Tensor, cap: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Capped scores, and their error: what is left of it where the cap is steepest, and that of the cap in fp32."""
    steepest = 1 - torch.tanh((scores.abs() - error).clamp(min=0) / cap) ** 2
    return cap * torch.tanh(scores / cap), error * steepest + cap * 2.0**-21
