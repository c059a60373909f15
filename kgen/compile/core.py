"""The part of a generated file that one kernel consists of, read without running the file.

A compile record binds to this text: comments, docstrings, blank lines and every other definition
may change without making the record stale.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_PURE_MODULES = frozenset({"__future__", "math", "torch", "triton"})
"""Imports whose meaning is fixed by the installed versions alone."""


@dataclass(frozen=True)
class Spot:
    """A line of a core that survives moved comments: node and statement, counted from 0."""

    statement: int
    node: int


class Core:
    """The top-level statements that `function` needs, in the file's order."""

    def __init__(self, text: str, function: str):
        """Raises SyntaxError if `text` is no Python, LookupError if it has no such function."""
        statements = ast.parse(text).body
        bindings: dict[str, list[int]] = {}
        for index, statement in enumerate(statements):
            for name in _bound(statement):
                bindings.setdefault(name, []).append(index)
        if function not in bindings:
            raise LookupError(f"the file defines no {function}")
        self._statements = [
            _without_docstrings(statements[i])
            for i in sorted(_reachable(function, statements, bindings))
        ]

    @property
    def text(self) -> str:
        """The statements as Python prints them, the same for every layout and comment."""
        return "\n".join(ast.unparse(statement) for statement in self._statements)

    @property
    def self_contained(self) -> bool:
        """Whether the text alone says what is compiled: nothing it imports can change."""
        modules = {name for s in self._statements for name in _imported(s)}
        return modules <= _PURE_MODULES

    def spot(self, line: int) -> Spot | None:
        """The place of a line of the file, None if it isn't in the core."""
        for index, statement in enumerate(self._statements):
            for number, node in enumerate(ast.walk(statement)):
                if getattr(node, "lineno", None) == line:
                    return Spot(index, number)
        return None

    def line(self, spot: Spot) -> int | None:
        """The line where the place is now, None if there is no such place."""
        if not 0 <= spot.statement < len(self._statements):
            return None
        for number, node in enumerate(ast.walk(self._statements[spot.statement])):
            if number == spot.node:
                return getattr(node, "lineno", None)
        return None


def _reachable(
    function: str, statements: list[ast.stmt], bindings: dict[str, list[int]]
) -> set[int]:
    """Indexes of the statements that bind the function or a name that one of those mentions."""
    found: set[int] = set()
    todo = list(bindings[function])
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            mentioned = {n.id for n in ast.walk(statements[index]) if isinstance(n, ast.Name)}
            todo += [i for name in mentioned for i in bindings.get(name, ())]
    return found


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a top-level statement binds, also inside its `if`, `try` and `with` blocks."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.stmt):
                yield from _bound(child)
            else:
                yield from _stored(child)


def _stored(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.stmt):
            yield from _bound(child)


def _imported(statement: ast.stmt) -> Iterator[str]:
    """Top-level packages that a statement imports, `.` for a relative import."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else node.module.partition(".")[0]


def _without_docstrings(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    node.body = node.body[1:] or [ast.Pass(lineno=first.lineno, col_offset=0)]
    return statement
