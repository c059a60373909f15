"""All cases of one bundle on one backend."""

from __future__ import annotations

import os
import platform
import sys

from kgen.runner.backend import Backend
from kgen.runner.bundle import BundleError, read_bundle
from kgen.runner.case import Case
from kgen.runner.execute import Executor
from kgen.runner.faults import NoDevice, Untrusted
from kgen.runner.problem import Asker, ProblemError
from kgen.runner.results import CaseResult, Summary

REFUSALS = {
    BundleError: "KG716",
    ProblemError: "KG717",
    Untrusted: "KG713",
    NoDevice: "KG720",
}
"""What keeps a bundle from being tested at all, and its code."""

GRAPH = "graph:"
"""What the name of a regime's graph replay begins with."""


class Session:
    """A bundle opened in `mode` "interpret", "gpu" or "auto".

    Its units are the cases and, on a GPU, one graph replay for each regime that has cases. Raises
    `BundleError`, `ProblemError`, `NoDevice`, or `Untrusted` if the interpreter fails its probes.
    """

    def __init__(self, directory: str, mode: str, seed: int):
        self.bundle = read_bundle(directory)
        self.backend = make_backend(mode)
        self.seed = seed
        asker = Asker(self.bundle)
        self._cases = {case.name: case for case in asker.cases(self.backend.mode)}
        self._executor = Executor(self.bundle, asker, self.backend, seed)
        by_regime: dict[str, list[Case]] = {}
        for case in self._cases.values():
            by_regime.setdefault(case.regime, []).append(case)
        self._by_regime = by_regime

    def units(self, filter: str = "") -> list[tuple[str, str]]:
        """(name, regime) of what can be run, of those whose name or regime contains `filter`."""
        units = [(case.name, case.regime) for case in self._cases.values()]
        if self.backend.mode == "gpu":
            units += [(f"{GRAPH}{regime}", regime) for regime in self._by_regime if regime]
        return [(name, regime) for name, regime in units if filter in name or filter in regime]

    def run(self, name: str) -> CaseResult:
        """Runs one unit. A regime's first case is called twice: that shows a counter that is not
        re-armed.
        """
        if name.startswith(GRAPH):
            from kgen.runner.graph import replay_regime

            regime = name.removeprefix(GRAPH)
            return replay_regime(self._executor, name, regime, self._by_regime[regime])
        case = self._cases[name]
        return self._executor.run(case, twice=case is self._by_regime[case.regime][0])

    def summary(self) -> Summary:
        """What runs on what, before anything has run."""
        return Summary(
            bundle=str(self.bundle.directory),
            sha256=self.bundle.sha256,
            edited=self.bundle.edited,
            mode=self.backend.mode,
            device=self.backend.describe(),
            seed=self.seed,
            versions=_versions(),
        )


def make_backend(mode: str) -> Backend:
    """The backend for `mode`; "auto" takes a GPU if there is one. Triton is imported here, never
    before.
    """
    import torch

    if mode == "auto":
        mode = "gpu" if torch.cuda.is_available() else "interpret"
    if "triton" in sys.modules:
        raise RuntimeError("triton was imported before the mode was known")
    if mode == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
        from kgen.runner.interpreted import Interpreted

        return Interpreted()
    os.environ.pop("TRITON_INTERPRET", None)
    from kgen.runner.gpu import Gpu

    return Gpu()


def _versions() -> dict[str, str]:
    """What took part."""
    import numpy
    import torch
    import triton

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numpy": numpy.__version__,
    }
