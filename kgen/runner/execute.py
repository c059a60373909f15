"""Runs one case: the call, once or twice, and the judgement."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch

from kgen.runner.backend import Backend
from kgen.runner.bundle import Bundle
from kgen.runner.case import Case
from kgen.runner.judge import Answer, judge
from kgen.runner.load import load_entry
from kgen.runner.outputs import WrongReturn, named_outputs
from kgen.runner.poison import Poison
from kgen.runner.problem import Asker, ProblemError, Question
from kgen.runner.raised import failure_of
from kgen.runner.results import CaseResult, Failure, Status
from kgen.runner.snapshot import Snapshot


class Executor:
    """Runs a bundle's cases on one backend. The file is loaded once, and again after a case that
    did not pass.
    """

    def __init__(self, bundle: Bundle, asker: Asker, backend: Backend, seed: int):
        self.bundle = bundle
        self.asker = asker
        self.backend = backend
        self.seed = seed
        self._entry: Callable | None = None

    def run(self, case: Case, twice: bool) -> CaseResult:
        """Judges one case; `twice` calls again with other data and judges that too."""
        return self.timed(case.name, case.regime, lambda: self._run(case, twice))

    def timed(self, name: str, regime: str, work: Callable[[], Answer]) -> CaseResult:
        """The result of `work`; what the family's module raises in it is an error of nobody's
        kernel.
        """
        start = time.perf_counter()
        try:
            answer = work()
        except ProblemError as error:
            answer = Answer(Status.ERROR, failures=(Failure("KG717", str(error)),))
        good = answer.status in (Status.PASSED, Status.SKIPPED)
        if not good:
            self._entry = None  # what the failed call left behind must not reach the next case
        return CaseResult(
            name=name,
            regime=regime,
            status=answer.status,
            failures=answer.failures,
            launched=answer.launched,
            worst=answer.worst,
            seconds=time.perf_counter() - start,
            note=answer.note,
            device_lost=not good and self.backend.lost(),
        )

    def entry(self) -> Callable:
        """The file's entry function. Raises what loading the file raises."""
        self._entry = self._entry or load_entry(self.bundle)
        return self._entry

    def call(self, inputs: Mapping[str, object]) -> Answer:
        """Calls the entry with poisoned allocations; an exception becomes a failure."""
        bundle = self.bundle
        poison = Poison()
        launched: list[str] = []
        try:
            entry = self.entry()
            with self.backend.watch(_protected(bundle, inputs), poison) as launched:
                with poison:
                    result = entry(*(inputs[name] for name in bundle.arguments))
                self.backend.synchronise()
            return Answer(outputs=named_outputs(result, bundle, inputs), launched=tuple(launched))
        except WrongReturn as error:
            status, failure = Status.FAILED, Failure("KG707", str(error))
        except Exception as error:
            status, failure = failure_of(error, bundle.source)
        return Answer(status, launched=tuple(launched), failures=(failure,))

    def _run(self, case: Case, twice: bool) -> Answer:
        first = self._judged(self.asker.question(case, self.seed, self.backend.device))
        if twice and first.status is Status.PASSED:
            return self._again(case, first)
        return first

    def _judged(self, question: Question) -> Answer:
        before = Snapshot(question.inputs, self.backend.snapshot_limit)
        answer = self.call(question.inputs)
        if answer.failures:
            return answer
        return judge(question, answer, before, self.bundle, self.backend)

    def _again(self, case: Case, first: Answer) -> Answer:
        """A second call, with other data, must be right too and leave the first outputs alone."""
        kept = {name: output.clone() for name, output in first.outputs.items()}
        second = self._judged(self.asker.question(case, self.seed + 1, self.backend.device))
        if second.status is not Status.PASSED:
            told = (
                replace(failure, message=f"the second call, with other data: {failure.message}")
                for failure in second.failures
            )
            return replace(second, failures=tuple(told))
        for name, output in first.outputs.items():
            if not _same_bytes(output, kept[name]):
                message = (
                    f"output {name!r} of the first call was overwritten by the second: it lies in "
                    "memory that the file keeps"
                )
                failure = Failure("KG719", message, tensor=name)
                return replace(second, status=Status.FAILED, failures=(failure,))
        return replace(second, worst=max(first.worst, second.worst))


def _protected(bundle: Bundle, inputs: Mapping[str, object]) -> dict[str, torch.Tensor]:
    """The tensors whose storage no argument that is updated in place shares."""
    tensors = {n: t for n, t in inputs.items() if isinstance(t, torch.Tensor)}
    updated = {t.untyped_storage().data_ptr() for n, t in tensors.items() if n in bundle.returns}
    return {n: t for n, t in tensors.items() if t.untyped_storage().data_ptr() not in updated}


def _same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    flat = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (one, other)]
    return torch.equal(*flat)
