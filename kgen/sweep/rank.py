"""A regime's candidates in the order of their estimates, shape by shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.diagnostics import Diagnostic, KgenError
from kgen.plan.build import build
from kgen.plan.model import Plan
from kgen.plan.templates import Templates
from kgen.spec import Spec
from kgen.sweep.cost import CostModel
from kgen.sweep.model import Candidate, Dropped, Ranked
from kgen.sweep.prune import Rules, prune
from kgen.sweep.shapes import Shape, shapes
from kgen.sweep.space import Axes, candidates


@dataclass(frozen=True)
class Ranking:
    """What is left of a regime's space, in the space's own order, with estimates; and what each rule dropped.

    `size` counts the whole space. `rules` and `models`, by variant, are those that judged it.
    """

    regime: str
    index: int
    size: int
    shapes: tuple[Shape, ...]
    ranked: tuple[Ranked, ...]
    dropped: tuple[Dropped, ...]
    rules: Mapping[str, Rules]
    models: Mapping[str, CostModel]
    plan: Plan

    def by_estimate(self, shape: str) -> list[Ranked]:
        """The candidates for one shape, what takes least first; equals in the space's order."""
        return by_estimate(self.ranked, shape)

    def best(self) -> Iterator[Ranked]:
        """Every candidate once: the first of each shape, then the second of each, and so on.

        Those come last of which another has the very same figures at every shape: a few then stand for more.
        """
        order = list(interleaved([self.by_estimate(shape.name) for shape in self.shapes]))
        first = {(one.candidate.variant, one.estimates): one for one in reversed(order)}
        unlike = {one.candidate for one in first.values()}
        yield from (one for one in order if one.candidate in unlike)
        yield from (one for one in order if one.candidate not in unlike)


def rank(spec: Spec, templates: Templates, axes: Sequence[Axes]) -> Ranking:
    """The ranking of one regime, whose axes under each variant these are. Nothing is rendered.

    Raises ValueError for axes of several regimes, and KgenError: KG857 where no workload runs in the regime, KG856 where every candidate is dropped, the spec's own
    problems as `kgen.plan.build.build`.
    """
    regime, *others = {one.regime for one in axes}
    if others:
        raise ValueError("these are the axes of several regimes: rank one at a time")
    plan = build(spec, templates)
    asked = shapes(plan, regime)
    rules = {one.variant: Rules(plan, one, templates) for one in axes}
    models = {one.variant: CostModel(plan, one, templates, asked) for one in axes}
    ranked: list[Ranked] = []
    dropped: list[Dropped] = []
    for one in axes:
        left = prune(rules[one.variant], candidates(one))
        ranked += map(models[one.variant].ranked, left.survivors)
        dropped += left.dropped
    size = sum(one.size for one in axes)
    if not ranked:
        raise KgenError([_nothing_left(plan, axes[0], size, dropped)])
    return Ranking(
        regime, axes[0].index, size, asked, tuple(ranked), tuple(dropped), rules, models, plan
    )


def by_estimate(ranked: Sequence[Ranked], shape: str) -> list[Ranked]:
    """Candidates for one shape, what takes least first; equals keep their order."""
    return sorted(ranked, key=lambda one: one.at(shape).seconds)


def interleaved(orders: Sequence[Sequence[Ranked]]) -> Iterator[Ranked]:
    """The candidates of several orders in turns, each once."""
    seen: set[Candidate] = set()
    for turn in zip(*orders):
        for one in turn:
            if one.candidate not in seen:
                seen.add(one.candidate)
                yield one


def _nothing_left(plan: Plan, axes: Axes, size: int, dropped: Sequence[Dropped]) -> Diagnostic:
    told = "; ".join(f"{one.count} by `{one.rule}` ({one.why})" for one in dropped)
    message = f"all {size} candidates of regime {axes.regime} are dropped: {told}"
    found = plan.spec.diagnostic("KG856", message, hint="widen the axes that these rules name")
    return replace(found, place=dropped[0].place, source="")
