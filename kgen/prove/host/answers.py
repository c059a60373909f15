"""Answers to single questions about host code, and how several make one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kgen.algebra import Certificate, Status
from kgen.prove.host.trace import Path


@dataclass(frozen=True)
class Answer:
    """Whether something follows, and from which tests: `lines`, each from the entry inwards.

    `certificates` are the proofs that it rests on, none where it was read off the text.
    """

    status: Status
    evidence: str
    lines: tuple[tuple[int, ...], ...] = ()
    certificates: tuple[Certificate, ...] = field(default=(), compare=False)


def all_hold(answers: Iterable[Answer], evidence: str) -> Answer:
    """The first that is not proved, refuted ones before others; if all are, with every certificate."""
    given = list(answers)
    for status in (Status.REFUTED, Status.UNKNOWN):
        for answer in given:
            if answer.status is status:
                return answer
    certificates = tuple(dict.fromkeys(c for answer in given for c in answer.certificates))
    return Answer(Status.PROVED, evidence, certificates=certificates)


def trusted(answer: Answer, path: Path) -> Answer:
    """Behind what is not understood nothing is proved."""
    if answer.status is Status.PROVED and path.doubt:
        return Answer(Status.UNKNOWN, path.doubt)
    return answer


def refuted(evidence: str) -> Answer:
    """What is known to be wrong."""
    return Answer(Status.REFUTED, evidence)
