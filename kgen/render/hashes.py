"""The hashes of an emitted file: of its bytes, and of its core."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator

_DUMPED = {
    "annotate_fields": False,
    **({"show_empty": True} if sys.version_info >= (3, 13) else {}),
}


def sha256(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def core_sha256(text: str) -> str:
    """The hash of what a file computes: its syntax tree without comments, docstrings and positions.

    Proofs and receipts bind to it, so that a changed comment makes none of them stale. It is the same under every
    version of Python that kgen runs on: a receipt is written under one and verified under another.
    """
    return sha256(ast.dump(core(text), **_DUMPED))


def core(text: str) -> ast.Module:
    """The syntax tree that `core_sha256` is the hash of."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.FunctionDef, ast.Module))
            and ast.get_docstring(node, clean=False) is not None
        ):
            del node.body[0]
        _as_in_any_version(node)
    return tree


def _as_in_any_version(node: ast.AST) -> None:
    """Takes away what only some versions of Python write: that nothing is generic, and how f-strings are cut."""
    if not getattr(node, "type_params", True):
        del node.type_params
    if isinstance(node, ast.JoinedStr):
        node.values = list(_joined(node.values))


def _joined(parts: list[ast.expr]) -> Iterator[ast.expr]:
    """The parts of an f-string, its texts in one piece each and none of them empty."""
    text = ""
    for part in parts:
        if isinstance(part, ast.Constant):
            text += part.value
            continue
        if text:
            yield ast.Constant(text)
        text = ""
        yield part
    if text:
        yield ast.Constant(text)
