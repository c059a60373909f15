"""Records of runs that no GPU made: the times are drawn here, so that a test knows what is true of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgen.evidence.plain import digest
from kgen.evidence.record import (
    Candidate,
    Check,
    Clock,
    Clocks,
    Environment,
    Limits,
    ProblemSource,
    Record,
    Settings,
    Shape,
    Source,
    SpecSource,
    Turn,
)

TEXTS = {
    "candidate": "def run(x):\n    return x + 1\n",
    "baseline": "def run(x):\n    return 1 + x\n",
    "incumbent": "def run(x):\n    return x - -1\n",
    "peer": "def run(x):\n    return x.add(1)\n",
}
ROLES = ("candidate", "baseline", "again", "incumbent", "peer")
Times = Mapping[str, Mapping[str, Sequence[float]]]
"""Seconds a call by candidate, shape and round."""


def candidate(role: str) -> Candidate:
    """The one candidate of a role; its name is its role."""
    text = TEXTS["baseline" if role == "again" else role]
    from kgen.render.hashes import core_sha256

    return Candidate(
        role=role,
        name=role,
        file=f"files/{'baseline' if role == 'again' else role}.py",
        bytes_sha256=digest(text),
        core_sha256=core_sha256(text),
        terms="",
        tolerance=None,
        unavailable="",
    )


def shape(name: str, **changes: object) -> Shape:
    """A shape that reads 4.096 MB and is cold."""
    found = Shape(
        name=name,
        axes={"T": 512, "WINDOW": None},
        runtime={"S": (7, 9)},
        regime="rows",
        fallback=(),
        bytes=4_096_000,
        operations=1_000_000,
        input_bytes=4_000_000,
        sets=32,
        cold=True,
        calls_per_graph=32,
    )
    return replace(found, **changes)


def record(times: Times, **changes: object) -> Record:
    """A complete record of these times; every candidate passes a check before and after."""
    shapes = {name: shape(name) for found in times.values() for name in found}
    sources = {digest(text): text for text in TEXTS.values()}
    turns = [
        Turn(role, name, index, (seconds, seconds))
        for role, found in times.items()
        for name, rounds in found.items()
        for index, seconds in enumerate(rounds)
    ]
    checks = [
        Check(role, name, seed, when, "passed", 0.25, ())
        for role, found in times.items()
        for name in found
        for seed, when in ((11, "before"), (12, "after"))
    ]
    clock = Clock(1980, 2619)
    found = Record(
        kind="measurement",
        schema=1,
        kgen="0.0.0",
        started="2026-05-31T12:00:00Z",
        seed=7,
        settings=Settings(0.015, 0.015, 40, 5, "graph", {"timeout_s": 300.0, "share": None}),
        environment=Environment(
            device="NVIDIA H200",
            sms=132,
            l2_bytes=62_914_560,
            driver="580.1",
            clocks=Clocks(clock, clock),
            cuda="13.0",
            torch="2.11.0",
            triton="3.6.0",
            ptxas="13.0",
            python="3.12.3",
        ),
        source=Source(SpecSource("rms_small", "rms_small.yaml", "a" * 64), "b" * 64, "c" * 40),
        problem=ProblemSource("rms_small", "kgen.families.norm.problem", "d" * 64),
        candidates=tuple(map(candidate, times)),
        sources=sources,
        limits=Limits(8e-7, 4.6e12, 7e14),
        shapes=tuple(shapes.values()),
        turns=tuple(turns),
        checks=tuple(checks),
        flags=(),
        failures=(),
        incomplete="",
    )
    return replace(found, **changes)
