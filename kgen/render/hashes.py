"""The hashes of an emitted file: of its bytes, and of its core."""

from __future__ import annotations

import ast
import hashlib


def sha256(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def core_sha256(text: str) -> str:
    """The hash of what a file computes: its syntax tree without comments, docstrings and positions.

    Proofs and receipts bind to it, so that a changed comment makes none of them stale.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.FunctionDef, ast.Module))
            and ast.get_docstring(node, clean=False) is not None
        ):
            del node.body[0]
    return sha256(ast.dump(tree, annotate_fields=False))
