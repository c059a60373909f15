"""Programs along rows that lie one behind the other, as programs of a row and of what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.algebra import (
    TRUE,
    Formula,
    Poly,
    Status,
    Verdict,
    conjunction,
    ge,
    lt,
    substitute,
    substitute_formula,
)
from kgen.algebra.formula import polynomials
from kgen.prove.facts import Launch
from kgen.prove.obligations.engine import MIDDLE, Engine
from kgen.prove.obligations.place import Place
from kgen.prove.obligations.rows import Count
from kgen.prove.obligations.rowwise import along_of
from kgen.prove.reader import Access


@dataclass(frozen=True)
class ByRows:
    """Two natural numbers in the place of a program's index: the row that it counts, and what its place lies behind the
    beginning of that row.

    The index is `begin(row) + inside`, and the count is `row + 1` there: `chosen` says that and that there is such a
    program. So they tell the index, and it tells them. `step` is where the row ends.
    """

    engine: Engine
    dim: str
    row: Poly
    inside: Poly
    values: Mapping[int, Poly]
    chosen: Formula
    step: Formula

    def at(self, formula: Formula) -> Formula:
        return substitute_formula(self.engine.space, formula, self.values)

    def number(self, poly: Poly) -> Poly:
        space = self.engine.space
        return substitute(space, space.concrete(poly), self.values)


def by_rows(
    engine: Engine,
    launch: Launch,
    programs: Mapping[str, Poly],
    polys: Sequence[Poly],
    given: Sequence[Formula],
) -> ByRows | None:
    """The change of variables for what depends on `polys`, where `given` holds; None without rows, or if an index may lie
    before the beginning of its row.
    """
    if not engine.rows.counts:
        return None
    for index in engine.space.closure(map(engine.space.concrete, polys)):
        count = engine.rows.count(index)
        if count is not None and count.result == Poly.variable(index):
            along = along_of(engine, count)
            dim = next((d for d, p in programs.items() if p == Poly.variable(along)), None)
            found = None if dim is None else _changed(engine, launch, dim, count, along)
            natural = count.begins(engine.space, count.result - 1, along)
            if found is None or natural is None:
                return None
            goal = conjunction(ge(count.result, 1), ge(Poly.variable(along), natural))
            return found if engine.soon_proves(goal) or engine.soon_proves(goal, *given) else None
    return None


def _changed(engine: Engine, launch: Launch, dim: str, count: Count, along: int) -> ByRows | None:
    space, name = engine.space, engine.text(count.result - 1)
    row, inside = (engine.digit(f"{name}: {what}") for what in ("row", "inside"))
    begin, end = (count.begins(space, r, along) for r in (row, row + 1))
    if begin is None or end is None:
        return None
    here = begin + inside
    (index,) = count.result.variables
    counted = [here if other == along else Poly.variable(other) for other in count.inputs]
    chosen = conjunction(
        count.last(space, row, counted),
        ge(here, 0),
        lt(here, space.concrete(launch.grid[dim])),
    )
    values = {index: row + 1, along: here}
    return ByRows(engine, dim, row, inside, values, chosen, lt(here, end))


def unrolled(engine: Engine, place: Place) -> Place:
    """The same access by rows, if its program counts any.

    Groups that count themselves are groups of programs, so where there are tickets the access stays as it is.
    """
    access = place.access
    given = access.mask, access.path
    found = by_rows(engine, place.launch, place.programs, list(_polys(access)), given)
    if found is None or place.tickets:
        return place
    access = replace(
        access,
        offset=found.number(access.offset),
        mask=found.at(access.mask),
        path=conjunction(found.at(access.path), found.chosen),
        loops=tuple(replace(loop, guard=found.at(loop.guard)) for loop in access.loops),
    )
    programs = {name: program for name, program in place.programs.items() if name != found.dim}
    fresh = {variable: TRUE for poly in (found.row, found.inside) for variable in poly.variables}
    statements = {**place.statements, **fresh}
    return replace(
        place, access=access, programs=programs, statements=statements, steps=(found.step,)
    )


def _polys(access: Access) -> Iterator[Poly]:
    yield access.offset
    for formula in (access.mask, access.path, *(loop.guard for loop in access.loops)):
        yield from polynomials(formula)


def proved_by_rows(
    engine: Engine,
    launch: Launch,
    programs: Mapping[str, Poly],
    goal: Formula,
    given: Sequence[Formula],
) -> Verdict | None:
    """The verdict on the same statement by rows, if it is a proof."""
    polys = [poly for formula in (goal, *given) for poly in polynomials(formula)]
    found = by_rows(engine, launch, programs, polys, given)
    if found is None:
        return None
    known = (*map(found.at, given), found.chosen)
    verdict = engine.decide(found.at(goal), *known, steps=MIDDLE, tries=0)
    return verdict if verdict.status is Status.PROVED else None
