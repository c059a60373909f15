"""Everything that must hold after a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from kgen.runner.backend import Backend
from kgen.runner.bundle import Bundle, Regime
from kgen.runner.compare import compare
from kgen.runner.outputs import aliases, wrong_form
from kgen.runner.problem import Question
from kgen.runner.results import Failure, Status
from kgen.runner.snapshot import Change, Snapshot

NO_REGIME = Regime("", (), capturable=True)
"""Of a call with nothing to do."""


@dataclass(frozen=True)
class Answer:
    """What one call gave. `outputs` is empty if it raised."""

    status: Status = Status.PASSED
    outputs: Mapping[str, torch.Tensor] = field(default_factory=dict)
    launched: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    worst: float = 0.0
    note: str = ""


def judge(
    question: Question, answer: Answer, before: Snapshot, bundle: Bundle, backend: Backend
) -> Answer:
    """The answer with every failure found: in inputs, kernels, memory, form and values."""
    failures = [_changed(change) for change in before.changes(bundle.returns)]
    failures += _wrong_kernels(answer, bundle.regimes.get(question.case.regime, NO_REGIME))
    failures += aliases(answer.outputs, question.inputs)
    worst = 0.0
    for name, output in answer.outputs.items():
        expected = question.expected[name]
        failure = wrong_form(name, output, expected, backend.device.type)
        if failure is None:
            compared = compare(name, output, expected, backend.writer)
            failure, worst = compared.failure, max(worst, compared.worst)
        failures += [failure] if failure else []
    status = Status.FAILED if failures else Status.PASSED
    return replace(answer, status=status, failures=tuple(failures), worst=worst)


def _changed(change: Change) -> Failure:
    where = (
        f"at element {list(change.element)}"
        if change.element
        else "in bytes of none of its elements"
    )
    message = f"input {change.argument!r} was changed {where}"
    return Failure("KG706", message, tensor=change.argument, element=change.element)


def _wrong_kernels(answer: Answer, regime: Regime) -> list[Failure]:
    """A call launches just what one of the regime's launchers does."""
    if answer.launched in (regime.launches or ((),)):
        return []
    wanted = " or ".join(map(_listed, regime.launches))
    belongs = f"the case belongs to {regime.name!r}, which launches {wanted}"
    if not regime.name:
        belongs = "the case has nothing to do"
    message = f"wrong regime: {belongs}, but the call launched {_listed(answer.launched)}"
    return [Failure("KG710", message)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
