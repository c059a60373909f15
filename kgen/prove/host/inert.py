"""Expressions that compute a value and do nothing else, whatever their names stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping

CONSTRUCTORS = frozenset({"triton.language.constexpr"})
"""Calls that only wrap a value."""
_ACTING = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def inert(node: ast.expr, imports: Mapping[str, str]) -> bool:
    """Whether evaluating `node` calls nothing and binds nothing; `imports` are the names of modules."""
    for one in ast.walk(node):
        if isinstance(one, _ACTING):
            return False
        if isinstance(one, ast.Call):
            head, _, rest = ast.unparse(one.func).partition(".")
            if ".".join(filter(None, (imports.get(head, head), rest))) not in CONSTRUCTORS:
                return False
    return True


def suspends(node: ast.FunctionDef) -> bool:
    """Whether a function is a generator: calling it runs none of its statements."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(one)
    return False
