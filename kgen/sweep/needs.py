"""Packages that only sweeps and tuning need, imported where they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from kgen.diagnostics import Diagnostic, KgenError, Place


def needed(name: str) -> ModuleType:
    """The module of that name. Raises `KgenError` (KG987) where its package is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{error.name or name} is not installed in this Python environment"
        hint = "install kgen with its extra `sweep`: `pip install 'kgen[sweep]'`"
        raise KgenError([Diagnostic("KG987", message, Place("(environment)"), hint)]) from None
