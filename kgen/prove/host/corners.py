"""Arguments of a call at which a statement is false: a search among the numbers where mistakes
show.

Where a bound or a rounding is wrong, it is wrong at a number of the text or beside one. Whatever is
found is evaluated exactly, so it is a counterexample; that nothing is found proves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kgen.expr import (
    Compare,
    EvalError,
    Expr,
    Logic,
    Name,
    Number,
    Value,
    children,
    evaluate,
    names,
)

MOST = 20_000
"""Values that are tried, over all names."""


def corner(
    goal: Expr, conditions: Sequence[Expr], scalars: Sequence[str], far: bool = False
) -> Mapping[str, Value] | None:
    """Values of all names at which the conditions hold and `goal` does not.

    Names in `scalars` may be none; all others are at least 0. A `far` search tries for each name also what bounds the
    others that it is tested with.
    """
    tests = (_Test(goal, False), *map(_Test, conditions))
    free = sorted(frozenset().union(*(names(test.condition) for test in tests)))
    choices = {one: _choices(one, one in scalars, tests, far) for one in free}
    # An alternative that is the last one open decides as if it stood alone: by trial that is found late, for an alternative
    # of many names fails with the last of them.
    if forced := tuple(_Test(one) for one in _last_open(tests, choices)):
        tests += forced
        choices = {one: _choices(one, one in scalars, tests, far) for one in free}
    alone = Counter(one for test in tests for one in names(test.condition) if test.is_about_one)
    # the goal's names first, then what is bounded most: what merely equals it has no choice then
    order = sorted(free, key=lambda one: (one not in names(goal), -alone[one], len(choices[one])))
    search = _Search(tuple(order), choices, tests)
    return dict(search.values) if search.run() else None


def _choices(own: str, optional: bool, tests: Sequence[_Test], far: bool) -> tuple[Value, ...]:
    """The numbers of a name's tests and their neighbours, if they pass the tests of it alone."""
    about = [test for test in tests if own in names(test.condition)]
    told = about
    if far:
        near = frozenset().union(*(names(test.condition) for test in about))
        told = [t for t in tests if t in about or t.is_about_one and names(t.condition) <= near]
    numbers = {0, 1, 2, *_literals([test.condition for test in told])}
    near = sorted({one + step for one in numbers for step in (-1, 0, 1)})
    values = [None, *near] if optional else [one for one in near if one >= 0]
    alone = [test for test in about if test.is_about_one]
    return tuple(one for one in values if all(test.passes({own: one}) for test in alone))


def _last_open(tests: Sequence[_Test], choices: Mapping[str, Sequence[Value]]) -> Iterator[Expr]:
    """Of each disjunction the alternative that is left where no choice of a single name passes any other."""
    for test in tests:
        if test.wanted and isinstance(test.condition, Logic) and test.condition.op == "or":
            left = [one for one in test.condition.operands if _is_open(_Test(one), choices)]
            if len(left) == 1:
                yield left[0]


def _is_open(test: _Test, choices: Mapping[str, Sequence[Value]]) -> bool:
    if not test.is_about_one:
        return True
    (own,) = names(test.condition)
    return any(test.passes({own: value}) for value in choices[own])


def _literals(exprs: Sequence[Expr]) -> Iterator[int]:
    for expr in exprs:
        if isinstance(expr, Number) and isinstance(expr.value, int):
            yield expr.value
        yield from _literals(children(expr))


@dataclass(frozen=True)
class _Test:
    """A condition that has to come out as `wanted`."""

    condition: Expr
    wanted: bool = True

    @property
    def is_about_one(self) -> bool:
        """Whether it mentions a single name."""
        return len(names(self.condition)) == 1

    def passes(self, values: Mapping[str, Value]) -> bool:
        try:
            return evaluate(self.condition, values) is self.wanted
        except EvalError:
            return False


@dataclass
class _Search:
    """Names take values in order; each test is made as soon as all its names have one."""

    order: tuple[str, ...]
    choices: Mapping[str, tuple[Value, ...]]
    tests: tuple[_Test, ...]
    values: dict[str, Value] = field(default_factory=dict)
    tried: int = 0

    def __post_init__(self) -> None:
        place = {one: index for index, one in enumerate(self.order)}
        self.due: list[list[_Test]] = [[] for _ in self.order]
        for test in self.tests:
            if mentioned := names(test.condition):
                self.due[max(place[one] for one in mentioned)].append(test)

    def run(self) -> bool:
        """Whether values were found; they are in `values` then."""
        constant = [test for test in self.tests if not names(test.condition)]
        return all(test.passes({}) for test in constant) and self._assign(0)

    def _assign(self, index: int) -> bool:
        if index == len(self.order):
            return True
        own = self.order[index]
        for value in dict.fromkeys((*self._forced(own, index), *self.choices[own])):
            self.tried += 1
            if self.tried > MOST:
                return False
            self.values[own] = value
            if all(test.passes(self.values) for test in self.due[index]) and self._assign(
                index + 1
            ):
                return True
        self.values.pop(own, None)
        return False

    def _forced(self, own: str, index: int) -> Iterator[Value]:
        """What an equality with earlier names leaves no choice about."""
        for test in self.due[index]:
            match test.condition:
                case Compare("==", Name(one), other) if one == own and own not in names(other):
                    yield from _value(other, self.values)
                case Compare("==", other, Name(one)) if one == own and own not in names(other):
                    yield from _value(other, self.values)


def _value(expr: Expr, values: Mapping[str, Value]) -> Iterator[Value]:
    try:
        yield evaluate(expr, values)
    except EvalError:
        return
