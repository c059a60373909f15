"""Verdicts on mutants: what the prover says of each, and what a run of small calls shows, which shares no code with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.model import Plan
from kgen.plan.templates import Templates
from kgen.prove.check import Proof, prove
from kgen.prove.mutate import Mutant, mutants
from kgen.prove.replay.judge import Judgement, judge
from kgen.prove.replay.scenes import scenes
from kgen.render.assemble import Source, render
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.render.model import Launcher
from kgen.spec import load


@dataclass(frozen=True)
class Found:
    """A mutant, whether the prover proves it, and what it says first of what it does not prove."""

    mutant: Mutant
    status: Status
    evidence: str


@dataclass(frozen=True)
class Subject:
    """A rendered spec, with its mutants."""

    path: Path

    @cached_property
    def plan(self) -> Plan:
        return build(load(self.path))

    @cached_property
    def launchers(self) -> list[Launcher]:
        return list(launchers(self.plan, workshop(Templates())))

    @cached_property
    def source(self) -> Source:
        return render(self.plan, Templates())

    def mutants(self, functions: Sequence[str]) -> tuple[Mutant, ...]:
        return mutants(self.source.text, functions)

    def prove(self, text: str, function: str = "") -> Proof:
        """The proof of a changed file; with `function`, of the launchers that have to do with it."""
        concerned = [one for one in self.launchers if not function or function in _functions(one)]
        return prove(self.plan, concerned, text, self.source.manifest)

    @cached_property
    def _honest(self) -> dict[str, set[tuple[str, str]]]:
        return {}

    def host_doubts(self, function: str) -> set[tuple[str, str]]:
        """What is not proved of the host code of the honest file, when only some launchers are looked at."""
        if function not in self._honest:
            proof = self.prove(self.source.text, function)
            self._honest[function] = {
                (one.says, one.evidence) for one in proof.host if one.status is not Status.PROVED
            }
        return self._honest[function]

    def verdict(self, mutant: Mutant) -> Found:
        """What the prover says of a mutant; the worst of its obligations counts."""
        proof = self.prove(mutant.source, mutant.function)
        known = self.host_doubts(mutant.function)
        open_ones = [one for one in proof.kernels if one.status is not Status.PROVED]
        open_ones += [
            one
            for one in proof.host
            if one.status is not Status.PROVED and (one.says, one.evidence) not in known
        ]
        open_ones.sort(key=lambda one: one.status is not Status.REFUTED)
        if not open_ones:
            return Found(mutant, Status.PROVED, "")
        first = open_ones[0]
        return Found(mutant, first.status, f"{first.subject}: {first.says}: {first.evidence}")

    def judgement(self, mutant: Mutant) -> Judgement:
        """What small calls of the mutant show."""
        kernel = mutant.function if mutant.function.endswith("_kernel") else ""
        return judge(mutant.source, self.scenes, kernel)

    @cached_property
    def scenes(self):
        return scenes(self.source.manifest)


def _functions(one: Launcher) -> Iterator[str]:
    yield one.function
    for kernel in one.kernels:
        yield kernel.function
