"""torch.compile for a few shapes at a time.

Past its eighth recompilation torch.compile falls back to eager code without a word, so what was compiled for earlier
shapes is thrown away before that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

MOST = 4
_now: dict[Hashable, Callable[..., Any]] = {}


def compiled_for(key: Hashable, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled for the shape that `key` stands for; the same for all inputs of that shape."""
    if key not in _now:
        if len(_now) == MOST:
            _now.clear()
            torch._dynamo.reset()
        _now[key] = torch.compile(function, dynamic=False, fullgraph=True)
    return _now[key]
