"""Compares resources with limits and says what a person should act on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from kgen.compile.job import Job
from kgen.compile.resources import Resources
from kgen.devices import Target
from kgen.devices import target as find_target
from kgen.diagnostics import Diagnostic, Place, Severity

PlaceOf = Callable[[Job], Place]


@dataclass(frozen=True)
class Limits:
    """The most that a kernel may take. What is None isn't limited beyond the target's own limits.

    `registers` and `spill_bytes` a thread, `shared_bytes` a CTA.
    """

    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None

    @classmethod
    def from_mapping(cls, limits: Mapping[str, int]) -> Limits:
        """From a spec's or manifest's `limits`. Raises ValueError for a name that isn't one."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(limits) - set(known)):
            raise ValueError(f"unknown limits {', '.join(unknown)}; known are {', '.join(known)}")
        return cls(**limits)


def report(
    results: Iterable[tuple[Job, Resources]],
    limits: Limits,
    targets: Collection[str],
    place_of: PlaceOf,
) -> list[Diagnostic]:
    """One diagnostic for each thing that went wrong or is over a limit, in the results' order.

    For a target in `targets` (the spec's) it is a finding, for any other it is information.
    `place_of` says where in the spec the kernel's launch stands; a refused kernel's line in the
    generated file is in the message.
    """
    found = []
    for job, resources in results:
        severity = Severity.FINDING if job.target in targets else Severity.INFO
        for code, message, hint in _problems(job, resources, limits):
            found.append(Diagnostic(code, message, place_of(job), hint, severity=severity))
    return found


Problem = tuple[str, str, str]


def _problems(job: Job, resources: Resources, limits: Limits) -> Iterator[Problem]:
    """(code, message, hint) of each problem."""
    if resources.status != "compiled":
        yield _not_compiled(job, resources)
        return
    target = find_target(job.target)
    yield from _shared(job, resources, limits, target)
    yield from _tensor_memory(job, resources, target)
    yield from _spills(job, resources, limits)
    yield from _registers(job, resources, limits)


def _not_compiled(job: Job, resources: Resources) -> Problem:
    if resources.status == "refused":
        where = f" ({job.source.name}:{resources.line})" if resources.line else ""
        return (
            "KG602",
            f"{job} is refused by the compiler{where}: {resources.message}",
            "change what the reason names; if this target can't do it, take it out of `targets`",
        )
    if resources.status == "timeout":
        return (
            "KG604",
            f"{job} was not compiled: {resources.message}",
            "take a smaller tile or fewer unrolled iterations, or allow more time",
        )
    return (
        "KG603",
        f"{job} crashed the compiler: {resources.message}",
        "change the tile, num_warps or num_stages, or try another version of Triton",
    )


def _shared(job: Job, resources: Resources, limits: Limits, target: Target) -> Iterator[Problem]:
    taken, most, whose = (
        resources.shared_bytes,
        target.shared_bytes,
        f"a CTA on {target.name} can have",
    )
    if limits.shared_bytes is not None and limits.shared_bytes < most:
        most, whose = limits.shared_bytes, "limits.shared_bytes allows"
    if taken > most:
        fatal = "; Triton compiles it all the same, and the launch fails"
        yield (
            "KG605",
            f"{job} takes {taken:,} bytes of shared memory, {taken - most:,} more than the "
            f"{most:,} that {whose}{fatal if taken > target.shared_bytes else ''}",
            "lower num_stages or the tile: shared memory is about stages x tile x element size",
        )


def _tensor_memory(job: Job, resources: Resources, target: Target) -> Iterator[Problem]:
    if resources.tmem_columns > target.tmem_columns:
        yield (
            "KG606",
            f"{job} takes {resources.tmem_columns} columns of tensor memory, "
            f"an SM of {target.name} has {target.tmem_columns}; the launch fails",
            "lower the tile of the accumulator",
        )


def _spills(job: Job, resources: Resources, limits: Limits) -> Iterator[Problem]:
    if limits.spill_bytes is None:
        return
    if resources.spill_bytes is None:
        yield (
            "KG609",
            f"{job}: limits.spill_bytes was not checked: the compiler didn't say what it spills",
            "compile again with an empty cache",
        )
    elif resources.spill_bytes > limits.spill_bytes:
        yield (
            "KG607",
            f"{job} spills {resources.spill_bytes:,} bytes a thread "
            f"with {resources.registers} registers; limits.spill_bytes is {limits.spill_bytes:,}",
            "take more warps or a smaller tile, so that a thread holds less; or raise the limit",
        )


def _registers(job: Job, resources: Resources, limits: Limits) -> Iterator[Problem]:
    if limits.registers is not None and resources.registers > limits.registers:
        yield (
            "KG608",
            f"{job} takes {resources.registers} registers a thread; "
            f"limits.registers is {limits.registers}",
            "take more warps or a smaller tile; or raise the limit",
        )
