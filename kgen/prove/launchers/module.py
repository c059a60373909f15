"""The emitted file: its constants and its functions."""

from __future__ import annotations

import ast
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
        """Names that are bound to a literal, once, at the top level."""
        found: dict[str, object] = {}
        for node in self.tree.body:
            match node:
                case ast.Assign([ast.Name(name)], value):
                    try:
                        found[name] = ast.literal_eval(value)
                    except ValueError:
                        continue
        return found

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    def function(self, name: str) -> ast.FunctionDef:
        """Raises LauncherError where the file has none of that name."""
        if name not in self.functions:
            raise LauncherError(f"the file has no function {name}")
        return self.functions[name]


def is_kernel(node: ast.FunctionDef) -> bool:
    """Whether a function is device code."""
    return any("triton.jit" in ast.unparse(decorator) for decorator in node.decorator_list)
