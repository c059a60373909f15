"""Places in rows: as a row's number and what lies before the place in that row (`kgen.prove.obligations.rows`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgen.algebra import Formula, Poly, ge, lt, substitute_formula
from kgen.algebra.formula import polynomials
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.rows import Count


@dataclass(frozen=True)
class InRow:
    """A place `inside` after the beginning of row number `row` and before that of the next, by one count."""

    count: Count
    row: Poly
    inside: Poly


def in_row(engine: Engine, place: Poly, given: Sequence[Formula]) -> InRow | None:
    """In which row a place is wherever `given` holds; None where there are no rows, or it is not seen to be in one.

    The row is the last one that a count along all rows counts at this place, so no place is in two.
    """
    for count in engine.rows.counts.values():
        along = along_of(engine, count)
        for row in _candidates(engine, count, along, place):
            begin = count.begins(engine.space, row, along)
            if begin is not None and _is_last(engine, count, along, row, place, given):
                return InRow(count, row, place - begin)
    return None


def along_of(engine: Engine, count: Count) -> int:
    """The input that is a place among the rows, the one that the condition depends on; -1 if it depends on others."""
    closure = engine.space.closure(polynomials(count.condition))
    found = [index for index in count.inputs if index in closure]
    return found[0] if len(found) == 1 else -1


def _candidates(engine: Engine, count: Count, along: int, place: Poly) -> Iterator[Poly]:
    """Rows that a place may be in: the one that the kernel found, or one whose beginning is a part of the place."""
    if place == Poly.variable(along):
        yield count.result - 1
    for row in engine.rows.lanes(place):
        begin = count.begins(engine.space, row, along)
        if begin is not None and not any(engine.rows.lanes(place - begin)):
            yield row


def _is_last(
    engine: Engine, count: Count, along: int, row: Poly, place: Poly, given: Sequence[Formula]
) -> bool:
    """Whether the row is the last one that is counted at the place; the row that was counted there is, if there is one."""
    if place == Poly.variable(along):
        return engine.soon_proves(ge(row, 0), *given)
    space = engine.space
    values = [place if index == along else Poly.variable(index) for index in count.inputs]
    begun = ge(place, count.begins(space, row, along))
    known = [begun] if engine.soon_proves(begun, *given) else []
    known += before_the_next(engine, place, given)
    return engine.soon_proves(count.last(space, row, values), *given, *known)


def compared(
    engine: Engine,
    name: str,
    one: Poly,
    other: Poly,
    given: tuple[Sequence[Formula], Sequence[Formula]],
) -> list[tuple[str, Poly, Poly]]:
    """What has to be equal for two coordinates to be: these, or, of places in rows, the rows and where they are in these."""
    mine, its = (in_row(engine, place, where) for place, where in zip((one, other), given))
    if mine is None or its is None or mine.count != its.count:
        return [(name, one, other)]
    return [(f"{name}'s row", mine.row, its.row), (name, mine.inside, its.inside)]


def before_the_next(engine: Engine, place: Poly, given: Sequence[Formula]) -> Iterator[Formula]:
    """That a place lies before the beginning of the row behind its own: a step on the way to where all rows end."""
    for count in engine.rows.counts.values():
        along = along_of(engine, count)
        for row in _candidates(engine, count, along, place):
            begin, end = (count.begins(engine.space, one, along) for one in (row, row + 1))
            if begin is None or end is None:
                continue
            goal = lt(place, end)
            if _for_any_length(engine, begin, end, goal, given) or engine.soon_proves(goal, *given):
                yield goal
                return


def _for_any_length(
    engine: Engine, begin: Poly, end: Poly, goal: Formula, given: Sequence[Formula]
) -> bool:
    """Whether the goal is proved whatever the length of the row, if it is not 0: a number that nothing else is known of
    stands for `end - begin`, in the place of a variable that only `end` has.
    """
    space = engine.space
    begin, end = space.concrete(begin), space.concrete(end)
    own = [v for v in sorted(end.variables - begin.variables) if end.split(v)[0].constant == 1]
    if not own or not engine.soon_proves(ge(end - begin, 1)):
        return False
    length = engine.digit(f"{engine.text(end - begin)}: length")
    values = {own[-1]: begin + length - (end - Poly.variable(own[-1]))}
    goal, *given = (substitute_formula(space, one, values) for one in (goal, *given))
    return engine.soon_proves(goal, *given, ge(length, 1))
