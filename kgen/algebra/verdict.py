"""Verdicts: what the engine says of a statement, with the evidence for it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from kgen.algebra.certificate import Certificate
from kgen.algebra.checker import check
from kgen.algebra.formula import FALSE, TRUE, Formula, conjunction, negate
from kgen.algebra.point import Point, find_point
from kgen.algebra.search import prove
from kgen.algebra.space import Space
from kgen.algebra.text import formula_text

QUICK_STEPS = 200
QUICK_TRIES = 12
STEPS = 4000
TRIES = 200


class Status(enum.StrEnum):
    """`unknown` is never good: it means that neither a proof nor a counterexample was found."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class CertificateError(AssertionError):
    """The checker refuses what the search found: a mistake in kgen, and no proof."""


@dataclass(frozen=True)
class Verdict:
    """What is known of `goal` at the points where `given` holds.

    `certificate` is there exactly if the status is `proved`, `point` exactly if it is `refuted`,
    and then `against` is what holds there. `text` says all of it to people. It is made of `says` when it is asked for: proofs outnumber
    their readers.
    """

    status: Status
    says: str | Callable[[], str]
    certificate: Certificate | None = None
    point: Point | None = None
    against: Formula = TRUE

    @cached_property
    def text(self) -> str:
        """What is known, in words."""
        return self.says if isinstance(self.says, str) else self.says()

    @property
    def proved(self) -> bool:
        """Whether the goal is certain."""
        return self.status is Status.PROVED

    def __bool__(self) -> bool:
        raise TypeError("a verdict is not true or false: compare its status")


def decide(
    space: Space,
    goal: Formula,
    given: Formula = TRUE,
    *,
    steps: int = STEPS,
    tries: int = TRIES,
    closed: frozenset[int] = frozenset(),
) -> Verdict:
    """Whether `goal` holds at every point of `space` where `given` does.

    A short search for a proof comes first, then a short one for a counterexample, then both in
    full, unless that is the same: `steps` and `tries` bound the effort. Of the variables in `closed` a proof uses the bounds
    and not the definition, which keeps it from getting lost there. If `given` holds nowhere,
    everything is proved; `contradictory` tells.
    """
    efforts = ((min(steps, QUICK_STEPS), min(tries, QUICK_TRIES)), (steps, tries))
    for share, draws in dict.fromkeys(efforts if tries else efforts[1:]):
        attempt = prove(space, goal, given, share, closed)
        if attempt.certificate is not None:
            return _proved(attempt.certificate)
        against = conjunction(given, negate(goal))
        for suspicion in (conjunction(attempt.suspicion, against), against) if draws else ():
            point = find_point(space, suspicion, tries=draws)
            if point is not None:
                says = partial(_refuted, space, goal, given, point)
                return Verdict(Status.REFUTED, says, point=point, against=against)
    return Verdict(Status.UNKNOWN, partial(_unknown, space, goal, given, steps, tries))


def _refuted(space: Space, goal: Formula, given: Formula, point: Point) -> str:
    return f"refuted: {_statement(space, goal, given)} is false at {point}"


def _unknown(space: Space, goal: Formula, given: Formula, steps: int, tries: int) -> str:
    statement = _statement(space, goal, given)
    text = f"unknown: neither a proof nor a counterexample of {statement}"
    return f"{text} in {steps} steps and {tries} tries"


def contradictory(space: Space, formula: Formula, *, steps: int = STEPS) -> Certificate | None:
    """A certificate that `formula` holds at no point of `space`, or None where none was found."""
    certificate = prove(space, FALSE, formula, steps).certificate
    return None if certificate is None else checked(certificate)


def _proved(certificate: Certificate) -> Verdict:
    return Verdict(Status.PROVED, partial(_said, checked(certificate)), certificate=certificate)


def _said(certificate: Certificate) -> str:
    statement = _statement(certificate.space, certificate.goal, certificate.given)
    return f"proved in {len(certificate.steps)} steps: {statement}"


def checked(certificate: Certificate) -> Certificate:
    """The certificate itself. Raises CertificateError if the checker refuses it."""
    if not check(certificate):
        statement = _statement(certificate.space, certificate.goal, certificate.given)
        raise CertificateError(f"the checker refuses a proof of {statement}: a mistake in kgen")
    return certificate


def _statement(space: Space, goal: Formula, given: Formula) -> str:
    text = formula_text(space, goal)
    return text if given == TRUE else f"{text}, given {formula_text(space, given)}"
