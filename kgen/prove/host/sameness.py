"""Whether a value of the emitted file is what its plan says."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.algebra import Status
from kgen.expr import Expr, to_python
from kgen.prove.host.answers import Answer, refuted
from kgen.prove.host.entail import follows
from kgen.prove.host.terms import TRUE, all_of, any_of, equal, negation
from kgen.prove.host.trace import Path
from kgen.prove.host.values import Choice, Data, Derived, Static, Unknown, Value


def same(
    value: Value, wanted: Expr | Choice, path: Path, what: str, scalars: Sequence[str]
) -> Answer:
    """Whether a value of the file is what the plan says, wherever the path leads."""
    if isinstance(value, (Data, Derived)):
        return refuted(f"{what} depends on GPU data: {value.why}")
    ways = _ways(value)
    if ways is None:
        return Answer(Status.UNKNOWN, f"{what} is {said(value)}, which is not understood")
    planned = _ways(wanted if isinstance(wanted, Choice) else Static(wanted))
    goal = all_of(
        any_of((negation(one), negation(other), equal(left, right)))
        for one, left in ways
        for other, right in planned
    )
    answer = follows(goal, path, scalars, suspect=True)
    if answer.status is Status.PROVED:
        return answer
    here, there = _printed(ways), _printed(planned)
    return Answer(answer.status, f"{what} is {here}; the plan has {there}: {answer.evidence}")


def _ways(value: Value) -> list[tuple[Expr, Expr]] | None:
    """A value as (condition, meaning) of each way that it can come out."""
    match value:
        case Static(meaning) if meaning is not None:
            return [(TRUE, meaning)]
        case Choice(condition, Static(then), Static(otherwise)) if then and otherwise:
            return [(condition, then), (negation(condition), otherwise)]
    return None


def _printed(ways: list[tuple[Expr, Expr]]) -> str:
    if len(ways) == 1:
        return to_python(ways[0][1])
    return f"{to_python(ways[0][1])} if {to_python(ways[0][0])} else {to_python(ways[1][1])}"


def said(value: Value) -> str:
    """A value in a sentence."""
    match value:
        case Static(meaning) if meaning is not None:
            return to_python(meaning)
        case Data(why) | Derived(why) | Unknown(why):
            return why
    return "a value"
