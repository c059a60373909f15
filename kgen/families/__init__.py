"""The kernel families: what each one's tensors are, and how its arguments name its axes.

A family is data and a few functions (`kgen.families.model.Family`). Its torch reference and its input generator
live in `kgen.families.<name>.problem`, which only the worker that runs kernels imports.
"""

from __future__ import annotations

import importlib

from kgen.families.model import Family

NAMES = ("attention", "merge", "norm")


def family(name: str) -> Family:
    """The family called `name`, one of `NAMES`."""
    return importlib.import_module(f"kgen.families.{name}.interface").FAMILY
