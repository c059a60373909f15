"""Calls of methods: of tensors, and of what else host code may hold."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kgen.expr import Expr
from kgen.prove.host.extents import extent
from kgen.prove.host.findings import Rule
from kgen.prove.host.language import (
    CONTROL_METHODS,
    MUTATORS,
    PLAIN_METHODS,
    READING_METHODS,
    VALUE_METHODS,
)
from kgen.prove.host.terms import name, number, product, rank_name
from kgen.prove.host.trace import Frame
from kgen.prove.host.values import (
    NOTHING_KNOWN,
    Data,
    Derived,
    Extents,
    Sequence,
    State,
    Static,
    Tensor,
    Text,
    Unknown,
    Value,
    on_device,
)

Keywords = Mapping[str, Value]

_PLAIN = ("index", "count", "bit_length", "numel")
"""Methods of numbers, tuples and shapes that give a number."""


def method_call(
    owner: Value,
    node: ast.Call,
    positional: tuple[Value, ...],
    keywords: Keywords,
    frame: Frame,
) -> Value:
    """What a method of `owner` gives; what it does is noted in the frame's trace."""
    method = node.func.attr
    if method in CONTROL_METHODS:
        frame.refute(Rule.CONTROL, node, f"`{ast.unparse(node.func)}` orders or waits for the GPU")
    match owner:
        case Tensor():
            return _of_tensor(owner, node, positional, keywords, frame)
        case Derived(why):
            if method in READING_METHODS:
                return _read(why, node, frame)
            not_understood(node, frame)
            return owner
        case State(state) if method in MUTATORS:
            what = f"`{state}.{method}` changes what outlives the call"
            frame.refute(Rule.STATE, node, what)
            return Unknown(f"`{state}`")
        case Data() | Unknown():
            not_understood(node, frame)
            return owner
        case Text():
            given = next(filter(None, map(on_device, positional)), "")
            if given:
                frame.refute(Rule.HOST_READ, node, f"formatting {given} reads the tensor")
            return Text()
        case Extents() | Static() | Sequence() if method in _PLAIN:
            return NOTHING_KNOWN
    return not_understood(node, frame)


def _read(tensor: str, node: ast.Call, frame: Frame) -> Value:
    what = f"`{ast.unparse(node)}` waits for the GPU and reads {tensor}"
    frame.refute(Rule.HOST_READ, node, what)
    return Data(f"`{ast.unparse(node)}` at line {node.lineno}")


def _of_tensor(
    tensor: Tensor,
    node: ast.Call,
    positional: tuple[Value, ...],
    keywords: Keywords,
    frame: Frame,
) -> Value:
    method = node.func.attr
    to_host = method == "to" and any(
        isinstance(one, ast.Constant) and one.value == "cpu"
        for one in (*node.args, *(keyword.value for keyword in node.keywords))
    )
    if method in READING_METHODS or to_host:
        return _read(tensor.name, node, frame)
    asking = None if keywords else _asked_of(tensor, method, positional, frame)
    if asking is not None:
        return asking
    shown = f"`{ast.unparse(node)}`"
    if not method.endswith("_"):
        frame.doubt(node, f"{shown} is an operation of torch", Rule.OPERATION)
        return Derived(shown)
    if tensor.allocation is None:
        frame.refute(Rule.IN_PLACE, node, f"{shown} changes the input {tensor.name}")
    else:
        frame.doubt(node, f"{shown} is an operation of torch", Rule.OPERATION)
    if method not in VALUE_METHODS:
        frame.doubt(node, f"{shown} may change the tensor's shape or strides")
    return Derived(shown)


def _asked_of(
    owner: Tensor, method: str, positional: tuple[Value, ...], frame: Frame
) -> Value | None:
    """What a tensor says of itself without its elements being read."""
    tensor = owner.name
    match method, positional:
        case ("dim" | "ndimension"), []:
            rank = frame.rank(tensor)
            return Static(rank_name(tensor) if rank is None else number(rank))
        case ("numel" | "nelement"), []:
            return Static(_elements(owner))
        case "data_ptr", []:
            return Static(name(f"{tensor}.data_ptr()"))
        case ("size" | "stride"), []:
            return Extents(tensor, "shape" if method == "size" else "stride")
        case ("size" | "stride"), [Static(meaning)]:
            dim = getattr(meaning, "value", None)
            if isinstance(dim, int):
                return extent(
                    Extents(tensor, "shape" if method == "size" else "stride"), dim, frame
                )
            return NOTHING_KNOWN
    return NOTHING_KNOWN if method in PLAIN_METHODS else None


def _elements(tensor: Tensor) -> Expr:
    """The number of elements; of a fresh tensor the product of its extents."""
    if tensor.allocation is not None:
        extents = [getattr(one, "meaning", None) for one in tensor.allocation.shape]
        if None not in extents:
            return product(extents)
    return name(f"{tensor.name}.numel()")


def not_understood(node: ast.Call, frame: Frame) -> Value:
    """The value of a call for which there is no rule."""
    shown = ast.unparse(node.func)
    frame.doubt(node, f"`{shown}(...)` is not understood")
    return Unknown(f"`{shown}(...)`")
