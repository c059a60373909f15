"""Where kgen's own data lies: in the installed wheel, or in the checkout it runs from."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "_data"


def data(name: str) -> Path:
    """The path of `templates` or `kgen.schema.json`; a wheel carries both, a checkout has them at its root."""
    installed = INSTALLED / name
    return installed if installed.exists() else PACKAGE.parent / name


def templates_dir() -> Path:
    """The folder of the templates that kgen ships."""
    return data("templates")


def schema_path() -> Path:
    """The JSON schema of the spec language, for editors."""
    return data("kgen.schema.json")


def cache_dir() -> Path:
    """Where kgen keeps what it can make again: $KGEN_CACHE, or `.kgen-cache` in the working directory."""
    return Path(os.environ.get("KGEN_CACHE") or ".kgen-cache")
