"""Expressions of host code to values, by an explicit list of forms."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from kgen.expr import Expr, Number, is_literal
from kgen.prove.host.comparisons import chosen, link, linked, logic
from kgen.prove.host.extents import extent, items_of
from kgen.prove.host.findings import Rule
from kgen.prove.host.language import DTYPES, NAMED_ATTRIBUTES, PLAIN_ATTRIBUTES
from kgen.prove.host.module import nothing
from kgen.prove.host.terms import (
    FALSE,
    NONE,
    TRUE,
    binary,
    exact,
    is_condition,
    name,
    negation,
    number,
    rank_name,
    truth,
    value_of,
)
from kgen.prove.host.trace import Frame
from kgen.prove.host.values import (
    NOTHING_KNOWN,
    Data,
    Derived,
    Extents,
    Kernel,
    Sequence,
    State,
    Static,
    Symbol,
    Tensor,
    Text,
    Unknown,
    Value,
    on_device,
    taint,
)

_ARITHMETIC = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def evaluate(node: ast.expr, frame: Frame) -> Value:
    """What `node` is where `frame` stands; what is wrong with it is noted there."""
    frame.count(node)
    rule = _RULES.get(type(node), _other)
    return rule(node, frame)


def _other(node: ast.expr, frame: Frame) -> Value:
    """A form without a rule; its parts are walked, so that what is wrong in them shows."""
    frame.doubt(node, f"`{ast.unparse(node)}` is not understood")
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            evaluate(part, frame)
    return Unknown(f"`{ast.unparse(node)}`")


def condition(node: ast.expr, frame: Frame) -> Expr | None:
    """What `if node` asks, or None where that means nothing to kgen."""
    if isinstance(node, ast.BoolOp):
        return logic(node.op, _reached(node, frame))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = condition(node.operand, frame)
        return None if inner is None else negation(inner)
    return asked(evaluate(node, frame), node, frame)


def _reached(node: ast.BoolOp, frame: Frame) -> list[Expr | None]:
    """The operands up to one that certainly decides."""
    deciding = FALSE if isinstance(node.op, ast.And) else TRUE
    parts: list[Expr | None] = []
    for operand in node.values:
        parts.append(frame.aside(operand, condition) if parts else condition(operand, frame))
        if parts[-1] == deciding:
            break
    return parts


def asked(value: Value, node: ast.expr, frame: Frame) -> Expr | None:
    """The truth of a value; asking a tensor for its own reads it."""
    match value:
        case Static(meaning):
            return None if meaning is None else truth(meaning)
        case Sequence(items, kind):
            return TRUE if kind == "generator" else number(bool(items))
        case Tensor() | Derived():
            what = (
                f"`{ast.unparse(node)}` asks a tensor for its truth, so the host waits and reads it"
            )
            frame.refute(Rule.HOST_READ, node, what)
        case Data(why):
            frame.refute(Rule.HOST_READ, node, f"the branch depends on GPU data: {why}")
    return None


# ---------------------------------------------------------------- names and parts


def _constant(node: ast.Constant, frame: Frame) -> Value:
    if isinstance(node.value, str):
        return Text()
    if isinstance(node.value, float) and not math.isfinite(node.value):
        return NOTHING_KNOWN
    if node.value is None or isinstance(node.value, (bool, int, float)):
        return Static(number(node.value))
    return NOTHING_KNOWN


def _name(node: ast.Name, frame: Frame) -> Value:
    found = frame.path.names.get(node.id)
    if found is None and node.id in frame.local:
        frame.doubt(node, f"{node.id} is bound in this function, and not here yet")
        return nothing(node.id)
    found = found or frame.trace.module.value(node.id)
    if found is None:
        frame.doubt(node, f"nothing binds {node.id}")
        return nothing(node.id)
    if isinstance(found, State):
        frame.doubt(node, f"{node.id} is bound at module level to what is no constant")
    return found


def _attribute(node: ast.Attribute, frame: Frame) -> Value:
    base = evaluate(node.value, frame)
    match base:
        case Symbol(path):
            whole = f"{path}.{node.attr}"
            return Static(name(whole)) if whole in DTYPES else Symbol(whole)
        case Tensor(tensor):
            return _of_tensor(tensor, node, frame)
        case Static():
            return NOTHING_KNOWN
        case Data() | Derived() | Unknown():
            return base
    frame.doubt(node, f"`{ast.unparse(node)}` is not understood")
    return Unknown(f"`{ast.unparse(node)}`")


def _of_tensor(tensor: str, node: ast.Attribute, frame: Frame) -> Value:
    if node.attr == "shape":
        return Extents(tensor, "shape")
    if node.attr == "ndim":
        return Static(rank_name(tensor))
    if node.attr in NAMED_ATTRIBUTES:
        return Static(name(f"{tensor}.{node.attr}"))
    if node.attr in PLAIN_ATTRIBUTES:
        return NOTHING_KNOWN
    frame.doubt(node, f"`{ast.unparse(node)}`: kgen does not know whether this reads the tensor")
    return Derived(f"`{ast.unparse(node)}`")


def _subscript(node: ast.Subscript, frame: Frame) -> Value:
    base = evaluate(node.value, frame)
    if isinstance(base, Kernel):
        return Kernel(base.name, evaluate(node.slice, frame))
    if isinstance(node.slice, ast.Slice):
        return _slice(base, node, frame)
    index = evaluate(node.slice, frame)
    position = index.meaning.value if _is_integer(index) else None
    match base:
        case Extents() if position is not None:
            return extent(base, position, frame)
        case Sequence(items, "tuple" | "list") if position is not None and -len(
            items
        ) <= position < len(items):
            return items[position]
        case Tensor() | Derived():
            frame.doubt(node, f"`{ast.unparse(node)}` is an operation of torch", Rule.OPERATION)
            return Derived(f"`{ast.unparse(node)}`")
        case Data() | Unknown():
            return base
    frame.doubt(node, f"`{ast.unparse(node)}` is not understood")
    return Unknown(f"`{ast.unparse(node)}`")


def _slice(base: Value, node: ast.Subscript, frame: Frame) -> Value:
    ends = [node.slice.lower, node.slice.upper, node.slice.step]
    values = [Static(NONE) if end is None else evaluate(end, frame) for end in ends]
    items = items_of(base, frame)
    kind = base.kind if isinstance(base, Sequence) else "tuple"
    known = all(isinstance(v, Static) and is_literal(v.meaning) for v in values)
    if items is not None and known and kind != "generator":
        return Sequence(items[slice(*(value_of(v.meaning) for v in values))], kind)
    if isinstance(base, (Tensor, Derived)):
        frame.doubt(node, f"`{ast.unparse(node)}` is an operation of torch", Rule.OPERATION)
        return Derived(f"`{ast.unparse(node)}`")
    return taint(base) or NOTHING_KNOWN


def _is_integer(value: Value) -> bool:
    return (
        isinstance(value, Static)
        and isinstance(value.meaning, Number)
        and isinstance(value.meaning.value, int)
    )


def _tuple(node: ast.Tuple | ast.List, frame: Frame) -> Value:
    items: list[Value] = []
    for element in node.elts:
        if not isinstance(element, ast.Starred):
            items.append(evaluate(element, frame))
            continue
        unpacked = items_of(evaluate(element.value, frame), frame)
        if unpacked is None:
            frame.doubt(element, f"`{ast.unparse(element)}` has a length that is not known")
            return Unknown(f"`{ast.unparse(node)}`")
        items += unpacked
    return Sequence(tuple(items), "list" if isinstance(node, ast.List) else "tuple")


def _comprehension(node: ast.GeneratorExp | ast.ListComp, frame: Frame) -> Value:
    """One value for each element of a sequence of known length."""
    match node.generators:
        case [ast.comprehension(ast.Name(variable), source, [], 0)]:
            base = evaluate(source, frame)
            items = items_of(base, frame)
            if items is not None:
                kind = "list" if isinstance(node, ast.ListComp) else "generator"
                return Sequence(tuple(_with(variable, one, node.elt, frame) for one in items), kind)
            if on_device(base):
                what = f"`{ast.unparse(node)}` iterates over a tensor, so the host reads it"
                frame.refute(Rule.HOST_READ, node, what)
                return Data(f"`{ast.unparse(node)}`")
            if taint(base) is None:
                return NOTHING_KNOWN
    frame.doubt(node, f"`{ast.unparse(node)}` is not understood")
    return Unknown(f"`{ast.unparse(node)}`")


def _with(variable: str, value: Value, node: ast.expr, frame: Frame) -> Value:
    outer = frame.path.names
    frame.path = frame.path.binding({variable: value})
    found = frame.aside(node, evaluate)
    frame.path = replace(frame.path, names=outer)
    return found


def _text(node: ast.JoinedStr, frame: Frame) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            if part.format_spec is not None:
                evaluate(part.format_spec, frame)
            value = evaluate(part.value, frame)
            if on_device(value):
                shown = ast.unparse(part.value)
                frame.refute(Rule.HOST_READ, node, f"formatting {shown} reads the tensor")
    return Text()


# ---------------------------------------------------------------- operators


def _binary(node: ast.BinOp, frame: Frame) -> Value:
    sides = evaluate(node.left, frame), evaluate(node.right, frame)
    given = next(filter(None, map(on_device, sides)), "")
    if given and isinstance(sides[0], Text):
        frame.refute(Rule.HOST_READ, node, f"formatting {given} reads the tensor")
        return Text()
    if given:
        frame.doubt(node, f"`{ast.unparse(node)}` is an operation of torch", Rule.OPERATION)
    tainted = taint(Sequence(sides))
    if tainted is not None:
        return Derived(f"`{ast.unparse(node)}`") if isinstance(tainted, Derived) else tainted
    op = _ARITHMETIC.get(type(node.op))
    meanings = [side.meaning if isinstance(side, Static) else None for side in sides]
    if op is None or None in meanings or any(map(is_condition, meanings)):
        return NOTHING_KNOWN
    return Static(binary(op, *meanings)) if exact(op, *meanings) else NOTHING_KNOWN


def _unary(node: ast.UnaryOp, frame: Frame) -> Value:
    if isinstance(node.op, ast.Not):
        return Static(condition(node, frame))
    value = evaluate(node.operand, frame)
    tainted = taint(value)
    if tainted is not None:
        return tainted
    if isinstance(node.op, ast.USub) and isinstance(value, Static) and value.meaning is not None:
        return Static(binary("-", number(0), value.meaning))
    return NOTHING_KNOWN


def _bool(node: ast.BoolOp, frame: Frame) -> Value:
    """`and` and `or` give one of their operands: a condition if all of them are conditions."""
    first, *others = node.values
    values = [evaluate(first, frame), *(frame.aside(one, evaluate) for one in others)]
    for value, operand in zip(values, node.values):
        asked(value, operand, frame)
    tainted = taint(Sequence(tuple(values)))
    if tainted is not None:
        return tainted
    meanings = [value.meaning if isinstance(value, Static) else None for value in values]
    known = [one for one in meanings if one is not None]
    if not all(map(is_condition, known)):
        return NOTHING_KNOWN
    return Static(logic(node.op, meanings))


def _compare(node: ast.Compare, frame: Frame) -> Value:
    second, *others = node.comparators
    values = [evaluate(node.left, frame), evaluate(second, frame)]
    values += [frame.aside(one, evaluate) for one in others]
    identity = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
    if any(map(on_device, values)) and not identity:
        what = f"`{ast.unparse(node)}` compares what a tensor holds"
        frame.refute(Rule.HOST_READ, node, what)
        return Derived(f"`{ast.unparse(node)}`")
    links = list(zip(node.ops, values, values[1:]))
    return linked([link(op, left, right, frame) for op, left, right in links])


def _choice(node: ast.IfExp, frame: Frame) -> Value:
    test = condition(node.test, frame)
    then, otherwise = (frame.aside(one, evaluate) for one in (node.body, node.orelse))
    return chosen(test, then, otherwise)


def _call(node: ast.Call, frame: Frame) -> Value:
    return frame.call(node, frame)


_RULES: Mapping[type, Callable[[ast.expr, Frame], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.GeneratorExp: _comprehension,
    ast.ListComp: _comprehension,
    ast.JoinedStr: _text,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Call: _call,
}
