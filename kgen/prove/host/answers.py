"""Answers to single questions about host code, and how several make one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgen.algebra import Status
from kgen.prove.host.trace import Path


@dataclass(frozen=True)
class Answer:
    """Whether something follows, and from which tests: `lines`, each from the entry inwards."""

    status: Status
    evidence: str
    lines: tuple[tuple[int, ...], ...] = ()


def all_hold(answers: Iterable[Answer], evidence: str) -> Answer:
    """The first that is not proved, refuted ones before others."""
    given = list(answers)
    for status in (Status.REFUTED, Status.UNKNOWN):
        for answer in given:
            if answer.status is status:
                return answer
    return Answer(Status.PROVED, evidence)


def trusted(answer: Answer, path: Path) -> Answer:
    """Behind what is not understood nothing is proved."""
    if answer.status is Status.PROVED and path.doubt:
        return Answer(Status.UNKNOWN, path.doubt)
    return answer


def refuted(evidence: str) -> Answer:
    """What is known to be wrong."""
    return Answer(Status.REFUTED, evidence)
