"""Imports a generated file, for its kernels alone: torch, which only its launchers use, is not waited for."""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a module that takes seconds to import, until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def defer_torch() -> None:
    """From here on `import torch` costs nothing in this process; the first use of anything of torch imports it."""
    sys.modules.setdefault("torch", _Deferred("torch"))


def load(path: Path, variant: str = "") -> ModuleType:
    """The module in `path`, under a name made of its content and `variant`, loaded once a process.

    A file rewritten under the same path is another module, and no bytecode is read or written:
    Python would take a cached file of the same size and second for the new one. Raises whatever the
    file raises when imported.
    """
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:16]
    name = f"kgen_generated_{digest}_{variant}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _FreshLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _FreshLoader(importlib.machinery.SourceFileLoader):
    """Compiles from the source each time."""

    def get_code(self, fullname: str):
        """The code of the file as it is now."""
        return self.source_to_code(self.get_data(self.path), self.path)
