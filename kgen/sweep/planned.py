"""The plan of a candidate's regime, made by the planner itself from the settings, without reading the spec anew."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from kgen.plan.build import build_regime
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.templates import Templates
from kgen.spec import Spec
from kgen.sweep.model import SECTIONS, VARIANT, Candidate


class Planner:
    """Plans candidates of the regime `index` of `plan`, whose other regimes stay as they are."""

    def __init__(self, plan: Plan, index: int, templates: Templates):
        self.plan = plan
        self.index = index
        self.templates = templates
        self.regime = cache(self._regime)
        """The plan of a candidate's regime, kept. Raises KgenError where there is none."""

    def whole(self, regime: RegimePlan) -> Plan:
        """The plan with `regime` in its place."""
        regimes = list(self.plan.regimes)
        regimes[self.index] = regime
        return replace(self.plan, regimes=tuple(regimes))

    def _regime(self, candidate: Candidate) -> RegimePlan:
        return build_regime(
            with_settings(self.plan.spec, self.index, candidate), self.index, self.templates
        )


def with_settings(spec: Spec, index: int, candidate: Candidate) -> Spec:
    """The spec with a candidate's settings in the regime `index`; places and the hash stay those of the spec."""
    sections: dict[str, dict[str, object]] = {name: {} for name in SECTIONS}
    for key, value in candidate.settings:
        section, _, name = key.partition(".")
        if section != VARIANT:
            sections[section][name] = value
    regimes = list(spec.document.regimes)
    update = {**sections, VARIANT: candidate.variant, "fallback": None}
    regimes[index] = regimes[index].model_copy(update=update)
    return replace(spec, document=spec.document.model_copy(update={"regimes": tuple(regimes)}))
