"""Candidates that cannot be right, or cannot fit, are dropped before anything is rendered, each by a rule.

The rules are the plan's own: that there is a plan at all, and the statements of `kgen.plan.statements`. What evaluation
decides is decided here exactly as the plan check decides it; what needs a proof is tried at the corners of the axes, and
proved (`Rules.unproved`) only for a candidate that is to be rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from kgen.algebra import Status
from kgen.algebra.second import at_once
from kgen.diagnostics import KgenError, Place, Severity
from kgen.expr import Expr
from kgen.plan.check import DISPUTED, never_aligned
from kgen.plan.corners import refuted
from kgen.plan.decide import prove
from kgen.plan.model import Plan
from kgen.plan.statements import Statement, statements
from kgen.plan.templates import Templates
from kgen.plan.variant import Size, Variant, expression
from kgen.sweep.depends import ByKeys, keys_of, keys_of_statement, same_for_all
from kgen.sweep.model import Candidate, Dropped
from kgen.sweep.planned import Planner
from kgen.sweep.space import Axes, candidates

PLANNED = "the variant can serve the regime"


@dataclass(frozen=True)
class Reason:
    """The rule that a candidate breaks, what breaks without it, and where the rule's subject stands in the spec."""

    rule: str
    why: str
    place: Place


Identity = tuple[str, str]
Rule = tuple[Identity, ByKeys[Reason | None]]
"""A statement, and for a candidate the reason where it does not hold."""


def identity_of(statement: Statement) -> Identity:
    """What tells statements of one variant apart."""
    return statement.subject, statement.says


@dataclass(frozen=True)
class Pruned:
    """What is left of a space, in its order, and what is not, by rule."""

    survivors: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]


class Rules:
    """All rules for the candidates of some axes."""

    def __init__(self, plan: Plan, axes: Axes, templates: Templates):
        self._planner = Planner(plan, axes.index, templates)
        self._axes = axes
        variant = templates.find(plan.family.name, axes.variant).variant
        first = next(candidates(axes))
        known = same_for_all(variant, axes)
        always = keys_of(variant, _structure(variant), known)
        room = [expression(text) for one in variant.scratch.values() for text in one.dims.values()]
        self._unplanned = ByKeys(always, first, self._why_unplanned)
        self._asked = ByKeys(always | keys_of(variant, room, known), first, self._identities)
        self._refuted: list[Rule] = []
        self._open: list[Rule] = []
        for statement in self._all_statements():
            keys = always | keys_of_statement(variant, statement, known)
            place = self._place(keys_of(variant, [statement.goal]))
            for rules, why in ((self._refuted, self._why_refuted), (self._open, self._why_open)):
                rule = ByKeys(keys, first, partial(why, statement, place))
                rules.append((identity_of(statement), rule))

    def broken(self, candidate: Candidate) -> Reason | None:
        """The first rule that the candidate is known to break; None where no more than a proof can tell."""
        return self._unplanned(candidate) or self._first(self._refuted, candidate)

    def unproved(self, candidate: Candidate) -> Reason | None:
        """The first statement that is not proved of a candidate that is not `broken`; None where it may be rendered."""
        return self._first(self._open, candidate)

    def _first(self, rules: Sequence[Rule], candidate: Candidate) -> Reason | None:
        for identity, rule in rules:
            reason = rule(candidate)
            if reason is not None and identity in self._asked(candidate):
                return reason
        return None

    def _all_statements(self) -> list[Statement]:
        """Those of any candidate: without groups, nothing is left out for offsets that have 64 bits."""
        plan = self._planner.plan
        template = self._planner.templates.find(plan.family.name, self._axes.variant)
        bare = replace(plan.regimes[self._axes.index], template=template, groups=())
        return list(statements(plan, bare))

    def _why_unplanned(self, candidate: Candidate) -> Reason | None:
        """Why there is no plan, or why the plan could never run."""
        try:
            regime = self._planner.regime(candidate)
        except KgenError as error:
            first = error.diagnostics[0]
            return Reason(f"{PLANNED} ({first.code})", first.message, first.place)
        for one in never_aligned(self._planner.whole(regime), regime):
            if one.severity is not Severity.INFO:
                return Reason(f"{PLANNED} ({one.code})", one.message, one.place)
        return None

    def _why_refuted(self, statement: Statement, place: Place, one: Candidate) -> Reason | None:
        where = refuted(self._planner.plan, self._planner.regime(one), statement)
        return Reason(statement.says, statement.why, place) if where else None

    def _why_open(self, statement: Statement, place: Place, one: Candidate) -> Reason | None:
        obligation = prove(self._planner.plan, self._planner.regime(one), statement)
        proved = obligation.status is Status.PROVED
        if proved and not at_once(obligation.certificates).result():
            return None
        left = DISPUTED if proved else obligation.evidence
        return Reason(statement.says, f"not proved: {left}", place)

    def _identities(self, candidate: Candidate) -> frozenset[Identity]:
        """The statements that have to hold: some have not where offsets have 64 bits."""
        regime = self._planner.regime(candidate)
        return frozenset(map(identity_of, statements(self._planner.plan, regime)))

    def _place(self, keys: Set[str]) -> Place:
        """Where one of the keys got its values, a swept one if there is one; or else the regime."""
        decisive = [key for key in self._axes.swept if key in keys] or sorted(keys)
        if decisive:
            return self._axes.places[decisive[-1]]
        return self._planner.plan.spec.place("regimes", self._axes.index)


def _structure(variant: Variant) -> Iterator[Expr]:
    """The expressions that decide whether a regime has a plan, and for which tensors: not how large anything is.

    A parameter that stands alone always has its value, so it decides nothing there.
    """
    texts = [*variant.conditions.values()]
    texts += [one.when for one in variant.let.values() if one.when is not None]
    if variant.aligned is not None and variant.aligned.when is not None:
        texts.append(variant.aligned.when)
    bare: list[str] = []
    for kernel in variant.kernels.values():
        texts += [one.when for one in kernel.sizes if isinstance(one, Size) and one.when]
        bare += [kernel.launch.num_warps, kernel.launch.num_stages, *kernel.constants]
    texts += [text for text in bare if text not in variant.parameters]
    yield from map(expression, texts)


def prune(rules: Rules, space: Iterable[Candidate]) -> Pruned:
    """The candidates that break no rule that is known without a proof, and how many each rule drops."""
    survivors: list[Candidate] = []
    dropped: list[tuple[Reason, Candidate]] = []
    for candidate in space:
        reason = rules.broken(candidate)
        if reason is None:
            survivors.append(candidate)
        else:
            dropped.append((reason, candidate))
    return Pruned(tuple(survivors), tuple(told(dropped)))


def told(dropped: Iterable[tuple[Reason, Candidate]]) -> Iterator[Dropped]:
    """How many candidates of each variant each reason drops."""
    groups: dict[tuple[Reason, str], list[Candidate]] = {}
    for reason, candidate in dropped:
        groups.setdefault((reason, candidate.variant), []).append(candidate)
    for (reason, _), those in groups.items():
        yield Dropped(reason.rule, reason.why, reason.place, len(those), those[0])
