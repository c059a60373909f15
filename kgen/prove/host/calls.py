"""Calls in host code: kernels, helpers, builtins, torch, and methods of tensors."""

from __future__ import annotations

import ast
from typing import Literal

from kgen.expr import SIZE_FUNCTIONS, Call
from kgen.prove.host.expressions import asked, evaluate
from kgen.prove.host.extents import items_of
from kgen.prove.host.findings import Rule
from kgen.prove.host.language import (
    ALLOCATORS,
    COMPUTING_BUILTINS,
    CONTROL_FUNCTIONS,
    ERRORS,
    HARMLESS_BUILTINS,
    OUTSIDE_BUILTINS,
    OUTSIDE_MODULES,
    OWN_MODULES,
    READING_FUNCTIONS,
)
from kgen.prove.host.methods import Keywords, method_call, not_understood
from kgen.prove.host.terms import (
    NOWHERE,
    all_of,
    any_of,
    is_float,
    name,
    number,
    rank_name,
    shape_name,
    tidied,
)
from kgen.prove.host.trace import Frame, Launch
from kgen.prove.host.values import (
    NOTHING_KNOWN,
    Allocation,
    Data,
    Derived,
    Extents,
    Function,
    Kernel,
    Sequence,
    Static,
    Symbol,
    Tensor,
    Unknown,
    Value,
    on_device,
    taint,
)


def call(node: ast.Call, frame: Frame) -> Value:
    """What a call gives; what it does is noted in the frame's trace."""
    if isinstance(node.func, ast.Attribute):
        owner: Value | None = evaluate(node.func.value, frame)
        called: Value | None = None
        if isinstance(owner, Symbol):
            called, owner = evaluate(node.func, frame), None
    else:
        owner, called = None, evaluate(node.func, frame)
    positional, keywords = _arguments(node, frame)
    if owner is not None:
        return method_call(owner, node, positional, keywords, frame)
    match called:
        case Kernel(kernel, grid) if grid is not None:
            return _launch(kernel, grid, node, positional, keywords, frame)
        case Function(function):
            return frame.invoke(frame, function, positional, keywords, node)
        case Symbol(path):
            return _function(path, node, positional, keywords, frame)
        case Data() | Derived() | Unknown():
            not_understood(node, frame)
            return called
    return not_understood(node, frame)


def _arguments(node: ast.Call, frame: Frame) -> tuple[tuple[Value, ...], Keywords]:
    listed = evaluate(ast.copy_location(ast.Tuple(node.args, ast.Load()), node), frame)
    positional = listed.items if isinstance(listed, Sequence) else (listed,)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(keyword.value, frame)
        if keyword.arg is None:
            frame.doubt(node, f"`**{ast.unparse(keyword.value)}` is not understood")
        else:
            keywords[keyword.arg] = value
    return positional, keywords


# ---------------------------------------------------------------- kernels


def _launch(
    kernel: str,
    grid: Value,
    node: ast.Call,
    positional: tuple[Value, ...],
    keywords: Keywords,
    frame: Frame,
) -> Value:
    found = taint(grid)
    shown = f"the grid of {kernel}"
    if isinstance(found, (Data, Derived)):
        frame.refute(Rule.GRID, node, f"{shown} depends on GPU data: {found.why}")
    elif found is not None or not isinstance(grid, Sequence):
        why = "it is no tuple" if found is None else found.why
        frame.doubt(node, f"{shown} is not understood: {why}", Rule.GRID)
    frame.trace.launches.append(
        Launch(frame.function, kernel, grid, positional, keywords, frame.path, frame.at(node))
    )
    frame.path = frame.path.launching(kernel)
    return NOTHING_KNOWN


# ---------------------------------------------------------------- functions by dotted name


def _function(
    path: str, node: ast.Call, positional: tuple[Value, ...], keywords: Keywords, frame: Frame
) -> Value:
    module, _, short = path.rpartition(".")
    if path == "torch.empty":
        return _empty(node, positional, keywords, frame)
    if module == "builtins":
        if keywords and short not in ERRORS:
            return not_understood(node, frame)
        return _builtin(short, node, positional, frame)
    if module == "kgen" and not keywords:
        return _size(short, positional)
    if path in CONTROL_FUNCTIONS:
        frame.refute(Rule.CONTROL, node, f"`{path}` makes a stream or event, or waits for the GPU")
        return Unknown(f"`{path}`")
    if path.partition(".")[0] in OUTSIDE_MODULES:
        frame.refute(Rule.OUTSIDE, node, f"`{path}` reads or changes what is outside of the call")
        return Unknown(f"`{path}`")
    if path in READING_FUNCTIONS:
        frame.refute(Rule.HOST_READ, node, f"`{path}` waits for the GPU and reads its memory")
        return Data(f"`{path}` at line {node.lineno}")
    if path in ALLOCATORS:
        _shape_of_data(node, (*positional, *keywords.values()), frame)
        frame.doubt(node, f"`{path}` is not torch.empty, the one kgen knows", Rule.ALLOCATION)
        return Derived(f"`{path}`")
    return _torch(path, node, positional, keywords, frame)


def _torch(
    path: str, node: ast.Call, positional: tuple[Value, ...], keywords: Keywords, frame: Frame
) -> Value:
    """A function without a rule of its own; only that it changes an input may be known of it."""
    changed = keywords.get("out")
    if path.endswith("_") and positional:
        changed = positional[0]
    if isinstance(changed, Tensor) and changed.allocation is None:
        frame.refute(Rule.IN_PLACE, node, f"`{path}` writes to the input {changed.name}")
    given = next(filter(None, map(on_device, (*positional, *keywords.values()))), "")
    if path.partition(".")[0] in OWN_MODULES:
        frame.doubt(node, f"`{path}(...)` is not understood")
    else:
        what = f"`{ast.unparse(node.func)}` is {path}, of which nothing is known"
        frame.doubt(node, what, Rule.FOREIGN)
    return Derived(f"`{path}({given})`") if given else Unknown(f"`{path}(...)`")


def _empty(
    node: ast.Call, positional: tuple[Value, ...], keywords: Keywords, frame: Frame
) -> Value:
    """`torch.empty((...), dtype=..., device=...)`."""
    shape = positional
    if len(positional) == 1 and isinstance(positional[0], Sequence):
        if positional[0].kind == "generator":
            frame.doubt(node, "the shape is a generator", Rule.ALLOCATION)
        shape = positional[0].items
    _shape_of_data(node, shape, frame)
    unstatic = [one for one in map(taint, shape) if one is not None]
    if any(isinstance(one, Unknown) for one in unstatic) or not positional:
        frame.doubt(node, "the shape is not understood", Rule.ALLOCATION)
    if set(keywords) != {"dtype", "device"} or any(map(taint, keywords.values())):
        frame.doubt(
            node, "kgen knows torch.empty with a shape, a dtype and a device", Rule.ALLOCATION
        )
        return Derived("`torch.empty`")
    made = Allocation(shape, keywords["dtype"], keywords["device"], frame.at(node))
    return Tensor("", made)


def _shape_of_data(node: ast.Call, values: tuple[Value, ...], frame: Frame) -> None:
    """Notes an allocation whose size has to be read from the GPU first."""
    for found in filter(None, map(taint, values)):
        if isinstance(found, (Data, Derived)):
            frame.refute(Rule.ALLOCATION, node, f"the shape depends on GPU data: {found.why}")
            if isinstance(found, Derived):
                frame.refute(Rule.HOST_READ, node, f"{found.why} is read to be a size")


def _builtin(short: str, node: ast.Call, positional: tuple[Value, ...], frame: Frame) -> Value:
    if short in OUTSIDE_BUILTINS:
        frame.refute(Rule.OUTSIDE, node, f"`{short}` reads or changes what is outside of the call")
    if short == "len" and len(positional) == 1 and isinstance(positional[0], Tensor):
        return Static(shape_name(positional[0].name, 0))
    given = next(filter(None, map(on_device, positional)), "")
    if given and short not in HARMLESS_BUILTINS:
        frame.refute(Rule.HOST_READ, node, f"`{short}` of {given}: the host waits and reads it")
        return Data(f"`{short}` of {given} at line {node.lineno}")
    if short == "type" and len(positional) == 1 and isinstance(positional[0], Static):
        meaning = positional[0].meaning
        return Static(name(f"type({meaning.id})")) if hasattr(meaning, "id") else NOTHING_KNOWN
    if short in HARMLESS_BUILTINS or short in ERRORS:
        return NOTHING_KNOWN
    tainted = next(filter(None, map(taint, positional)), None)
    if tainted is not None:
        return tainted if short in COMPUTING_BUILTINS else not_understood(node, frame)
    match short, positional:
        case ("min" | "max"), [_, _, *_]:
            return _size(short, positional)
        case "bool", [value]:
            return Static(asked(value, node, frame))
        case ("tuple" | "list"), [Sequence() | Extents() as value]:
            return _converted(short, value, frame)
        case "len", [Sequence(items, "tuple" | "list")]:
            return Static(number(len(items)))
        case "len", [Extents(tensor)]:
            return Static(rank_name(tensor))
        case ("all" | "any"), [Sequence(items)]:
            return _quantified(short, items, node, frame)
    if short in COMPUTING_BUILTINS:
        return NOTHING_KNOWN
    return not_understood(node, frame)


def _converted(kind: Literal["tuple", "list"], value: Sequence | Extents, frame: Frame) -> Value:
    """A shape is a tuple already, if of a type of its own."""
    if kind == "tuple" and isinstance(value, Extents):
        return value
    items = items_of(value, frame)
    return NOTHING_KNOWN if items is None else Sequence(items, kind)


def _quantified(short: str, items: tuple[Value, ...], node: ast.Call, frame: Frame) -> Value:
    parts = [asked(item, node, frame) for item in items]
    if None in parts:
        return NOTHING_KNOWN
    return Static(all_of(parts) if short == "all" else any_of(parts))


def _size(function: str, positional: tuple[Value, ...]) -> Value:
    """A function of kgen's expressions."""
    tainted = next(filter(None, map(taint, positional)), None)
    if tainted is not None:
        return tainted
    meanings = [one.meaning if isinstance(one, Static) else None for one in positional]
    declared = SIZE_FUNCTIONS[function]
    fits = declared.least <= len(meanings) and (declared.most or len(meanings)) >= len(meanings)
    if None in meanings or not fits or any(map(is_float, meanings)):
        return NOTHING_KNOWN
    return Static(tidied(Call(function, tuple(meanings), NOWHERE)))
