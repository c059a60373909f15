"""The fixtures of `tests/toy`, which is no package: its folder goes on the path."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "toy"))

from toy_bundles import bundle, interpret  # noqa: E402, F401
