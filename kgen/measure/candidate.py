"""A file with a `run(...)`, ours or anybody's."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import torch

from kgen.measure.task import MANIFEST
from kgen.runner.bundle import Bundle, read_bundle
from kgen.runner.load import load_file
from kgen.runner.outputs import named_outputs

SUBMISSION = "submission.py"


def source_of(path: str) -> Path:
    """The Python file that a path names: itself, or the one in a bundle's folder."""
    found = Path(path).resolve()
    return found / SUBMISSION if found.is_dir() else found


class Unfit(Exception):
    """The file cannot be called on this problem."""


class Candidate:
    """A loaded file. Raises what loading it raises.

    A file may have `TERMS`, what is not equal about comparing it; `TOLERANCE`, the relative error that it declares by
    itself; `available()`, why it cannot run here; `prepare(**arguments)`, which gives the arguments of `run`, is not
    timed, and gets the manifest's `problem` too; `CAPTURABLE = False` if it does not claim to work in a CUDA graph.
    One that others are `compared` with may have all of these, and gives None for outputs that it does not compute; one that
    is judged is called as it is: work that its `prepare` did would not be timed.
    """

    def __init__(self, path: str, form: Bundle, compared: bool = False):
        self.path = source_of(path)
        self._form = form
        self.compared = compared
        self.bundle = self._own_bundle()
        self.module = load_file(self.path)
        self._entry = self._function(self.module)
        self._names = self._parameters()
        if self.prepares and not compared:
            raise Unfit(
                f"{self.path} has prepare(), whose work is not timed; only a file that others are compared with may "
                "have it: let run() do that work"
            )

    @property
    def terms(self) -> str:
        """What is not equal about the comparison."""
        return str(getattr(self.module, "TERMS", ""))

    @property
    def tolerance(self) -> float | None:
        """The relative error that the file declares; None if it declares none, or is judged: then the problem's holds.

        Raises `Unfit` for what is no such error.
        """
        declared = getattr(self.module, "TOLERANCE", None)
        if declared is None or not self.compared:
            return None
        if not isinstance(declared, (int, float)) or not 0 <= declared < math.inf:
            raise Unfit(f"{self.path} has TOLERANCE {declared!r}; it takes a number such as 0.01")
        return float(declared)

    @property
    def prepares(self) -> bool:
        """Whether arguments are prepared outside of timing."""
        return hasattr(self.module, "prepare")

    def unavailable(self) -> str:
        """Why the file cannot run here; empty if it can."""
        available = getattr(self.module, "available", None)
        return str(available() or "") if available else ""

    def warm_up(self) -> None:
        """Compiles what the file says it may need."""
        if hasattr(self.module, "warmup"):
            self.module.warmup()

    def claims_capture(self, regime: str) -> bool:
        """Whether the file says that a CUDA graph can hold its calls."""
        if self.bundle and regime in self.bundle.regimes:
            return self.bundle.regimes[regime].capturable
        return bool(getattr(self.module, "CAPTURABLE", True))

    def prepared(self, inputs: Mapping[str, object]) -> dict[str, object]:
        """The arguments of `run`, by name, from those of the problem."""
        given = dict(inputs)
        if self.prepares:
            wanted = inspect.signature(self.module.prepare).parameters
            takes_all = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
            offered = {"problem": self._form.problem, **inputs}
            chosen = offered if takes_all else {n: offered[n] for n in wanted if n in offered}
            given |= self.module.prepare(**chosen)
        missing = [name for name, needed in self._names.items() if needed and name not in given]
        if missing:
            have = ", ".join(given)
            raise Unfit(f"run() wants {', '.join(missing)}; the problem gives {have}")
        return {name: given[name] for name in self._names if name in given}

    def call(self, arguments: Mapping[str, object]) -> object:
        """What the file returns."""
        return self._entry(**arguments)

    def fresh_call(self, arguments: Mapping[str, object]) -> object:
        """What a copy of the file that has never been called returns."""
        return self._function(load_file(self.path))(**arguments)

    def outputs(
        self, result: object, inputs: Mapping[str, object], returns: tuple[str, ...]
    ) -> dict[str, torch.Tensor]:
        """The outputs by name. Raises `WrongReturn`."""
        if self.compared and isinstance(result, (tuple, list)) and len(result) == len(returns):
            known = [(name, one) for name, one in zip(returns, result) if one is not None]
            returns, result = (tuple(column) for column in zip(*known)) if known else ((), ())
        form = Bundle(
            directory=self.path.parent,
            sha256="",
            edited=False,
            entry="run",
            arguments=tuple(self._names),
            returns=returns,
            regimes={},
            problem_module="",
            problem={},
        )
        return named_outputs(result, form, inputs)

    def _own_bundle(self) -> Bundle | None:
        """The bundle that the file is part of, if it is."""
        if self.path.name == SUBMISSION and self.path.with_name(MANIFEST).is_file():
            return read_bundle(self.path.parent)
        return None

    def _function(self, module: ModuleType) -> Callable:
        name = self.bundle.entry if self.bundle else "run"
        if not hasattr(module, name):
            raise Unfit(f"{self.path} has no function {name}()")
        return getattr(module, name)

    def _parameters(self) -> dict[str, bool]:
        """Names of the entry's parameters, and whether each must be given."""
        if self.bundle:
            return dict.fromkeys(self.bundle.arguments, True)
        wanted = inspect.signature(self._entry).parameters.values()
        if any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in wanted):
            return dict.fromkeys(self._form.arguments, True)
        return {one.name: one.default is one.empty for one in wanted}
