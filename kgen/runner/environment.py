"""Environment variables that an emitted file may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

PREFIX = "KGEN_"
"""How the names of those that set knobs begin."""


@contextmanager
def defaults() -> Iterator[None]:
    """Hides them, so that what is tested, measured or replayed is a file with its defaults, wherever that is done."""
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(PREFIX)}
    try:
        yield
    finally:
        os.environ.update(hidden)
