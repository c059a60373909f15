"""Finds a family's problem module and asks it for inputs and right answers."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import torch

from kgen.runner.bundle import Bundle
from kgen.runner.case import Case, Expected, Problem, Work
from kgen.runner.load import load_file
from kgen.runner.trace import shown

T = TypeVar("T")
CPU = torch.device("cpu")


class ProblemError(Exception):
    """The problem module raised or gave nothing usable; that says nothing about the submission."""


@dataclass(frozen=True)
class Question:
    """The arguments of one call, on the device, and for each output what is right."""

    case: Case
    inputs: Mapping[str, object]
    expected: Mapping[str, Expected]


class Asker:
    """A bundle's problem module. Every method raises `ProblemError`."""

    def __init__(self, bundle: Bundle):
        self._bundle = bundle
        self._problem = self._guarded(lambda: load_module(bundle.problem_module))
        if not isinstance(self._problem, Problem):
            names = ("cases", "inputs", "expected")
            missing = [name for name in names if not hasattr(self._problem, name)]
            raise ProblemError(f"{bundle.problem_module} has no {', '.join(missing)}")

    def cases(self, mode: str) -> list[Case]:
        """All cases for `mode`; their names are unique, and their regimes are the manifest's."""
        cases = self._guarded(lambda: self._problem.cases(self._bundle.problem, mode))
        names = [case.name for case in cases]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ProblemError(f"{self._bundle.problem_module} gives two cases named {twice[0]!r}")
        for case in cases:
            if case.regime and case.regime not in self._bundle.regimes:
                raise ProblemError(
                    f"case {case.name!r} asks for the regime {case.regime!r}; "
                    f"the manifest has {', '.join(self._bundle.regimes)}"
                )
        return cases

    def workloads(self) -> list[Case]:
        """The cases to time; none where the module names none."""
        workloads = getattr(self._problem, "workloads", None)
        return self._guarded(lambda: workloads(self._bundle.problem)) if workloads else []

    def work(self, case: Case) -> Work | None:
        """What a call cannot do without; None where the module does not tell."""
        work = getattr(self._problem, "work", None)
        return self._guarded(lambda: work(self._bundle.problem, case)) if work else None

    def variations(self, case: Case) -> list[Case]:
        """Cases that differ from `case` in run-time values only, where the module tells of some."""
        variations = getattr(self._problem, "variations", None)
        return self._guarded(lambda: variations(self._bundle.problem, case)) if variations else []

    def inputs(
        self, case: Case, seed: int, device: torch.device, drawn_on: torch.device = CPU
    ) -> dict[str, object]:
        """The arguments that `seed` gives; the same seed gives the same values in new memory."""
        random = _generator(seed, case.name, drawn_on)
        problem = self._bundle.problem
        inputs = self._guarded(lambda: self._problem.inputs(problem, case, random, device))
        missing = [name for name in self._bundle.arguments if name not in inputs]
        if missing:
            raise ProblemError(f"case {case.name!r}: inputs() gave no {', '.join(missing)}")
        return inputs

    def question(self, case: Case, seed: int, device: torch.device) -> Question:
        """Arguments and right answers."""
        inputs = self.inputs(case, seed, device)
        on_cpu = {n: t.cpu() if isinstance(t, torch.Tensor) else t for n, t in inputs.items()}
        return Question(case, inputs, self.expected(case, on_cpu))

    def expected(self, case: Case, arguments: Mapping[str, object]) -> Mapping[str, Expected]:
        """The right answers for these arguments, on their device."""
        problem = self._bundle.problem
        expected = self._guarded(lambda: self._problem.expected(problem, case, arguments))
        missing = [name for name in self._bundle.returns if name not in expected]
        if missing:
            raise ProblemError(f"case {case.name!r}: expected() gave no {', '.join(missing)}")
        for name, one in expected.items():
            _same_shape(case, name, one)
        return expected

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except Exception as error:
            raise ProblemError(f"{self._bundle.problem_module} raised\n{shown(error)}") from error


def _same_shape(case: Case, name: str, expected: Expected) -> None:
    """Raises `ProblemError` where what is allowed is neither a number nor has one for each value."""
    wanted = tuple(expected.values.shape)
    shape = tuple(getattr(expected.absolute, "shape", ()))
    if _together(shape, wanted) != wanted:
        raise ProblemError(
            f"case {case.name!r}: expected() allows {name!r} errors of shape {shape}, and its values "
            f"have shape {wanted}; give one number, or one for each value"
        )


def _together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return tuple(torch.broadcast_shapes(one, other))
    except RuntimeError:
        return None


def load_module(name: str) -> ModuleType:
    """The module of a dotted name, or the one in a file whose path ends in `.py`."""
    return load_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)


def _generator(seed: int, name: str, device: torch.device) -> torch.Generator:
    """A case has the same inputs whatever else runs: its generator is seeded by its name too."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:7], "big"))
