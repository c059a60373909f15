"""Captures a call in a CUDA graph and replays it with other inputs in the same buffers.

A serving engine captures once, with any lengths, and replays for months. What a call decides on the
host is frozen at capture; replays show whether any of that depended on data, whether counters
return to their start, and whether what the graph points to stays alive when other calls run
between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from triton.runtime.jit import JITFunction

from kgen.runner.case import Case
from kgen.runner.execute import Executor
from kgen.runner.fill import fill
from kgen.runner.judge import Answer, judge
from kgen.runner.launches import recorded
from kgen.runner.outputs import named_outputs
from kgen.runner.poison import Poison
from kgen.runner.problem import ProblemError, Question
from kgen.runner.raised import failure_of
from kgen.runner.results import CaseResult, Failure, Status
from kgen.runner.snapshot import Snapshot
from kgen.runner.variants import most_telling, rotations

MAX_VARIANTS = 4
"""With how many other run-time values a graph is replayed."""


def replay_regime(executor: Executor, name: str, regime: str, cases: Sequence[Case]) -> CaseResult:
    """Captures one of the regime's `cases` and replays it with others of the same shapes."""
    if not executor.bundle.regimes[regime].capturable:
        note = "the manifest says that a CUDA graph can't hold this regime"
        return executor.timed(name, regime, lambda: Answer(Status.SKIPPED, note=note))
    return executor.timed(name, regime, lambda: _Replay(executor, cases).run())


class _Replay:
    def __init__(self, executor: Executor, cases: Sequence[Case]):
        self._executor = executor
        self._alike = most_telling(cases)
        self._cases = cases
        self._stream = torch.cuda.Stream()
        self._replays = 0

    def run(self) -> Answer:
        question = self._ask(self._alike[0], 0)
        with torch.cuda.stream(self._stream):
            warm = self._executor.call(question.inputs)
        if warm.failures:
            return warm
        try:
            graph, captured = self._capture(question.inputs)
        except Exception as error:
            return self._refused(error)
        self._disturb()
        worst = 0.0
        for case, number in self._variants():
            other = self._ask(case, number)
            if not fill(question.inputs, other.inputs):
                continue
            answer = self._replay(graph, captured, replace(other, inputs=question.inputs))
            if answer.status is not Status.PASSED:
                return answer
            worst = max(worst, answer.worst)
        if not self._replays:
            raise ProblemError(f"no other inputs have the layout of {self._alike[0].name!r}")
        return replace(captured, worst=worst, note=f"{self._replays} replays with other inputs")

    def _variants(self) -> list[tuple[Case, int]]:
        """Cases of the same shapes, each with other data; the first comes again at the end."""
        first = self._alike[0]
        variants = [(case, 1) for case in (*self._alike[1:], *rotations(first))]
        variants = [*variants[:MAX_VARIANTS], (first, 1), (first, 2)]
        return [*variants, variants[0]]

    def _ask(self, case: Case, number: int) -> Question:
        """Inputs that every stream may read."""
        executor = self._executor
        question = executor.asker.question(case, executor.seed + number, executor.backend.device)
        executor.backend.synchronise()
        return question

    def _capture(self, inputs: Mapping[str, object]) -> tuple[torch.cuda.CUDAGraph, Answer]:
        bundle = self._executor.bundle
        graph = torch.cuda.CUDAGraph()
        entry = self._executor.entry()
        with recorded(JITFunction) as launched:
            with torch.cuda.graph(graph, stream=self._stream), Poison():
                result = entry(*(inputs[name] for name in bundle.arguments))
        outputs = named_outputs(result, bundle, inputs)
        return graph, Answer(outputs=outputs, launched=tuple(launched))

    def _disturb(self) -> None:
        """Another call between capture and replay; what it allocates must not be what the graph
        uses.
        """
        self._executor.call(self._ask(self._cases[-1], 3).inputs)

    def _replay(self, graph: torch.cuda.CUDAGraph, captured: Answer, question: Question) -> Answer:
        executor = self._executor
        before = Snapshot(question.inputs)
        self._replays += 1
        told = f"replay {self._replays} of the graph, with the inputs of {question.case.name!r}"
        try:
            graph.replay()
            executor.backend.synchronise()
        except RuntimeError as error:
            failure = Failure("KG715", f"{told}: the GPU reported {error}")
            return Answer(Status.FAILED, failures=(failure,))
        answer = judge(question, captured, before, executor.bundle, executor.backend)
        failures = (
            replace(failure, code="KG715", message=f"{told}: {failure.message}")
            for failure in answer.failures
        )
        return replace(answer, failures=tuple(failures))

    def _refused(self, error: Exception) -> Answer:
        status, failure = failure_of(error, self._executor.bundle.source)
        message = f"a CUDA graph can't hold the call: {failure.message}"
        return Answer(status, failures=(replace(failure, code="KG715", message=message),))
