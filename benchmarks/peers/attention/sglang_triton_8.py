"""sglang's Triton decode attention with at most eight splits, sglang's default."""

from __future__ import annotations

import functools

from benchmarks.peers.sglang_triton import TERMS, TOLERANCE
from benchmarks.peers.sglang_triton import attend as run
from benchmarks.peers.sglang_triton import missing as available
from benchmarks.peers.sglang_triton import plan

__all__ = ["TERMS", "TOLERANCE", "available", "prepare", "run"]

MOST_SPLITS = 8

prepare = functools.partial(plan, MOST_SPLITS)
