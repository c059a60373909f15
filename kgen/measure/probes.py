"""What a candidate must not do, tried out call by call before anything is timed.

Every probe asks a question that an honest file passes whatever it caches: the same data again, other data in the same
memory, inputs that are written just before the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch

from kgen.measure.trial import Outputs, Query, Trial
from kgen.measure.verdict import Verdict
from kgen.runner.fill import fill
from kgen.runner.outputs import WrongReturn, aliases
from kgen.runner.poison import poison_byte, storage_bytes
from kgen.runner.results import Failure
from kgen.runner.snapshot import Snapshot
from kgen.runner.variants import rotations

GROWTH_CALLS = 8
GROWTH_LEAST = 3
"""How many of the calls after the second must take more memory before it counts as growth."""


@dataclass
class Findings:
    """What probes found; a check is (seed, verdict), and `skipped` holds (seed, why) of those that could not be run."""

    checks: list[tuple[int, Verdict]] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)

    def check(self, query: Query, found: Verdict) -> None:
        """Keeps a check, and its flag."""
        self.checks.append((query.seed, found))
        self.flag(found.flag, found.message)

    def skip(self, query: Query, probe: str, why: str) -> None:
        """Keeps that a probe was not run."""
        self.skipped.append((query.seed, f"{probe}: {why}"))

    def flag(self, flag: str, message: str) -> None:
        """Raises a flag; the first message of each is kept."""
        if flag:
            self.flags.setdefault(flag, message)


def examine(trial: Trial, first: Query, seeds: Sequence[int]) -> Findings:
    """All probes at one shape. `first` has been called before; `seeds` are three fresh ones.

    Afterwards the memory of `first` holds other values of the same case.
    """
    found = Findings()
    _poisoned(trial, first, found)
    second = trial.ask(seeds[0])
    _after_another(trial, first, second, found)
    _same_addresses(trial, first, seeds[1:], found)
    _hurried(trial, first, second, found)
    _kernels(trial, [first, second], found)
    trial.refill(first, second)
    return found


def _poisoned(trial: Trial, query: Query, found: Findings) -> None:
    """A call whose allocations hold poison: it must write all, change nothing and return memory of its own."""
    tensors = query.held
    updated = [name for name in query.expected if name in tensors]
    _spoil(trial.call(query), tensors)
    before = Snapshot(tensors)
    try:
        result = trial.poisoned(lambda: trial.candidate.call(query.arguments))
        outputs = trial.named(result, query)
    except WrongReturn as error:
        failure = Failure("KG707", str(error))
        found.check(query, Verdict((failure,), float("inf"), "wrong_output"))
        return
    changes = before.changes(updated)
    if changes:
        where = f" at element {list(changes[0].element)}" if changes[0].element else ""
        found.flag("input_changed", f"input {changes[0].argument!r} was changed{where}")
    for failure in aliases(outputs, tensors):
        found.flag("output_aliases_input", failure.message)
    judged = trial.judge(outputs, query)
    found.check(query, _blamed(trial, judged, query, "depends_on_previous_call"))


def _spoil(outputs: Outputs, tensors: dict[str, object]) -> None:
    """Overwrites what a call returned, as its caller may; the next call gets that memory, or writes it anew."""
    shared = {id(one) for one in tensors.values()}
    taken = {failure.tensor for failure in aliases(outputs, tensors)}
    for name, output in outputs.items():
        if id(output) not in shared and name not in taken and output.numel():
            byte = poison_byte(output.dtype)
            if output.is_contiguous() and output.untyped_storage().nbytes() == output.nbytes:
                storage_bytes(output).fill_(byte)
            elif output.is_floating_point():
                output.fill_(float("nan"))


def _after_another(trial: Trial, first: Query, second: Query, found: Findings) -> None:
    """Other data, then the first again: neither answer may come from an earlier call."""
    for query in (second, first):
        outputs = trial.call(query)
        judged = trial.judge(outputs, query)
        found.check(query, _blamed(trial, judged, query, "depends_on_previous_call"))
        _spoil(outputs, query.held)


def _blamed(trial: Trial, judged: Verdict, query: Query, flag: str) -> Verdict:
    """The verdict, as `flag` where a fresh copy of the file gets the same call right."""
    if not judged.flag or not trial.fresh_is_right(query):
        return judged
    return replace(judged, flag=flag)


def _same_addresses(trial: Trial, buffers: Query, seeds: Sequence[int], found: Findings) -> None:
    """Other values, run-time ones too, in the same tensors."""
    case = trial.case
    cases = [*trial.asker.variations(case), *rotations(case)][:1] + [case]
    for seed, other in zip(seeds, cases[::-1]):
        fresh = trial.ask(seed, other)
        query = trial.refill(buffers, fresh)
        if query is None:
            found.skip(fresh, "other data at the same addresses", trial.unlike(buffers, fresh))
            continue
        found.check(query, _blamed(trial, trial.judged_call(query), query, "stale_pointer"))


def _hurried(trial: Trial, buffers: Query, other: Query, found: Findings) -> None:
    """Inputs that the caller's stream writes just before the call, outputs that it reads directly after."""
    probe = "inputs written just before the call"
    made = [name for name, one in buffers.arguments.items() if _made_by_prepare(one, buffers)]
    if made:
        found.skip(other, probe, f"prepare() computes {made[0]!r} from the inputs")
        return
    staged = trial.refill(buffers, other)
    if staged is None:
        found.skip(other, probe, trial.unlike(buffers, other))
        return
    trial.refill(buffers, trial.ask(buffers.seed + 1))

    def stage() -> None:
        fill(buffers.arguments, other.arguments)

    def keep(result: object) -> Outputs:
        return {name: one.clone() for name, one in trial.named(result, staged).items()}

    hurried = trial.device.hurried(stage, lambda: trial.candidate.call(staged.arguments), keep)
    if hurried.waited:
        message = "the call came back only when the device was idle: it waits for the device"
        found.flag("synchronises", message)
    trial.device.settle()
    judged = trial.judge(hurried.kept, staged)
    if judged.flag and not found.flags:
        message = "its outputs are not what the caller's stream should see: " + judged.message
        found.flag("other_stream", message)


def _made_by_prepare(value: object, query: Query) -> bool:
    """Whether it is a tensor that was computed from the inputs: it would have to be computed in the same hurry."""
    return isinstance(value, torch.Tensor) and all(
        value is not one for one in query.inputs.values()
    )


def _kernels(trial: Trial, queries: Sequence[Query], found: Findings) -> None:
    """The same launches in each call, and no more memory held after it."""
    sequences, held = [], []
    for number in range(GROWTH_CALLS):
        query = queries[number % len(queries)]
        with trial.device.launches(operators=not trial.compiles.graphs) as names:
            trial.call(query)
        sequences.append(tuple(names))
        held.append(trial.device.allocated())
    grown = list(_growths(held[1:]))
    if len(grown) >= GROWTH_LEAST:
        message = f"{len(grown)} of {len(held) - 2} calls kept memory, {sum(grown)} bytes together"
        found.flag("memory_grows", message)
    other = next((one for one in sequences[2:] if one != sequences[1]), None)
    if other is not None:
        message = f"one call launched {listed(sequences[1])}, a later one {listed(other)}"
        found.flag("kernel_set_differs", message)


def _growths(held: Sequence[int]) -> Iterator[int]:
    return (after - before for before, after in zip(held, held[1:]) if after > before)


def listed(names: Sequence[str]) -> str:
    """Names, such as those of launches, for a message."""
    shown = ", ".join(names[:6]) or "nothing"
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"
