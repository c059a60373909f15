"""The committed specs that can be swept: all but those of fallbacks alone."""

from __future__ import annotations

from pathlib import Path

from kgen.spec import load

ROOT = Path(__file__).parents[2]
SPECS = sorted(
    str(path.relative_to(ROOT))
    for path in ROOT.glob("specs/*/*.yaml")
    if any(regime.variant for regime in load(path).document.regimes)
)
