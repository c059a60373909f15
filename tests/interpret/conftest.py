"""The fixtures of this folder and of `tests/toy`, which are no packages: they go on the path."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "toy")]

from preloaded import preloaded  # noqa: E402, F401
from toy_bundles import bundle, interpret  # noqa: E402, F401
