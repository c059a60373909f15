"""What walking the entry gives: launches, returns, findings, and what was known at each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kgen.algebra.verdict import Status
from kgen.expr import Compare, Expr, Number
from kgen.prove.host.findings import Finding, Rule
from kgen.prove.host.module import Module
from kgen.prove.host.terms import FALSE, conjuncts, rank_name
from kgen.prove.host.values import Value, held


@dataclass(frozen=True)
class Known:
    """A condition that holds from a point on. `lines` go from the entry inwards to the test."""

    condition: Expr
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Path:
    """The ways that lead to one point, as one.

    `opaque` is set where a test on the way means nothing to kgen, so that more may hold than
    `known` says; `doubt` says what on the way is not understood, so that less may hold. `launched`
    has every order in which kernels may have been launched so far.
    """

    names: Mapping[str, Value]
    known: tuple[Known, ...] = ()
    opaque: bool = False
    doubt: str = ""
    launched: frozenset[tuple[str, ...]] = frozenset({()})

    @property
    def impossible(self) -> bool:
        """Whether no way leads here."""
        return any(one.condition == FALSE for one in self.known)

    def holding(self, condition: Expr | None, lines: tuple[int, ...]) -> Path:
        """This path where a test has come out true; None means nothing to kgen."""
        if condition is None:
            return replace(self, opaque=True)
        more = tuple(Known(one, lines) for one in conjuncts(condition))
        return replace(self, known=self.known + more)

    def binding(self, names: Mapping[str, Value]) -> Path:
        """This path after an assignment."""
        named = {one: held(one, value) for one, value in names.items()}
        return replace(self, names={**self.names, **named})

    def doubting(self, what: str) -> Path:
        """This path behind something that is not understood."""
        return replace(self, opaque=True, doubt=self.doubt or what)

    def launching(self, kernel: str) -> Path:
        """This path after a launch."""
        return replace(self, launched=frozenset((*before, kernel) for before in self.launched))


@dataclass(frozen=True)
class Launch:
    """One kernel call. `lines` go from the entry inwards; the last is the launch itself."""

    function: str
    kernel: str
    grid: Value
    positional: tuple[Value, ...]
    keywords: Mapping[str, Value]
    path: Path
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Return:
    """One `return` of the entry, or its end."""

    value: Value
    path: Path
    line: int


@dataclass
class Trace:
    """Everything that one walk through a file found, in order.

    `counted` has where each function's expressions begin.
    """

    module: Module
    findings: dict[Finding, None] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    returns: list[Return] = field(default_factory=list)
    counted: dict[str, set[tuple[int, int]]] = field(default_factory=dict)

    def calls(self, launcher: str) -> list[list[Launch]]:
        """The launches of each call of a launcher, in order."""
        found: dict[tuple[int, ...], list[Launch]] = {}
        for launch in self.launches:
            if launch.function == launcher:
                found.setdefault(launch.lines[:-1], []).append(launch)
        return list(found.values())

    def of(self, functions: Iterable[str]) -> list[Finding]:
        """The findings in these functions."""
        wanted = set(functions)
        return [one for one in self.findings if one.function in wanted]


Answered = TypeVar("Answered")
Invoke = Callable[["Frame", str, "tuple[Value, ...]", "Mapping[str, Value]", ast.Call], Value]
"""Walks a function of the file, called with these arguments."""
CallRule = Callable[[ast.Call, "Frame"], Value]
"""What a call expression is."""


@dataclass
class Frame:
    """A function that is being walked. `lines` are the calls that led here; `path` moves forward.

    Expressions, calls and statements need each other; `invoke` and `call` are how the first two
    reach the last.
    """

    trace: Trace
    function: str
    lines: tuple[int, ...]
    path: Path
    invoke: Invoke
    call: CallRule
    returned: list[Return] = field(default_factory=list)
    local: frozenset[str] = frozenset()
    """Names that the function binds somewhere: none of them stands for what the module calls so."""

    def aside(self, node: ast.expr, rule: Callable[[ast.expr, Frame], Answered]) -> Answered:
        """What `rule` says of a part that may not be evaluated: nothing that it tests holds afterwards."""
        before = self.path
        found = rule(node, self)
        after = self.path
        self.path = replace(
            before,
            opaque=after.opaque or after.known != before.known,
            doubt=after.doubt,
            launched=before.launched | after.launched,
        )
        if after.launched != before.launched:
            self.doubt(node, f"`{ast.unparse(node)}` launches a kernel if its turn comes")
        return found

    def at(self, node: ast.AST) -> tuple[int, ...]:
        """The lines of the calls that led to `node`, and its own."""
        return (*self.lines, node.lineno)

    def count(self, node: ast.AST) -> None:
        """Notes that an expression has been read."""
        places = self.trace.counted.setdefault(self.function, set())
        places.add((node.lineno, node.col_offset))

    def refute(self, rule: Rule, node: ast.AST, what: str) -> None:
        """Notes something that is known to be wrong."""
        self._note(rule, Status.REFUTED, node, what)

    def doubt(self, node: ast.AST, what: str, rule: Rule = Rule.UNDERSTOOD) -> None:
        """Notes something for which there is no rule."""
        self._note(rule, Status.UNKNOWN, node, what)
        if rule in (Rule.UNDERSTOOD, Rule.FOREIGN):
            self.path = self.path.doubting(f"line {node.lineno}: {what}")

    def _note(self, rule: Rule, status: Status, node: ast.AST, what: str) -> None:
        found = Finding(rule, status, self.function, node.lineno, what)
        self.trace.findings.setdefault(found)

    def rank(self, tensor: str) -> int | None:
        """The number of dimensions of a tensor, where a check has fixed it."""
        wanted = rank_name(tensor)
        for known in self.path.known:
            match known.condition:
                case Compare("==", left, Number(int() as rank)) if left == wanted:
                    return rank
        return None
