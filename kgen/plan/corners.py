"""Statements tried at the corners of their domain: what is false there is wrong, and no proof has to say so.

It takes no algebra, so that thousands of parameters can be tried. What holds at every corner may be false inside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from kgen.expr import EvalError, evaluate, is_literal, names
from kgen.plan.instances import Instance, instances
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.statements import Statement, Variable

MOST_VARIABLES = 8
"""Beyond so many the corners are too many to try: 256."""


def refuted(plan: Plan, regime: RegimePlan, statement: Statement) -> str:
    """Where the statement is false, in words such as `B = 1, Q = 1`; empty where no corner says so.

    Whatever is refuted here `kgen.plan.decide.prove` does not prove either.
    """
    for instance in instances(plan, regime, statement):
        for point in _corners(instance):
            if _fails(instance, point):
                return instance.shown(point)
    return ""


def _corners(instance: Instance) -> Iterator[Mapping[str, int]]:
    """The least and the greatest value of each variable, in all combinations; nothing varies where the goal is known."""
    if is_literal(instance.goal):
        yield {}
        return
    used = _used(instance)
    if len(used) <= MOST_VARIABLES:
        choices = [("low", "high") if one.name in used else ("low",) for one in instance.variables]
        for ends in itertools.product(*choices):
            point = _point(instance.variables, ends)
            if point is not None:
                yield point


def _used(instance: Instance) -> frozenset[str]:
    """The variables that the goal or a condition mentions, or the range of one of those."""
    found = names(instance.goal).union(*map(names, instance.conditions))
    for one in reversed(instance.variables):
        if one.name in found:
            found |= names(one.low) | names(one.high)
    return found & {one.name for one in instance.variables}


def _point(variables: Sequence[Variable], ends: Sequence[str]) -> Mapping[str, int] | None:
    """The corner where each variable is at that end of its range; None where a range is empty or has no value."""
    point: dict[str, int] = {}
    try:
        for variable, end in zip(variables, ends):
            low, high = evaluate(variable.low, point), evaluate(variable.high, point)
            if low > high:
                return None
            point[variable.name] = low if end == "low" else high
    except EvalError:
        return None
    return point


def _fails(instance: Instance, point: Mapping[str, int]) -> bool:
    try:
        known = is_literal(instance.goal)
        inside = known or all(evaluate(one, point) for one in instance.conditions)
        return inside and not evaluate(instance.goal, point)
    except EvalError:
        return False
