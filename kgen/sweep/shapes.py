"""The shapes that a sweep is about: the workloads of a spec that are timed, by the regime that serves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgen.diagnostics import KgenError
from kgen.expr import listing
from kgen.plan.model import Plan


@dataclass(frozen=True)
class Shape:
    """One workload of `workloads.bench`: its name in every table and receipt, and its static axes."""

    name: str
    axes: Mapping[str, int | None]


def shapes(plan: Plan, regime: str) -> tuple[Shape, ...]:
    """The shapes that `regime` serves, in the spec's order. Loads torch, with the family's problem.

    Raises KgenError (KG857) where there are none: then nothing says what to be fast at.
    """
    from kgen.render.manifest import problem
    from kgen.runner.problem import load_module

    asked = problem(plan)
    cases = load_module(f"kgen.families.{plan.family.name}.problem").workloads(asked)
    found = tuple(Shape(case.name, case.axes) for case in cases if case.regime == regime)
    if not found:
        others = sorted({case.regime for case in cases})
        message = f"no workload in `workloads.bench` runs in regime {regime}"
        hint = "add one that does" + (
            f"; those there are run in {listing(others)}" if others else ""
        )
        raise KgenError([plan.spec.diagnostic("KG857", message, "workloads", "bench", hint=hint)])
    return found
