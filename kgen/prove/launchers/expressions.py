"""Integer expressions of host code, as polynomials."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kgen.algebra import LowerError, Poly, Space, lower
from kgen.algebra.lower import Meaning
from kgen.expr import ExprError, parse
from kgen.prove.launchers.errors import LauncherError


def integer(node: ast.expr, space: Space, names: Mapping[str, Meaning]) -> Poly:
    """The integer that an expression means.

    Besides kgen's expression language it may be `A if NAME is None else B`. Raises LauncherError.
    """
    match node:
        case ast.IfExp(
            ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]), then, otherwise
        ):
            absent = name in names and names[name] is None
            return integer(then if absent else otherwise, space, names)
    try:
        return lower(parse(ast.unparse(node)), space, names)
    except (ExprError, LowerError) as error:
        reason = f"`{ast.unparse(node)}` is no integer expression: {error.message}"
        raise LauncherError(reason, node.lineno) from None


def integers(node: ast.expr, space: Space, names: Mapping[str, Meaning]) -> tuple[Poly, ...]:
    """A tuple of integer expressions."""
    if not isinstance(node, ast.Tuple):
        raise LauncherError(f"`{ast.unparse(node)}` is no tuple", node.lineno)
    return tuple(integer(part, space, names) for part in node.elts)
