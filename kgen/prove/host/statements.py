"""Statements of host code: one walk from the entry through everything that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listing
from dataclasses import replace

from kgen.expr import SIZE_FUNCTIONS, Expr
from kgen.prove.host.calls import call
from kgen.prove.host.comparisons import chosen
from kgen.prove.host.expressions import condition, evaluate
from kgen.prove.host.findings import Rule
from kgen.prove.host.inert import suspends
from kgen.prove.host.knobs import known
from kgen.prove.host.module import Module, read_module, stored_names
from kgen.prove.host.paths import joined, meeting
from kgen.prove.host.terms import FALSE, NONE, name, negation
from kgen.prove.host.trace import Frame, Path, Return, Trace
from kgen.prove.host.values import (
    Function,
    Kernel,
    Sequence,
    State,
    Static,
    Symbol,
    Tensor,
    Unknown,
    Value,
    held,
    on_device,
)

MAX_DEPTH = 8
MAX_TURNS = 64


def walk(source: str, entry: str, arguments: Iterable[str], scalars: Iterable[str] = ()) -> Trace:
    """Follows every way through `entry`, called with tensors, and with Python values for `scalars`.

    Raises SyntaxError for what is no Python, and LookupError where the file has no such function or
    that takes other arguments.
    """
    trace = Trace(read_module(source))
    if entry not in trace.module.functions:
        raise LookupError(f"the file has no function {entry}")
    parameters = [one.arg for one in trace.module.functions[entry].args.args]
    if parameters != list(arguments):
        raise LookupError(f"{entry} takes {', '.join(parameters)}, not {', '.join(arguments)}")
    plain = set(scalars)
    names = {one: Static(name(one)) if one in plain else Tensor(one) for one in parameters}
    for found in trace.module.findings:
        trace.findings.setdefault(found)
    node = trace.module.functions[entry]
    path = Path(names, tuple(known(trace.module.knobs)))
    frame = Frame(trace, entry, (), path, _invoke, call, local=_local(node))
    trace.returns += _run(frame, node)
    return trace


def expression(text: str, names: Mapping[str, Value]) -> Expr | None:
    """The meaning of a Python expression over `names`, such as a binding of an axis."""
    own = Trace(Module(sizes=frozenset(SIZE_FUNCTIONS)))
    frame = Frame(own, "", (), Path(names), _invoke, call)
    value = evaluate(ast.parse(text, mode="eval").body, frame)
    return value.meaning if isinstance(value, Static) else None


def _run(frame: Frame, node: ast.FunctionDef) -> list[Return]:
    """Every end of a function."""
    if suspends(node):
        frame.doubt(node, f"{node.name} is a generator: a call runs nothing of it")
    if _block(node.body, frame):
        frame.returned.append(Return(Static(NONE), frame.path, node.end_lineno or node.lineno))
    return frame.returned


def _invoke(
    frame: Frame,
    function: str,
    positional: tuple[Value, ...],
    keywords: Mapping[str, Value],
    node: ast.Call,
) -> Value:
    """Walks a host function as called here."""
    if len(frame.lines) >= MAX_DEPTH:
        frame.doubt(node, f"{function} is called from itself, or too deep")
        return Unknown(f"{function}(...)")
    definition = frame.trace.module.functions[function]
    names = _bound(definition, positional, keywords)
    if names is None:
        frame.doubt(node, f"these are no arguments for {function}")
        return Unknown(f"{function}(...)")
    path = replace(frame.path, names={}).binding(names)
    local = _local(definition)
    inner = Frame(frame.trace, function, frame.at(node), path, _invoke, call, local=local)
    ends = _run(inner, definition)
    if not ends:
        frame.path = frame.path.holding(FALSE, frame.at(node))
        return Unknown(f"{function} never returns")
    paths = [end.path for end in ends]
    frame.path = replace(meeting(paths, len(frame.path.known)), names=frame.path.names)
    values = {end.value for end in ends}
    return values.pop() if len(values) == 1 else _either(ends)


def _either(ends: list[Return]) -> Value:
    value = ends[0].value
    for end in ends[1:]:
        value = chosen(None, value, end.value)
    return value


def _bound(
    definition: ast.FunctionDef, positional: tuple[Value, ...], keywords: Mapping[str, Value]
) -> dict[str, Value] | None:
    """Parameters by name; None for a call that Python would refuse, or there is no rule for."""
    declared = definition.args
    parameters = [one.arg for one in (*declared.posonlyargs, *declared.args)]
    names = dict(zip(parameters, positional))
    rest = positional[len(parameters) :]
    if declared.vararg is not None:
        names[declared.vararg.arg] = Sequence(rest)
    elif rest:
        return None
    first = max(len(positional), len(declared.posonlyargs))
    allowed = {*parameters[first:], *(one.arg for one in declared.kwonlyargs)}
    if declared.kwarg is not None or not set(keywords) <= allowed:
        return None
    names.update(keywords)
    needed = {*parameters, *(one.arg for one in declared.kwonlyargs)}
    return names if needed <= set(names) else None


# ---------------------------------------------------------------- blocks and paths


def _block(body: Listing[ast.stmt], frame: Frame) -> bool:
    """Walks statements in order; whether the end is reached."""
    return all(_statement(node, frame) and not frame.path.impossible for node in body)


def _statement(node: ast.stmt, frame: Frame) -> bool:
    """Walks one statement; whether the next is reached."""
    match node:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Expr(value):
            evaluate(value, frame)
        case ast.Assign(targets, value):
            _assign(targets, evaluate(value, frame), node, frame)
        case ast.AnnAssign(target, _, value) if value is not None:
            _assign([target], evaluate(value, frame), node, frame)
        case ast.AugAssign():
            _augmented(node, frame)
        case ast.If():
            return _if(node, frame)
        case ast.Return(value):
            found = Static(NONE) if value is None else evaluate(value, frame)
            frame.returned.append(Return(found, frame.path, node.lineno))
            return False
        case ast.Raise(error):
            if error is not None:
                evaluate(error, frame)
            return False
        case ast.Assert(test):
            # python -O leaves it out: what it tests is not known afterwards
            frame.aside(test, condition)
        case ast.For():
            return _for(node, frame)
        case _:
            _other(node, frame)
    return True


def _if(node: ast.If, frame: Frame) -> bool:
    before = frame.path
    test = condition(node.test, frame)
    line = frame.at(node.test)
    opposite = None if test is None else negation(test)
    ends = []
    for holds, body in ((test, node.body), (opposite, node.orelse)):
        if holds == FALSE:
            continue
        frame.path = before.holding(holds, line)
        if _block(body, frame):
            ends.append((holds, frame.path))
    if not ends:
        return False
    if len(ends) == 1:
        frame.path = ends[0][1]
    else:
        frame.path = joined(test, ends[0][1], ends[1][1], before)
    return True


def _for(node: ast.For, frame: Frame) -> bool:
    """A loop over a tuple is walked turn by turn."""
    source = evaluate(node.iter, frame)
    if on_device(source):
        what = f"`for ... in {ast.unparse(node.iter)}` iterates over a tensor: the host reads it"
        frame.refute(Rule.HOST_READ, node, what)
    simple = isinstance(source, Sequence) and len(source.items) <= MAX_TURNS and not node.orelse
    jumps = any(isinstance(one, (ast.Break, ast.Continue)) for one in ast.walk(node))
    if not simple or jumps:
        _other(node, frame)
        return True
    for item in source.items:
        _assign([node.target], item, node, frame)
        if not _block(node.body, frame):
            return False
    return True


# ---------------------------------------------------------------- assignments and the rest


def _assign(targets: Listing[ast.expr], value: Value, node: ast.stmt, frame: Frame) -> None:
    if len(targets) > 1:
        value = held("a tuple with several names", value)
    for target in targets:
        match target:
            case ast.Name(bound):
                frame.path = frame.path.binding({bound: value})
                value = frame.path.names[bound]
            case ast.Tuple(parts) | ast.List(parts):
                fits = isinstance(value, Sequence) and len(value.items) == len(parts)
                for index, part in enumerate(parts):
                    one = value.items[index] if fits else Unknown(f"`{ast.unparse(target)}`")
                    _assign([part], one, node, frame)
            case ast.Attribute(owner) | ast.Subscript(owner):
                _stored(target, evaluate(owner, frame), node, frame)
            case _:
                frame.doubt(node, f"`{ast.unparse(node)}` is not understood")


def _stored(target: ast.expr, owner: Value, node: ast.stmt, frame: Frame) -> None:
    """An assignment to a part of something."""
    shown = ast.unparse(target)
    match owner:
        case Tensor(tensor, None):
            frame.refute(Rule.IN_PLACE, node, f"`{shown} = ...` changes the input {tensor}")
        case State() | Function() | Kernel() | Symbol():
            frame.refute(Rule.STATE, node, f"`{shown} = ...` changes what outlives the call")
        case _:
            frame.doubt(node, f"`{shown} = ...` is not understood")


def _augmented(node: ast.AugAssign, frame: Frame) -> None:
    target = node.target
    if not isinstance(target, ast.Name):
        _assign([target], evaluate(node.value, frame), node, frame)
        return
    before = evaluate(ast.copy_location(ast.Name(target.id, ast.Load()), node), frame)
    if isinstance(before, Tensor) and before.allocation is None:
        frame.refute(Rule.IN_PLACE, node, f"`{ast.unparse(node)}` changes the input {before.name}")
    if isinstance(before, Sequence) and before.kind == "list":
        frame.doubt(node, f"`{ast.unparse(node)}` changes a list, which may have other names")
    read = ast.copy_location(ast.Name(target.id, ast.Load()), node)
    whole = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
    _assign([target], evaluate(whole, frame), node, frame)


def _other(node: ast.stmt, frame: Frame) -> None:
    """A statement without a rule. What it binds is unknown from here on."""
    shown = ast.unparse(node).splitlines()[0]
    match node:
        case ast.Import() | ast.ImportFrom():
            frame.refute(Rule.OUTSIDE, node, f"`{shown}` inside a function")
            frame.path = frame.path.doubting(f"line {node.lineno}: `{shown}`")
        case ast.Global() | ast.Nonlocal():
            frame.refute(Rule.STATE, node, f"`{shown}`: what it binds outlives the call")
            frame.path = frame.path.doubting(f"line {node.lineno}: `{shown}`")
        case ast.With():
            for item in node.items:
                evaluate(item.context_expr, frame)
            frame.doubt(node, f"`{shown}` is not understood")
        case ast.While(test):
            condition(test, frame)
            frame.doubt(node, f"`{shown}` may run any number of times")
        case _:
            frame.doubt(node, f"`{shown}` is not understood")
    unknown = {one: Unknown(f"`{shown}`") for one in stored_names(node)}
    before = frame.path.binding(unknown)
    frame.path = before
    _inside(node, frame)
    # what the blocks tested may have been left by an exception, or never been reached
    frame.path = replace(before, launched=before.launched | frame.path.launched)


def _local(node: ast.FunctionDef) -> frozenset[str]:
    """The names that are the function's own, bound anywhere in it: by a comprehension too, to be careful."""
    return frozenset(name for part in node.body for name in stored_names(part))


def _inside(node: ast.stmt, frame: Frame) -> None:
    """Walks the blocks of a statement that is not understood, so that faults in them show."""
    for field in ("body", "orelse", "finalbody"):
        _block(getattr(node, field, []) if not _defines(node) else [], frame)
    for handler in getattr(node, "handlers", []):
        _block(handler.body, frame)


def _defines(node: ast.stmt) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
