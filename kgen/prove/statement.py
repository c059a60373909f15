"""The statement that stands at a line of an emitted file: what tells lines apart when they move."""

from __future__ import annotations

import ast


def statement_at(tree: ast.Module, line: int) -> str:
    """The innermost statement around a line as `ast` prints it, of a block only its head; empty where there is none."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno
    ]
    if not line or not around:
        return ""
    innermost = max(around, key=lambda node: (node.lineno, -node.end_lineno))
    return (
        ast.unparse(innermost).split("\n")[0]
        if hasattr(innermost, "body")
        else ast.unparse(innermost)
    )


def same_statement(code: str, statement: str) -> bool:
    """Whether `code`, as a person copied it, is that statement, layout and comments aside."""
    return _printed(code) == statement


def _printed(code: str) -> str:
    text = code.strip()
    try:
        tree = ast.parse(f"{text} pass" if text.endswith(":") else text)
    except SyntaxError:
        return text
    return ast.unparse(tree).split("\n")[0] if text.endswith(":") else ast.unparse(tree)
