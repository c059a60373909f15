"""The types of integer parameters are what the kernel was read with.

An annotation such as `tl.int64` says the type. Where there is none, Triton takes 32 bits for every value that has room
in them, so the same kernel computes some calls in 32 bits and others in 64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgen.algebra import Formula, Poly, Status, conjunction, ge, le
from kgen.prove.facts import IntegerArgument, Launch
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.model import Obligation
from kgen.prove.ttir import Function

SUBJECT = "argument types"


def argument_types(
    engine: Engine, launcher: str, launch: Launch, function: Function
) -> Iterator[Obligation]:
    """One obligation for each integer parameter of a launch, if its annotations are known."""
    if launch.annotations is None:
        return
    for (name, argument), (_, kind) in zip(launch.arguments.items(), function.arguments):
        if isinstance(argument, IntegerArgument):
            given = launch.annotations.get(name, "")
            status, evidence = _decided(engine, given, argument.value, kind.bits or 0)
            says = f"every call passes {name} as {kind.element}"
            yield Obligation(
                launcher, launch.function, SUBJECT, says, status, evidence, launch.line
            )


def narrow(launch: Launch) -> tuple[str, ...]:
    """The integer parameters without an annotation."""
    return tuple(
        name
        for name, argument in launch.arguments.items()
        if isinstance(argument, IntegerArgument) and name not in (launch.annotations or {})
    )


def in_32_bits(value: Poly) -> Formula:
    """Where Triton takes 32 bits for a value."""
    return conjunction(ge(value, -(2**31)), le(value, 2**31 - 1))


def _decided(engine: Engine, given: str, value: Poly, bits: int) -> tuple[Status, str]:
    found = re.fullmatch(r"tl\.int(\d+)", given)
    if found and int(found.group(1)) == bits:
        return Status.PROVED, f"its annotation is {given}"
    if given:
        return Status.UNKNOWN, f"its annotation is {given}"
    if bits == 32 and engine.proves(in_32_bits(value)):
        return Status.PROVED, "it has no annotation, and its values have room in 32 bits"
    return (
        Status.UNKNOWN,
        "it has no annotation, so Triton takes 32 bits for some values, 64 for others",
    )
