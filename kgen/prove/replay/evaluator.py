"""Runs functions of a kernel's source for one program: statements, loops, branches, calls.

The rules are those of Triton's front end: a Python number that is assigned becomes a scalar; a loop
or a branch on a run-time value keeps the type of what it changes, and names that it introduces end
with it (a branch: unless both sides do). What the front end refuses is Unsupported here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kgen.prove.replay.arithmetic import cast, lift
from kgen.prove.replay.dtypes import BOOL, IntType, promote_integers
from kgen.prove.replay.expressions import Expressions
from kgen.prove.replay.language import Special, call
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.source import Function, Source
from kgen.prove.replay.values import Taint, Value, constant

_LOOP_OPTIONS = frozenset(
    "num_stages loop_unroll_factor disallow_acc_multi_buffer flatten warp_specialize "
    "disable_licm".split()
)
_DEEPEST_CALL = 16


@dataclass(frozen=True, eq=False)
class Returned:
    """A `return` was met."""

    value: object


class Evaluator:
    """Runs functions of one source on one machine."""

    def __init__(self, source: Source, machine: Machine):
        self._source = source
        self._machine = machine
        self._depth = 0
        machine.invoke = self._invoke

    def run(self, function: Function, arguments: dict[str, object]) -> object:
        """Runs a function with all its parameters bound; what it returns, or None."""
        if self._depth >= _DEEPEST_CALL:
            raise Unsupported(
                f"calls of {function.name} nest too deep", self._machine.recorder.line
            )
        self._depth += 1
        frame = _Frame(self._source, self._machine, arguments, self._invoke)
        returned = frame.block(function.body)
        self._depth -= 1
        return None if returned is None else returned.value

    def _invoke(self, function: Function, args: list, keywords: dict[str, object]) -> object:
        """Calls a function of the source, defaults filled in."""
        if not isinstance(function, Function):
            raise Unsupported(f"{function!r} is no function of the file")
        names = [parameter.name for parameter in function.parameters]
        bound = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not set(keywords) <= set(names) - set(bound):
            raise Unsupported(f"{function.name} is called with arguments that it does not have")
        bound.update(keywords)
        for parameter in function.parameters:
            if parameter.name not in bound:
                if parameter.default is None:
                    raise Unsupported(f"{function.name} is called without {parameter.name}")
                bound[parameter.name] = ast.literal_eval(parameter.default)
            if parameter.annotation == "constexpr" and isinstance(bound[parameter.name], Value):
                raise Unsupported(
                    f"{parameter.name} of {function.name} is constexpr, its value is not"
                )
        return self.run(function, bound)


class _Frame(Expressions):
    """One function that is running."""

    _in_loop = 0

    def block(self, statements: Iterable[ast.stmt]) -> Returned | None:
        """Runs statements until one returns."""
        for statement in statements:
            run = _STATEMENTS.get(type(statement))
            if run is None:
                raise Unsupported(f"the statement {type(statement).__name__}", statement.lineno)
            try:
                returned = run(self, statement)
            except Unsupported as error:
                if not error.line:
                    error.line = self.machine.recorder.line or statement.lineno
                raise
            if returned is not None:
                return returned
        return None

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise Unsupported("several assignments in one statement", node.lineno)
        self._bind(node.targets[0], _settled(self.value(node.value)))

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise Unsupported("an annotation without a value", node.lineno)
        value = self.value(node.value)
        if ast.unparse(node.annotation).endswith("constexpr"):
            if isinstance(value, Value):
                raise Unsupported("a run-time value is declared constexpr", node.lineno)
            self._bind(node.target, value)
        else:
            self._bind(node.target, _settled(value))

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise Unsupported(f"{ast.unparse(node.target)} cannot be changed in place", node.lineno)
        old = self.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        change = self.value(node.value)
        self.machine.step(node.lineno)
        self.names[node.target.id] = _settled(self.operate(node.op, old, change))

    def _bind(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                raise Unsupported(f"{ast.unparse(target)} takes {len(target.elts)} values")
            for part, each in zip(target.elts, value, strict=True):
                self._bind(part, each)
        elif isinstance(target, ast.Name):
            self.names[target.id] = value
        else:
            raise Unsupported(f"an assignment to {ast.unparse(target)}", target.lineno)

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def _return(self, node: ast.Return) -> Returned:
        if self._in_loop:
            raise Unsupported("return inside a loop: Triton refuses this", node.lineno)
        return Returned(None if node.value is None else self.value(node.value))

    def _pass(self, node: ast.Pass) -> None:
        return None

    def _assert(self, node: ast.Assert) -> None:
        arguments = [self.value(node.test)]
        self.machine.step(node.lineno)
        call(self.machine, "device_assert", arguments, {})

    def _if(self, node: ast.If) -> Returned | None:
        condition = self.value(node.test)
        if not isinstance(condition, Value):
            return self.block(node.body if condition else node.orelse)
        self.machine.step(node.lineno)
        chosen = self.machine.truth(cast(self.machine.recorder, condition, BOOL), "branch")
        body = node.body if chosen else node.orelse
        return self._region(lambda: self.block(body), keep=_assigned_by_both(node))

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise Unsupported("else of a loop", node.lineno)
        while True:
            condition = lift(self.value(node.test))
            self.machine.step(node.lineno)
            if not self.machine.truth(
                cast(self.machine.recorder, condition, BOOL), "loop condition"
            ):
                return
            self._turn(node.body, frozenset())

    def _for(self, node: ast.For) -> Returned | None:
        if (
            node.orelse
            or not isinstance(node.target, ast.Name)
            or not isinstance(node.iter, ast.Call)
        ):
            raise Unsupported("a loop that is not `for name in range(...)`", node.lineno)
        kind = self.value(node.iter.func)
        bounds = [self.value(each) for each in node.iter.args]
        options = {each.arg: self.value(each.value) for each in node.iter.keywords}
        self.machine.step(node.lineno)
        if kind == Special("static_range"):
            return self._unrolled(node, bounds, options)
        if kind not in (Special("range"), Special("python range")):
            raise Unsupported(f"a loop over {ast.unparse(node.iter)}", node.lineno)
        strange = set(options) - _LOOP_OPTIONS
        if strange or not 1 <= len(bounds) <= 3:
            raise Unsupported(f"a loop over {ast.unparse(node.iter)}", node.lineno)
        self._counted(node, bounds)
        return None

    def _unrolled(self, node: ast.For, bounds: list, options: dict) -> Returned | None:
        start, end, step = _range_bounds(bounds, options.get("step", 1))
        if not all(isinstance(bound, int) for bound in (start, end, step)) or not step:
            raise Unsupported("tl.static_range takes constexpr integers", node.lineno)
        for index in range(start, end, step):
            self.names[node.target.id] = index
            returned = self.block(node.body)
            if returned is not None:
                return returned
        return None

    def _counted(self, node: ast.For, bounds: list) -> None:
        """The counter has the bounds' common type; the step after the last turn may wrap it."""
        recorder = self.machine.recorder
        start, end, step = (lift(bound) for bound in _range_bounds(bounds, 1))
        if not all(isinstance(bound.type, IntType) for bound in (start, end, step)):
            raise Unsupported("a loop bound that is no integer", node.lineno)
        type = promote_integers(promote_integers(start.type, end.type), step.type)
        values = [cast(recorder, bound, type) for bound in (start, end, step)]
        low, high, by = (self.machine.whole(value, "loop bound") for value in values)
        if by <= 0:
            raise Unsupported(f"a loop with step {by}: only steps above 0 are known", node.lineno)
        taint = values[0].taint or values[2].taint
        before = dict(self.names)
        for index in range(low, high, by):
            counter = constant(type, index)
            if taint is not None:
                counter = Value(type, counter.data, None, Taint(taint.lanes.any(), taint.wraps))
            self.names[node.target.id] = counter
            self._turn(node.body, frozenset({node.target.id}))
        if low < high:
            last = low + (high - 1 - low) // by * by
            if last + by > type.high:
                self.machine.step(node.lineno)
                wrap = recorder.wrap("loop step", last, by, type.name, last + by)
                recorder.reach(frozenset([wrap]), "loop bound")
        self._restore(node.target.id, before)

    def _restore(self, name: str, before: dict[str, object]) -> None:
        if name in before:
            self.names[name] = before[name]
        else:
            self.names.pop(name, None)

    def _turn(self, body: list[ast.stmt], own: frozenset[str]) -> None:
        self._in_loop += 1
        self._region(lambda: self.block(body), keep=frozenset(), own=own)
        self._in_loop -= 1

    def _region(
        self,
        run: Callable[[], Returned | None],
        keep: frozenset[str],
        own: frozenset[str] = frozenset(),
    ) -> Returned | None:
        """Runs a body that run-time values decide on.

        It changes no type, and of its new names only `keep` stay.
        """
        before = dict(self.names)
        returned = run()
        for name, value in list(self.names.items()):
            if name in before:
                if name not in own:
                    _check_same_type(name, before[name], value)
            elif name not in keep:
                del self.names[name]
        return returned


_STATEMENTS: dict[type[ast.stmt], Callable[[_Frame, Any], Returned | None]] = {
    ast.Assign: _Frame._assign,
    ast.AnnAssign: _Frame._annotated,
    ast.AugAssign: _Frame._augmented,
    ast.Expr: _Frame._expression,
    ast.Return: _Frame._return,
    ast.Pass: _Frame._pass,
    ast.Assert: _Frame._assert,
    ast.If: _Frame._if,
    ast.While: _Frame._while,
    ast.For: _Frame._for,
}


def _settled(value: object) -> object:
    """What an assignment keeps: numbers become scalars, in tuples too."""
    if isinstance(value, tuple):
        return tuple(_settled(each) for each in value)
    if isinstance(value, (bool, int, float)):
        return lift(value)
    if isinstance(value, str):
        raise Unsupported("a text is assigned: Triton refuses this")
    return value


def _range_bounds(bounds: list, step: object) -> tuple[object, object, object]:
    if len(bounds) == 1:
        return 0, bounds[0], step
    return bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else step


@lru_cache(maxsize=512)
def _assigned_by_both(node: ast.If) -> frozenset[str]:
    return _assigned(node.body) & _assigned(node.orelse)


def _assigned(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that these statements assign, in whatever branch."""
    found = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return frozenset(found)


def _check_same_type(name: str, old: object, new: object) -> None:
    if new is old:
        return
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            _check_same_type(name, before, after)
        return
    if not isinstance(old, Value) or not isinstance(new, Value):
        raise Unsupported(
            f"{name} is a constant that a loop or branch changes: Triton refuses this"
        )
    if old.type != new.type or old.shape != new.shape:
        raise Unsupported(
            f"{name} is {_shown(old)} before a loop or branch and {_shown(new)} after it: "
            "Triton refuses this"
        )


def _shown(value: Value) -> str:
    shape = f" of shape {list(value.shape)}" if value.shape else ""
    return f"{value.type.name}{shape}"
