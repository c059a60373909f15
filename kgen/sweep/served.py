"""What of a rendered file serves one regime: the part of it that decides a result."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from kgen.compile.core import Core
from kgen.evidence.plain import canonical

_OF_ALL_REGIMES = ("warmup",)
"""Functions that name every kernel of a file, beside its entry."""


def served_core(text: str, manifest: Mapping[str, Any], regime: str) -> str:
    """The hash of a regime's launchers and kernels with all that they need, without comments and docstrings.

    What serves other regimes may change without making a result of this one another's, and so may the names of functions,
    which depend on what else is in the file.
    """
    cores = (Core(text, name).text for name in _launchers(text, manifest, regime))
    tree = ast.parse("\n".join(cores))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    numbers = {name: f"function_{number}" for number, name in enumerate(dict.fromkeys(functions))}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.name = numbers.get(node.name, node.name)
        elif isinstance(node, ast.Name):
            node.id = numbers.get(node.id, node.id)
    return _sha256(ast.unparse(tree))


def served_signature(manifest: Mapping[str, Any], regime: str) -> str:
    """The hash of all types, constants and options that the regime's kernels are compiled for."""
    own = [
        {**one, "function": manifest["kernels"][one["function"]]["role"], "regimes": []}
        for one in manifest["signatures"]
        if regime in one["regimes"]
    ]
    return _sha256(canonical(own))


def _launchers(text: str, manifest: Mapping[str, Any], regime: str) -> Iterator[str]:
    """The functions that launch a kernel of the regime, in the file's order."""
    (launches,) = [one["launches"] for one in manifest["regimes"] if one["name"] == regime]
    kernels = {kernel for group in launches for kernel in group}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name not in kernels:
            named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            if named & kernels and node.name not in (*_OF_ALL_REGIMES, manifest["entry"]):
                yield node.name


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
