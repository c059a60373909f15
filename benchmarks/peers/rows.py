"""What RMSNorm peers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.peers.offered import NotOffered
from kgen.families.norm.interface import FORMULAS

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def only_rms(problem: Mapping[str, Any]) -> None:
    """Raises NotOffered for another operation on rows."""
    if problem["formula"] != FORMULAS["rms"]:
        raise NotOffered(f"computes RMSNorm only, not {problem['formula']}")


def one_dtype(problem: Mapping[str, Any]) -> None:
    """Raises NotOffered where input, weight and output are of different types."""
    dtypes = problem["dtypes"]
    if len({dtypes["x"], dtypes["weight"], dtypes["out"]} - {"none"}) > 1:
        raise NotOffered(f"has one dtype for x, weight and out, not {dtypes}")
