"""One candidate at one shape: asking, calling and judging."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from kgen.measure.candidate import Candidate
from kgen.measure.compiles import Compiles
from kgen.measure.device import Device
from kgen.measure.verdict import Verdict, verdict
from kgen.runner.case import Case, Expected
from kgen.runner.fill import fill, unlike
from kgen.runner.outputs import WrongReturn
from kgen.runner.poison import Poison
from kgen.runner.problem import Asker
from kgen.runner.results import Failure

Arguments = dict[str, object]
Outputs = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Query:
    """The problem's arguments, the candidate's own made of them, and what is right."""

    seed: int
    inputs: Arguments
    arguments: Arguments
    expected: Mapping[str, Expected]

    @property
    def held(self) -> Arguments:
        """All that the caller holds; not a buffer for outputs that the candidate does not take."""
        unused = set(self.expected) - set(self.arguments)
        inputs = {name: one for name, one in self.inputs.items() if name not in unused}
        return {**inputs, **self.arguments}


class Trial:
    """Calls the candidate on fresh inputs of `case`; every seed gives others."""

    def __init__(
        self,
        candidate: Candidate,
        asker: Asker,
        device: Device,
        case: Case,
        compiles: Compiles,
    ):
        self.candidate = candidate
        self.asker = asker
        self.device = device
        self.case = case
        self.compiles = compiles

    def ask(self, seed: int, case: Case | None = None) -> Query:
        """A query in memory of its own, drawn and answered on the device."""
        with self.device.eager():
            inputs = self.inputs(seed, case)
            expected = self.asker.expected(case or self.case, inputs)
            arguments = self.candidate.prepared(inputs)
        self.device.settle()
        return Query(seed, inputs, arguments, expected)

    def inputs(self, seed: int, case: Case | None = None) -> Arguments:
        """The problem's arguments that a seed gives, drawn on the device."""
        place = self.device.torch
        return self.asker.inputs(case or self.case, seed, place, place)

    def call(self, query: Query) -> Outputs:
        """Outputs of an eager call, when all that it began has ended."""
        with self.device.eager():
            result = self.candidate.call(query.arguments)
        self.device.settle()
        return self.named(result, query)

    def fresh_is_right(self, query: Query) -> bool:
        """Whether a copy of the file that was never called gets it right: then a wrong answer came from what the
        file remembers.
        """
        try:
            result = self.poisoned(lambda: self.candidate.fresh_call(query.arguments))
            return not self.judge(self.named(result, query), query).flag
        except Exception:
            return False

    def poisoned(self, call: Callable[[], object]) -> object:
        """What a call gives whose allocations hold poison.

        Torch would compile a function anew under the mode that poisons: there, memory that was spoilt and is taken
        again must do.
        """
        with self.device.eager():
            if self.compiles.graphs:
                result = call()
            else:
                with Poison():
                    result = call()
        self.device.settle()
        return result

    def named(self, result: object, query: Query) -> Outputs:
        """The outputs by name. Raises `WrongReturn`."""
        return self.candidate.outputs(result, query.held, tuple(query.expected))

    def judge(self, outputs: Outputs, query: Query) -> Verdict:
        """The outputs against what is right."""
        return verdict(outputs, query.expected, self.candidate.tolerance)

    def judged_call(self, query: Query) -> Verdict:
        """Calls and judges; outputs of a wrong form are wrong outputs."""
        try:
            return self.judge(self.call(query), query)
        except WrongReturn as error:
            return Verdict((Failure("KG707", str(error)),), float("inf"), "wrong_output")

    def refill(self, buffers: Query, other: Query) -> Query | None:
        """The other query's values in the first one's memory; None where they do not lie alike."""
        if self.unlike(buffers, other):
            return None
        with self.device.eager():
            fill(buffers.arguments, other.arguments)
            if self.candidate.prepares:
                fill(_shared(buffers, other), other.inputs)
        self.device.settle()
        return Query(other.seed, buffers.inputs, buffers.arguments, other.expected)

    def unlike(self, buffers: Query, other: Query) -> str:
        """Which argument keeps the other query's values out of the first one's memory; empty if none does."""
        name = unlike(buffers.arguments, other.arguments)
        if name is not None:
            maker = "prepare()" if self.candidate.prepares else "the problem"
            value = buffers.arguments[name]
            if isinstance(value, torch.Tensor):
                return f"{maker} gives {name!r}, which lies otherwise for other values"
            kind = type(value).__name__
            return f"{maker} gives {name!r}, a {kind} that cannot be given other values in place"
        if self.candidate.prepares:
            name = unlike(_shared(buffers, other), other.inputs)
        return "" if name is None else f"input {name!r} does not lie alike for all seeds"


def _shared(buffers: Query, other: Query) -> Arguments:
    return {name: one for name, one in buffers.inputs.items() if name in other.inputs}
