"""Loads the emitted file, unmodified."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from kgen.runner.bundle import Bundle
from kgen.runner.environment import defaults

LOADED = "kgen_submission_"
"""How the names of modules begin that were loaded from a file."""

_count = itertools.count()


def load_entry(bundle: Bundle) -> Callable:
    """A fresh copy of the file's entry function: nothing that an earlier copy kept is left in it."""
    return getattr(load_file(bundle.source), bundle.entry)


def load_file(path: Path) -> ModuleType:
    """A fresh copy of the module in a file.

    Its name holds the content's hash. No bytecode is written: a file of the same size written again
    within a second would be answered by the old bytecode. Its knobs have their defaults.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    name = f"{LOADED}{digest[:16]}_{next(_count)}"
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with defaults():
        spec.loader.exec_module(module)
    return module
