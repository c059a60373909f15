"""No integer wraps around where it matters: in an address that is used, or in what decides which are.

An operation leaves a need where its result might not be the mathematical value. A need that reaches the offset of an
access has to hold where that access touches memory; a masked lane may wrap as it likes. One that reaches a mask, a
branch or a loop's bounds has to hold wherever the operation runs, for everything else rests on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgen.algebra import Formula, Status, Verdict
from kgen.prove.facts import Launch
from kgen.prove.obligations.bounds import inside, is_inside, reached
from kgen.prove.obligations.engine import Engine, left_open
from kgen.prove.obligations.model import Obligation, Suspicion
from kgen.prove.obligations.unrolled import proved_by_rows
from kgen.prove.reader import Access, Need, Reading
from kgen.prove.reader.record import DIVIDES
from kgen.prove.ttir import Operation

SUBJECT = "widths"
WORDS = {
    "muli": "product",
    "addi": "sum",
    "subi": "difference",
    "trunci": "narrowed value",
    "extsi": "widened value",
    "extui": "widened value",
    "addptr": "offset",
    "cmpi": "comparison",
    "divsi": "division",
    "divui": "division",
    "remsi": "division",
    "remui": "division",
    "ceildivsi": "division",
    "ceildivui": "division",
    "for": "loop",
}


def widths(
    engine: Engine, launcher: str, number: int, launch: Launch, reading: Reading
) -> Iterator[Obligation]:
    """One obligation for each operation of launch `number` whose result matters."""
    for index, need in enumerate(reading.needs):
        control = any(index in access.control_needs for access in reading.accesses)
        users = [access for access in reading.accesses if index in access.needs]
        if control or users:
            status, evidence, open_ = _decided(engine, launch, reading, need, users, control)
            programs, line = tuple(reading.programs.values()), need.operation.line
            kind = "no value" if need.says == DIVIDES else "wraps"
            suspicion = None
            if open_ is not None and open_.point is not None:
                place = (kind, number, programs, "", line)
                suspicion = Suspicion(*place, open_.point, open_.against)
            says = f"{_thing(need.operation)} {need.says.removeprefix('it ')}"
            head = (launcher, launch.function, SUBJECT, says, status, evidence, line, "")
            yield Obligation(*head, suspicion, (kind,))


def _thing(operation: Operation) -> str:
    """What an operation computes, and the name that TTIR keeps from the source."""
    what = WORDS.get(operation.name.partition(".")[2], operation.name)
    name = (
        re.fullmatch(r"%?([A-Za-z]\w*?)(?:_\d+)?", operation.results[0])
        if operation.results
        else None
    )
    return f"the {what} for {name.group(1)}" if name else f"a {what}"


def _decided(
    engine: Engine,
    launch: Launch,
    reading: Reading,
    need: Need,
    users: list[Access],
    control: bool,
) -> tuple[Status, str, Verdict | None]:
    places = [(need.path,)] if control else [_place(engine, access, need) for access in users]
    steps = 0
    for place in places:
        verdict = proved_by_rows(engine, launch, reading.programs, need.formula, place)
        if verdict is None:
            verdict = engine.decide(need.formula, *place)
        if verdict.status is not Status.PROVED:
            what = (
                "the value decides a mask, a branch or a loop"
                if control
                else "the value is an address"
            )
            return Status.UNKNOWN, f"{what}; {left_open(verdict)}", verdict
        steps += len(verdict.certificate.steps)
    return Status.PROVED, f"certificate of {steps} steps", None


def _place(engine: Engine, access: Access, need: Need) -> tuple[Formula, ...]:
    """Where the access touches memory; that it stays inside is used only where it is proved."""
    known = (inside(engine, access),) if is_inside(engine, access) else ()
    return (*known, *reached(access), need.path)
