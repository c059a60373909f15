"""Several statements as one: stores of even and odd elements, of the halves of a row, or in the ways of a branch.

Where statement k accesses `first + k * step`, the number of the statement is one more variable of the program, and one
access stands for all. Where they access the same and no two of them run at once, it is one access that runs where some
statement does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from kgen.algebra import Formula, Poly, conjunction, conjuncts, disjunction, ge, lt, ne, negate
from kgen.prove.obligations.digits import NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.place import Place

MOST = 4


def as_one(engine: Engine, found: Sequence[Place]) -> Place:
    """All the statements as one. Raises NotDigits where they are not followed, and for atomic ones: what these add to is
    not known.
    """
    lines = ", ".join(str(place.access.line) for place in found)
    if any(place.access.kind == "atomic" for place in found):
        raise NotDigits(f"an atomic operation does it, in line {lines}")
    if len(found) == 1:
        return found[0]
    joined = None
    if len(found) <= MOST and len({_kind(place) for place in found}) == 1:
        joined = _in_steps(engine, found) or _one_at_a_time(engine, found)
    if joined is None:
        raise NotDigits(f"several statements do it, in lines {lines}")
    return joined


def _kind(place: Place) -> tuple:
    """What statements have in common that are parts of one."""
    access = place.access
    return place.number, access.shape, access.loops, access.element


def _in_steps(engine: Engine, found: Sequence[Place]) -> Place | None:
    """The statements with their number as a variable, if each is the same step behind the one before."""
    if len({place.access.path for place in found}) > 1:
        return None
    for order in itertools.permutations(found):
        offsets = [engine.space.concrete(place.access.offset) for place in order]
        steps = {after - before for before, after in itertools.pairwise(offsets)}
        if len(steps) == 1 and _forward(engine, *steps):
            return _numbered(engine, order, offsets[0], steps.pop())
    return None


def _forward(engine: Engine, step: Poly) -> bool:
    """Whether a step leads on. A stride does: where it is 0, no coordinate tells its statements apart."""
    return engine.proves(ge(step, 1 if step.constant is not None else 0))


def _numbered(engine: Engine, order: Sequence[Place], offset: Poly, step: Poly) -> Place:
    first = order[0]
    number = engine.digit(f"{first.access.tensor}'s statement of {len(order)}")
    (index,) = number.variables
    within = conjunction(ge(number, 0), lt(number, len(order)))
    each = (disjunction(ne(number, k), place.access.mask) for k, place in enumerate(order))
    masks = {place.access.mask for place in order}
    mask = masks.pop() if len(masks) == 1 else conjunction(*each)
    offset, mask = offset + step * number, conjunction(within, mask)
    access = replace(first.access, offset=offset, mask=mask)
    return replace(first, access=access, statements={**first.statements, index: within})


def _one_at_a_time(engine: Engine, found: Sequence[Place]) -> Place | None:
    """The statements as one that runs where some of them does, if they access the same and never together."""
    offsets = {engine.space.concrete(place.access.offset) for place in found}
    paths = [frozenset(conjuncts(place.access.path)) for place in found]
    common = frozenset.intersection(*paths)
    path = conjunction(*(part for part in conjuncts(found[0].access.path) if part in common))
    where = [_where(place, common) for place in found]
    apart = (
        engine.proves(negate(other), one, path) for one, other in itertools.combinations(where, 2)
    )
    if len(offsets) > 1 or not all(apart):
        return None
    access = replace(found[0].access, path=path, mask=disjunction(*where))
    return replace(found[0], access=access)


def _where(place: Place, common: frozenset[Formula]) -> Formula:
    """Where a statement runs, beside what holds for all of them."""
    own = (part for part in conjuncts(place.access.path) if part not in common)
    return conjunction(*own, place.access.mask)
