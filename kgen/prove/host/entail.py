"""What follows from the conditions that are known at a point of the host code."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kgen.algebra import LowerError, Space, Status, conjunction, decide, lower_condition
from kgen.algebra.verdict import QUICK_STEPS, STEPS, TRIES
from kgen.expr import Expr, Value
from kgen.expr import names as names_in
from kgen.prove.host.answers import Answer, all_hold, trusted
from kgen.prove.host.corners import corner
from kgen.prove.host.terms import conjuncts, settled
from kgen.prove.host.trace import Known, Path

_COUNTS = (".shape[", ".stride(", ".numel()", ".dim()", ".data_ptr()")
"""What marks the name of an integer that is at least 0."""


names = functools.lru_cache(maxsize=4096)(names_in)


def follows(
    goal: Expr, path: Path, scalars: Sequence[str] = (), *, suspect: bool = False
) -> Answer:
    """Whether `goal` holds wherever `path` leads; `scalars` may be none besides integers.

    What is refuted comes with values at which the path is taken and `goal` is false; of `suspect`
    goals these are looked for first. Behind a test that means nothing to kgen nothing is refuted,
    and behind what is not understood nothing is proved.
    """
    parts = [_follows(part, path.known, scalars, suspect) for part in conjuncts(goal)]
    lines = tuple(dict.fromkeys(itertools.chain.from_iterable(part.lines for part in parts)))
    answer = all_hold(parts, parts[0].evidence if parts else "true as it stands")
    if answer.status is Status.REFUTED and path.opaque:
        return Answer(Status.UNKNOWN, answer.evidence)
    answer = trusted(answer, path)
    return replace(answer, lines=lines) if answer.status is Status.PROVED else answer


def _follows(goal: Expr, known: Sequence[Known], scalars: Sequence[str], suspect: bool) -> Answer:
    for one in known:
        if one.condition == goal:
            return Answer(Status.PROVED, "tested as it stands", (one.lines,))
    answer = _decided(goal, known, scalars, suspect)
    plain = all(_is_count(one) or one in scalars for one in names(goal))
    if answer.status is Status.REFUTED and not plain:
        # dtypes, devices and types stand for integers here, whose values say nothing
        return Answer(Status.REFUTED, "no test says so")
    return answer


def _is_count(name: str) -> bool:
    return any(mark in name for mark in _COUNTS)


def _relevant(goal: Expr, known: Sequence[Known]) -> list[Known]:
    """The conditions that share a name with the goal, or with one that does."""
    wanted = set(names(goal))
    found: list[Known] = []
    while True:
        near = [one for one in known if one not in found and names(one.condition) & wanted]
        if not near:
            return found
        found += near
        wanted = wanted.union(*(names(one.condition) for one in near))


def _decided(goal: Expr, known: Sequence[Known], scalars: Sequence[str], suspect: bool) -> Answer:
    """From no test or one if that is enough, else from more and more of them.

    A short search for a proof comes first, then one for a counterexample, then both in full. Of
    `suspect` goals a counterexample is looked for first.
    """
    near = _relevant(goal, known)
    conditions = [one.condition for one in near]
    own = names(goal)
    wrong = corner(goal, conditions, scalars) if suspect else None
    if wrong is None:
        direct = [one for one in near if names(one.condition) <= own]
        for few in ([], *([one] for one in direct), direct):
            answer = _holds(goal, few, scalars, steps=QUICK_STEPS, tries=0)
            if answer.status is Status.PROVED:
                return replace(answer, lines=tuple(one.lines for one in few))
        wrong = None if suspect else corner(goal, conditions, scalars)
    if wrong is not None:
        return Answer(Status.REFUTED, _at(wrong, goal))
    answer = _holds(goal, near, scalars)
    return replace(answer, lines=tuple(one.lines for one in near if names(one.condition) & own))


def _at(values: Mapping[str, Value], goal: Expr) -> str:
    """Where `goal` is false, as far as it depends on that."""
    shown = [f"{one} = {value}" for one, value in values.items() if one in names(goal)]
    return f"false at {', '.join(shown)}" if shown else "false whatever the arguments are"


def _holds(
    goal: Expr,
    known: Sequence[Known],
    scalars: Sequence[str],
    *,
    steps: int = STEPS,
    tries: int = TRIES,
) -> Answer:
    """For scalars that are none and for those that are integers apart."""
    conditions = tuple(one.condition for one in known)
    mentioned = names(goal).union(*map(names, conditions))
    answers = [
        _holds_among(goal, conditions, absent, mentioned, steps, tries)
        for absent in _subsets([one for one in scalars if one in mentioned])
    ]
    return all_hold(answers, answers[0].evidence)


def _subsets(scalars: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(scalars) + 1):
        yield from itertools.combinations(scalars, size)


@functools.lru_cache(maxsize=4096)
def _holds_among(
    goal: Expr,
    conditions: tuple[Expr, ...],
    absent: tuple[str, ...],
    mentioned: frozenset[str],
    steps: int,
    tries: int,
) -> Answer:
    """The answer where exactly the scalars in `absent` are none."""
    space = Space()
    present = sorted(mentioned - set(absent))
    meanings = {one: space.axis(one, 0 if _is_count(one) else None) for one in present}
    given, missing = [], False
    for condition in conditions:
        try:
            given.append(lower_condition(settled(condition, absent), space, meanings))
        except LowerError:
            missing = True  # what is not known only makes a proof harder
    try:
        stated = lower_condition(settled(goal, absent), space, meanings)
    except LowerError as error:
        return Answer(Status.UNKNOWN, error.message)
    verdict = decide(space, stated, conjunction(*given), steps=steps, tries=tries)
    if verdict.certificate is not None:
        evidence = f"certificate of {len(verdict.certificate.steps)} steps"
        return Answer(Status.PROVED, evidence, certificates=(verdict.certificate,))
    if verdict.point is None or missing:
        return Answer(Status.UNKNOWN, verdict.text)
    values = {**dict.fromkeys(absent), **verdict.point.values}
    return Answer(Status.REFUTED, _at(values, goal))
