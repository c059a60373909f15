"""The emitted file: its constants and its functions."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from kgen.prove.launchers.errors import LauncherError


@dataclass(frozen=True)
class Module:
    """An emitted file. Raises LauncherError where it is no Python."""

    text: str

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except SyntaxError as error:
            raise LauncherError(f"the file is no Python: {error.msg}", error.lineno or 0) from None

    @cached_property
    def constants(self) -> dict[str, object]:
        """Names that are bound to a literal at the top level, and to nothing else."""
        found: dict[str, object] = {}
        for node in self.tree.body:
            match node:
                case ast.Assign([ast.Name(name)], value) if self._bindings[name] == 1:
                    try:
                        found[name] = ast.literal_eval(value)
                    except ValueError:
                        continue
        return found

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """Functions of the top level whose names stand for nothing else."""
        return {
            node.name: node
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef) and self._bindings[node.name] == 1
        }

    def function(self, name: str) -> ast.FunctionDef:
        """Raises LauncherError where the file has none of that name, or gives the name to something else too."""
        if name not in self.functions:
            raise LauncherError(f"the file has no function {name}, or more than one")
        return self.functions[name]

    @cached_property
    def _bindings(self) -> Counter[str]:
        """How often each name of the module is bound, anywhere."""
        found: Counter[str] = Counter()
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update({name: 2 for name in node.names})
        waiting: list[ast.AST] = list(self.tree.body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] += 1
                continue
            if isinstance(node, ast.alias):
                found[node.asname or node.name.split(".")[0]] += 1
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found[node.id] += 1
            waiting += ast.iter_child_nodes(node)
        return found


def is_kernel(node: ast.FunctionDef) -> bool:
    """Whether a function is device code."""
    return any("triton.jit" in ast.unparse(decorator) for decorator in node.decorator_list)
