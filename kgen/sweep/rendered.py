"""Candidates as rendered files, ready to be tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.render.assemble import render
from kgen.spec import load
from kgen.sweep.field import Entrant, Field
from kgen.sweep.model import Candidate, Compiled
from kgen.sweep.served import served_core, served_signature
from kgen.sweep.trial import File, Workload, shape_text


@dataclass(frozen=True)
class Source:
    """A spec on disk with the changes of `--set`, its templates, and kgen's cache."""

    path: Path
    overrides: Sequence[str]
    templates: Templates
    cache: Path

    def entrant(
        self,
        candidate: Candidate,
        estimates: Mapping[str, float] | None = None,
        refused: str = "",
    ) -> Entrant:
        """A candidate's file. Raises `KgenError` for one that cannot be rendered.

        Its plan is not proved here: what a sweep tries was proved when it was ranked, and what it writes is proved then.
        """
        spec = load(self.path, [*self.overrides, *candidate.overrides()])
        made = render(build(spec, self.templates), self.templates, self.cache)
        regime = candidate.regime
        return Entrant(
            settings=candidate.settings,
            file=File(str(candidate), made.text, made.manifest),
            core=served_core(made.text, made.manifest, regime),
            signature=served_signature(made.manifest, regime),
            estimates=estimates or {},
            refused=refused,
        )


def workloads(manifest: Mapping[str, Any]) -> tuple[Workload, ...]:
    """The workloads that a file's problem times, as a station tells them. Loads torch, with the family's problem."""
    from kgen.runner.problem import load_module

    module = load_module(f"kgen.families.{manifest['family']}.problem")
    return tuple(
        Workload(case.name, case.regime, shape_text(manifest, dict(case.axes), case.runtime))
        for case in module.workloads(manifest["problem"])
    )


def field(
    source: Source, name: str, present: Candidate, ranked: Iterable[Compiled], shapes: str = ""
) -> Field:
    """The field of a regime of the spec called `name`: the present setting, then the others in the order of their ranks."""
    own = source.entrant(present)
    entrants: dict[tuple[str, str], Entrant] = {(own.core, own.signature): own}
    for one in ranked:
        estimates = {each.shape: each.seconds for each in one.ranked.estimates}
        found = source.entrant(one.ranked.candidate, estimates, one.refused)
        key = (found.core, found.signature)
        if key == (own.core, own.signature):
            # the same file by another name; the setting is called as the spec has it
            own = entrants[key] = Entrant(own.settings, own.file, *key, estimates, one.refused)
        entrants.setdefault(key, found)
    return Field(name, present.regime, own, tuple(entrants.values()), shapes)
