"""How many programs a file launches for given axes, read from its host code without running it.

The host code that kgen writes assigns numbers, chooses a launcher and launches: that much is followed. What it asks of
tensors is unknown; checks that raise and early returns on what is unknown are taken to pass, and tensors to be aligned.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kgen.expr.functions import SIZE_FUNCTIONS

_BINARY: Mapping[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: Mapping[type, Callable] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda value, many: value in many,
    ast.NotIn: lambda value, many: value not in many,
}


class Unknown(Exception):
    """A value that the host code alone does not tell."""


class _Returned(Exception):
    """A function came to its end."""


def programs(text: str, entry: str, axes: Mapping[str, int | None]) -> dict[str, int]:
    """Programs of each kernel that `entry` launches where its axes have these values.

    Raises `Unknown` where a grid or a choice between launchers depends on something else.
    """
    try:
        host = _Host(ast.parse(text), axes)
        host.call(entry, {})
    except RecursionError:
        raise Unknown(entry) from None
    return host.launched


class _Host:
    """Follows one call."""

    def __init__(self, tree: ast.Module, axes: Mapping[str, int | None]):
        self.launched: dict[str, int] = {}
        self._axes = axes
        self._functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        self._globals: dict[str, Any] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Assign):
                self._assign(statement, self._globals)

    def call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Follows a function of the file."""
        if name not in self._functions:
            raise Unknown(name)
        try:
            self._block(self._functions[name].body, {**self._axes, **arguments})
        except _Returned:
            pass

    def _block(self, statements: list[ast.stmt], known: dict[str, Any]) -> None:
        for statement in statements:
            if isinstance(statement, ast.Assign):
                self._assign(statement, known)
            elif isinstance(statement, ast.If):
                self._choose(statement, known)
            elif isinstance(statement, ast.Return):
                raise _Returned
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._called(statement.value, known)

    def _assign(self, statement: ast.Assign, known: dict[str, Any]) -> None:
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            return
        try:
            known[target.id] = self._value(statement.value, known)
        except Unknown:
            # an axis is read from a tensor: it is given instead
            if target.id not in self._axes:
                known.pop(target.id, None)

    def _choose(self, statement: ast.If, known: dict[str, Any]) -> None:
        try:
            chosen = self._value(statement.test, known)
        except Unknown:
            if not all(isinstance(one, (ast.Return, ast.Raise)) for one in statement.body):
                raise
            chosen = False
        self._block(statement.body if chosen else statement.orelse, known)

    def _called(self, call: ast.Call, known: dict[str, Any]) -> None:
        """A launch, or a call of a function that may launch."""
        if isinstance(call.func, ast.Subscript) and isinstance(call.func.value, ast.Name):
            number = math.prod(self._value(call.func.slice, known))
            kernel = call.func.value.id
            self.launched[kernel] = self.launched.get(kernel, 0) + number
        elif isinstance(call.func, ast.Name) and call.func.id in self._functions:
            names = [one.arg for one in self._functions[call.func.id].args.args]
            self.call(call.func.id, dict(self._passed(names, call, known)))

    def _passed(
        self, names: list[str], call: ast.Call, known: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any]]:
        for name, argument in zip(names, call.args):
            try:
                yield name, self._value(argument, known)
            except Unknown:
                continue

    def _value(self, node: ast.expr, known: Mapping[str, Any]) -> Any:
        try:
            return self._evaluated(node, known)
        except (ArithmeticError, TypeError, ValueError):
            raise Unknown(ast.unparse(node)) from None

    def _evaluated(self, node: ast.expr, known: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name() if node.id in known or node.id in self._globals:
                return known[node.id] if node.id in known else self._globals[node.id]
            case ast.Tuple():
                return tuple(self._value(one, known) for one in node.elts)
            case ast.BinOp() if type(node.op) in _BINARY:
                sides = [self._value(one, known) for one in (node.left, node.right)]
                if all(isinstance(one, (int, float)) for one in sides):
                    return _BINARY[type(node.op)](*sides)
            case ast.UnaryOp(op=ast.USub()):
                return -self._value(node.operand, known)
            case ast.UnaryOp(op=ast.Not()):
                return not self._value(node.operand, known)
            case ast.IfExp():
                return self._value(
                    node.body if self._value(node.test, known) else node.orelse, known
                )
            case ast.BoolOp():
                return self._logic(node, known)
            case ast.Compare():
                return self._compared(node, known)
            case ast.Call(func=ast.Name(id="is_aligned")):
                return True
            case ast.Call(func=ast.Name()) if node.func.id in SIZE_FUNCTIONS:
                function = SIZE_FUNCTIONS[node.func.id].implementation
                return function(*(self._value(one, known) for one in node.args))
        raise Unknown(ast.unparse(node))

    def _logic(self, node: ast.BoolOp, known: Mapping[str, Any]) -> bool:
        decides = isinstance(node.op, ast.Or)
        return (any if decides else all)(self._value(one, known) for one in node.values)

    def _compared(self, node: ast.Compare, known: Mapping[str, Any]) -> bool:
        values = [self._value(one, known) for one in (node.left, *node.comparators)]
        return all(
            _COMPARE[type(op)](one, two) for op, one, two in zip(node.ops, values, values[1:])
        )
