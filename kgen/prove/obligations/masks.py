"""Masks that are always true cost time and hide what they were meant for; ones that never are hide what is missing.

They are no danger, so they are findings for the template's author and not obligations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kgen.algebra import Formula, conjunction, conjuncts, find_point, negate, some_points
from kgen.algebra.definitions import Unknown
from kgen.algebra.formula import polynomials
from kgen.algebra.valuation import Valuation
from kgen.prove.obligations.engine import Engine
from kgen.prove.reader import Reading

TRIES = 12
STEPS = 300


@dataclass(frozen=True)
class MaskVerdict:
    """One condition of a mask in one world: `always` or `never` true, or neither."""

    kernel: str
    line: int
    tensor: str
    number: int
    says: str
    always: bool
    never: bool


def masks(engine: Engine, kernel: str, reading: Reading) -> Iterator[MaskVerdict]:
    """What is known of each condition of each mask."""
    known = {
        (path, condition): verdict
        for path, conditions in _conditions(reading).items()
        if conditions
        for condition, verdict in _verdicts(engine, path, conditions)
    }
    for access in reading.accesses:
        for number, condition in enumerate(conjuncts(access.mask)):
            says = engine.text(condition)
            verdict = known[access.path, condition]
            yield MaskVerdict(kernel, access.line, access.tensor, number, says, *verdict)


def _conditions(reading: Reading) -> dict[Formula, dict[Formula, None]]:
    """The conditions of all masks, each once, by the path to them."""
    found: dict[Formula, dict[Formula, None]] = {}
    for access in reading.accesses:
        found.setdefault(access.path, {}).update(dict.fromkeys(conjuncts(access.mask)))
    return found


def _verdicts(
    engine: Engine, path: Formula, conditions: Iterable[Formula]
) -> Iterator[tuple[Formula, tuple[bool, bool]]]:
    """Whether each condition is always, or never, true on the path. A few points that may lead there decide most of them.

    Of a path that nothing takes it is neither.
    """
    concrete = {one: engine.space.concrete_formula(one) for one in conditions}
    seen: dict[Formula, set[bool | None]] = {one: set() for one in concrete}
    for point in _points(engine, path, concrete):
        for condition, meant in concrete.items():
            seen[condition].add(point.formula(meant))
        if all({True, False} <= values for values in seen.values()):
            break
    if not _told(engine, path, seen) and engine.never(path):
        yield from ((condition, (False, False)) for condition in seen)
        return
    for condition, values in seen.items():
        always = False not in values and _forced(engine, condition, path)
        never = not always and True not in values and _forced(engine, negate(condition), path)
        yield condition, (always, never)


def _told(engine: Engine, path: Formula, seen: Mapping[Formula, set[bool | None]]) -> bool:
    """Whether points tell that the path is taken, or all that is asked of the conditions."""
    if all({True, False} <= values for values in seen.values()):
        return True
    return any(seen.values()) and _visible(engine, path) == path


def _points(engine: Engine, path: Formula, conditions: Iterable[Formula]) -> Iterator[Valuation]:
    """Points that nothing known keeps off the path, with values for all that the conditions depend on."""
    every = conjunction(*conditions)
    where = _visible(engine, conjunction(path, engine.relevant(every, path)))
    return some_points(engine.space, where, polynomials(every), tries=TRIES)


def _visible(engine: Engine, formula: Formula) -> Formula:
    """The parts of a conjunction that have a value at points: no point says anything of what is not known."""
    space = engine.space
    return conjunction(
        *(
            part
            for part in conjuncts(formula)
            if not any(
                isinstance(space[index].definition, Unknown)
                for index in space.closure(polynomials(part))
            )
        )
    )


def _forced(engine: Engine, condition: Formula, path: Formula) -> bool:
    """Whether the condition holds wherever the path leads; a point where it may not is looked for first."""
    where = _visible(engine, conjunction(path, engine.relevant(condition, path)))
    against = conjunction(negate(condition), where)
    if find_point(engine.space, against, tries=TRIES) is not None:
        return False
    return engine.proves(condition, path, steps=STEPS)
