"""What an adapter hands back: the outputs that the problem names, in its order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def returned(problem: Mapping[str, Any], **outputs: torch.Tensor | None) -> Any:
    """One output as it is, several as a tuple; None stands where the peer has no such output."""
    found = tuple(outputs.get(name) for name in problem["returns"])
    return found[0] if len(found) == 1 else found


def natural_lse(problem: Mapping[str, Any], lse: torch.Tensor) -> torch.Tensor | None:
    """The logarithm to base e, if that is what the problem asks for: a conversion would be one more launch."""
    return lse if problem["lse"] == "base_e" else None


def binary_lse(problem: Mapping[str, Any], lse: torch.Tensor) -> torch.Tensor | None:
    """The logarithm to base 2, if that is what the problem asks for."""
    return lse if problem["lse"] == "base_2" else None
