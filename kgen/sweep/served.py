"""What of a rendered file serves one regime: the part of it that decides a result."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping, Set
from itertools import chain
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
    """The hash of all types, constants and options that the regime's kernels are compiled for, in the order of its launches:
    in the manifest a signature that it shares stands where another regime has it first.
    """
    launches = next(one["launches"] for one in manifest["regimes"] if one["name"] == regime)
    places = {name: place for place, name in enumerate(chain.from_iterable(launches))}
    own = [one for one in manifest["signatures"] if regime in one["regimes"]]
    own.sort(key=lambda one: places[one["function"]])
    roles = manifest["kernels"]
    told = [{**one, "function": roles[one["function"]]["role"], "regimes": []} for one in own]
    return _sha256(canonical(told))


def _launchers(text: str, manifest: Mapping[str, Any], regime: str) -> list[str]:
    """The regime's launchers. A file has one for each group of each regime, in the manifest's order."""
    regimes = manifest["regimes"]
    kernels = {kernel for one in regimes for group in one["launches"] for kernel in group}
    left = iter(_naming(ast.parse(text), kernels, {*_OF_ALL_REGIMES, manifest["entry"]}))
    found = {one["name"]: [next(left) for _ in one["launches"]] for one in regimes}
    return found[regime]


def _naming(tree: ast.Module, kernels: Set[str], others: Set[str]) -> Iterator[str]:
    """The functions that name a kernel and are none, in the file's order."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in kernels | others:
            if kernels & {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}:
                yield node.name


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
