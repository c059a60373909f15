"""Everything in a kernel is understood: no operation, address or branch that the reader could not follow."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.algebra import Status
from kgen.prove.obligations.model import Obligation
from kgen.prove.reader import Reading

SUBJECT = "understood"


def understood(launcher: str, kernel: str, reading: Reading) -> Iterator[Obligation]:
    """One obligation for the whole kernel, or one for each obstacle."""
    for obstacle in reading.obstacles:
        says = f"{obstacle.operation.name} is followed"
        evidence = f"{obstacle.reason}: {obstacle.operation.text}"
        line = obstacle.operation.line
        yield Obligation(launcher, kernel, SUBJECT, says, Status.UNKNOWN, evidence, line)
    if not reading.obstacles:
        count = len(reading.accesses)
        evidence = f"{count} memory accesses were read"
        yield Obligation(
            launcher, kernel, SUBJECT, "every operation is followed", Status.PROVED, evidence
        )
