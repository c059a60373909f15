"""Expressions of a kernel: names, operators, calls, attributes.

The rules are those of Triton's front end: `and` and `or` of run-time values evaluate both sides,
comparisons do not chain, a kernel reads no module-level name but functions and `tl.constexpr`s.
What the front end refuses is Unsupported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kgen.prove.replay import integers
from kgen.prove.replay.arithmetic import binary, cast, lift, negate
from kgen.prove.replay.dtypes import BOOL, FloatType, IntType, PointerType
from kgen.prove.replay.language import (
    Answer,
    Builtin,
    Module,
    Special,
    attribute_of_module,
    attribute_of_type,
    call,
    method,
    pointer_to,
)
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.shaping import subscript, trans
from kgen.prove.replay.source import Function, Source
from kgen.prove.replay.values import Value

_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_COMPARE = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_PYTHON = frozenset({"range", "min", "max", "len", "float", "int", "bool"})
Invoke = Callable[[Function, list, dict[str, object]], object]


@dataclass(frozen=True, eq=False)
class Method:
    """`value.name`, to be called."""

    value: Value
    name: str


class Expressions:
    """Evaluates expressions over the names of one running function.

    `invoke` calls another function of the source.
    """

    def __init__(self, source: Source, machine: Machine, names: dict[str, object], invoke: Invoke):
        self.machine = machine
        self.names = names
        self._source = source
        self._invoke = invoke

    def value(self, node: ast.expr) -> Any:
        """The value of an expression: a Value, a Python value, or something to call."""
        evaluate = _EXPRESSIONS.get(type(node))
        if evaluate is None:
            raise Unsupported(f"the expression {ast.unparse(node)}", node.lineno)
        return evaluate(self, node)

    def operate(self, operator: ast.operator, left: object, right: object) -> object:
        """`left operator right`."""
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(operator, ast.Add):
            return left + right
        if type(operator) not in _BINARY:
            raise Unsupported(f"the operator {type(operator).__name__}")
        return binary(self.machine.recorder, _BINARY[type(operator)], left, right)

    def _constant(self, node: ast.Constant) -> object:
        return node.value

    def _look_up(self, node: ast.Name) -> object:
        name = node.id
        for scope in (self.names, self._source.names):
            if name in scope:
                return scope[name]
        if name in self._source.plain:
            raise Unsupported(
                f"{name} is a global of the module: Triton lets a kernel read only those that "
                "are tl.constexpr",
                node.lineno,
            )
        if name in _PYTHON:
            return Special(f"python {name}")
        raise Unsupported(f"{name} has no value here", node.lineno)

    def _tuple(self, node: ast.Tuple | ast.List) -> tuple:
        return tuple(self.value(each) for each in node.elts)

    def _text(self, node: ast.JoinedStr) -> str:
        return ast.unparse(node)

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        self.machine.step(node.lineno)
        return self.operate(node.op, left, right)

    def _compare(self, node: ast.Compare) -> object:
        if len(node.ops) != 1:
            raise Unsupported(
                f"{ast.unparse(node)} compares more than two values: Triton refuses this",
                node.lineno,
            )
        left, right = self.value(node.left), self.value(node.comparators[0])
        self.machine.step(node.lineno)
        if isinstance(node.ops[0], ast.Is):
            return left is right
        if isinstance(node.ops[0], ast.IsNot):
            return left is not right
        if type(node.ops[0]) not in _COMPARE:
            raise Unsupported(f"the comparison {ast.unparse(node)}", node.lineno)
        symbol = _COMPARE[type(node.ops[0])]
        if isinstance(left, Value) or isinstance(right, Value):
            return binary(self.machine.recorder, symbol, left, right)
        if symbol in ("==", "!="):
            return (left == right) is (symbol == "==")
        return binary(self.machine.recorder, symbol, left, right)

    def _unary(self, node: ast.UnaryOp) -> object:
        operand = self.value(node.operand)
        self.machine.step(node.lineno)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(node.op, ast.USub):
            return negate(self.machine.recorder, operand)
        if isinstance(node.op, ast.Not):
            if not isinstance(operand, Value):
                return not operand
            return integers.negate_bits(_as_bool(operand))
        if isinstance(operand, Value) and isinstance(operand.type, IntType):
            return integers.negate_bits(operand)
        if isinstance(operand, int):
            return ~operand
        raise Unsupported(f"~ of {ast.unparse(node.operand)}", node.lineno)

    def _logic(self, node: ast.BoolOp) -> object:
        is_and = isinstance(node.op, ast.And)
        kept: list[Value] = []
        for part in node.values:
            operand = self.value(part)
            if isinstance(operand, Value):
                kept.append(_as_bool(operand))
            elif bool(operand) is not is_and:
                return operand
        self.machine.step(node.lineno)
        if not kept:
            return operand
        result = kept[0]
        for other in kept[1:]:
            result = binary(self.machine.recorder, "&" if is_and else "|", result, other)
        return result

    def _choice(self, node: ast.IfExp) -> object:
        condition = self.value(node.test)
        if not isinstance(condition, Value):
            return self.value(node.body if condition else node.orelse)
        self.machine.step(node.lineno)
        chosen = self.machine.truth(cast(self.machine.recorder, condition, BOOL), "branch")
        return lift(self.value(node.body if chosen else node.orelse))

    def _subscript(self, node: ast.Subscript) -> object:
        value = self.value(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        items = tuple(_full_slice(part) or self.value(part) for part in parts)
        self.machine.step(node.lineno)
        if isinstance(value, tuple):
            if len(items) != 1 or not isinstance(items[0], int):
                raise Unsupported("a tuple is indexed by a constexpr integer", node.lineno)
            return value[items[0]]
        return subscript(self.machine, value, items)

    def _attribute(self, node: ast.Attribute) -> object:
        base = self.value(node.value)
        name = node.attr
        if base == Special("triton"):
            return self._of_triton(name, node.lineno)
        if isinstance(base, Module):
            return attribute_of_module(base, name)
        if isinstance(base, Value):
            return self._of_value(base, name)
        if isinstance(base, PointerType) and name == "element_ty":
            return base.element
        if isinstance(base, (IntType, FloatType)):
            return attribute_of_type(base, name)
        raise Unsupported(f"{ast.unparse(node)} has no meaning here", node.lineno)

    def _of_triton(self, name: str, line: int) -> object:
        if name == "language":
            return Module()
        if name == "cdiv":
            return Builtin("cdiv")
        raise Unsupported(f"triton.{name} in a kernel is not known here", line)

    def _of_value(self, value: Value, name: str) -> object:
        if name in ("dtype", "type"):
            return value.type
        if name == "shape":
            return value.shape
        if name == "numel":
            return value.data.size
        if name == "T":
            return trans(self.machine, value)
        return Method(value, method(name).name)

    def _call(self, node: ast.Call) -> object:
        target = self.value(node.func)
        if any(isinstance(each, ast.Starred) for each in node.args):
            raise Unsupported("a call with *arguments", node.lineno)
        if any(each.arg is None for each in node.keywords):
            raise Unsupported("a call with **arguments", node.lineno)
        arguments = [self.value(each) for each in node.args]
        keywords = {each.arg: self.value(each.value) for each in node.keywords}
        self.machine.step(node.lineno)
        if isinstance(target, Builtin):
            return call(self.machine, target.name, arguments, keywords)
        if isinstance(target, Method):
            return call(self.machine, target.name, [target.value, *arguments], keywords)
        if isinstance(target, Function):
            return self._invoke(target, arguments, keywords)
        if isinstance(target, Answer) and not arguments and not keywords:
            return target.value
        if isinstance(target, Special) and not keywords:
            return self._special(target.name, arguments)
        raise Unsupported(f"a call of {ast.unparse(node.func)}", node.lineno)

    def _special(self, name: str, arguments: list) -> object:
        if name == "pointer_type" and len(arguments) == 1:
            return pointer_to(arguments[0])
        if name in ("python min", "python max") and len(arguments) > 1:
            return self._extreme(name.removeprefix("python "), arguments)
        numbers = [each for each in arguments if isinstance(each, (bool, int, float, str))]
        if len(arguments) == 1 and name == "python len" and isinstance(arguments[0], tuple):
            return len(arguments[0])
        if len(arguments) == 1 and len(numbers) == 1:
            if name == "constexpr":
                return numbers[0]
            if name in _CONVERSIONS:
                return _CONVERSIONS[name](numbers[0])
        raise Unsupported(f"{name.removeprefix('python ')} with these arguments is not known here")

    def _extreme(self, symbol: str, arguments: list) -> object:
        """Python's `min` and `max`: of constants a constant, of scalars a scalar."""
        if not any(isinstance(each, Value) for each in arguments):
            return min(arguments) if symbol == "min" else max(arguments)
        result = arguments[0]
        for other in arguments[1:]:
            result = binary(self.machine.recorder, symbol, result, other)
        return result


_CONVERSIONS: dict[str, Callable] = {"python float": float, "python int": int, "python bool": bool}

_EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, Any], object]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._look_up,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._tuple,
    ast.JoinedStr: Expressions._text,
    ast.BinOp: Expressions._binary,
    ast.Compare: Expressions._compare,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._logic,
    ast.IfExp: Expressions._choice,
    ast.Subscript: Expressions._subscript,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
}


def _as_bool(value: Value) -> Value:
    if value.type != BOOL:
        raise Unsupported(f"and, or, not of {value.type.name}: Triton takes only int1")
    return value


def _full_slice(node: ast.expr) -> slice | None:
    if not isinstance(node, ast.Slice):
        return None
    if node.lower or node.upper or node.step:
        raise Unsupported(f"the slice {ast.unparse(node)}: only `:` is known", node.lineno)
    return slice(None)
