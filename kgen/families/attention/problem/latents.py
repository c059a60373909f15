"""Latents: keys of D + DR columns, the first D of which are the values, in one tensor or apart from the other DR.

Queries have the columns of keys, and lie like them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgen.families.formats import as_bytes


def latent(problem: Mapping[str, Any]) -> bool:
    """Whether values are columns of keys."""
    return problem.get("kv") in ("latent", "latent_split")


def parted(columns: int, q: torch.Tensor, k: torch.Tensor) -> dict[str, torch.Tensor]:
    """Queries [..., columns and more] and keys by token, as the arguments of either layout; the first `columns` are latent."""
    ckv, kpe = (part.squeeze(2).contiguous() for part in (k[..., :columns], k[..., columns:]))
    q_nope, q_pe = (part.contiguous() for part in (q[..., :columns], q[..., columns:]))
    return {"q_nope": q_nope, "q_pe": q_pe, "ckv_cache": ckv, "kpe_cache": kpe}


def queries_of(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The queries of a call, with all their columns."""
    if "q" in arguments:
        return arguments["q"]
    return torch.cat((arguments["q_nope"], arguments["q_pe"]), -1)


def keys_of(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The keys of a call, with all their columns and a dimension for the only KV head where they lie apart."""
    if "kv_cache" in arguments:
        return arguments["kv_cache"]
    parts = arguments["ckv_cache"], arguments["kpe_cache"]
    return torch.cat(list(map(as_bytes, parts)), -1).view(parts[0].dtype).unsqueeze(2)
