"""Masks that are always true cost time and hide what they were meant for; ones that never are hide what is missing.

They are no danger, so they are findings for the template's author and not obligations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgen.algebra import Formula, conjunction, conjuncts, find_point, negate
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
    known: dict[tuple[Formula, Formula], tuple[bool, bool]] = {}
    for access in reading.accesses:
        for number, condition in enumerate(conjuncts(access.mask)):
            key = (condition, access.path)
            if key not in known:
                always = _forced(engine, condition, access.path)
                never = not always and _forced(engine, negate(condition), access.path)
                known[key] = always, never
            says = engine.text(condition)
            yield MaskVerdict(kernel, access.line, access.tensor, number, says, *known[key])


def _forced(engine: Engine, condition: Formula, path: Formula) -> bool:
    """Whether the condition holds wherever the path leads; a point where it does not is looked for first."""
    against = conjunction(negate(condition), path, engine.relevant(condition, path))
    if find_point(engine.space, against, tries=TRIES) is not None:
        return False
    return engine.proves(condition, path, steps=STEPS)
