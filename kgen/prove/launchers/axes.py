"""The axes of a regime as variables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass

from kgen.algebra import (
    Poly,
    Space,
    TRUE,
    conjunction,
    ge,
    le,
    lower,
    lower_condition,
)
from kgen.algebra.lower import Meaning
from kgen.expr import fold, names, to_python
from kgen.families.model import Binding
from kgen.plan.domain import Range
from kgen.plan.model import Case, Plan, RegimePlan
from kgen.prove.facts import Fact


@dataclass(frozen=True)
class Axes:
    """What every name of a regime's expressions means, and the facts about these meanings."""

    meanings: dict[str, Meaning]
    facts: tuple[Fact, ...]


def optional(plan: Plan, regime: RegimePlan, case: Case) -> list[str]:
    """The axes of a regime that may be none when its launcher runs."""
    return [
        name
        for name in (*regime.domain.values, *regime.domain.ranges)
        if name not in case.axes
        and name not in plan.constants
        and plan.may_be_none(name)
        and len(plan.spec.axes[name].values) > 1
    ]


def declare(space: Space, plan: Plan, regime: RegimePlan, case: Case, absent: Set[str]) -> Axes:
    """The axes of one case of a regime, those of `absent` being none and every other one a number.

    Constants of the plan and of the case are numbers. An axis that the entry computes as a multiple of an extent, such
    as a capacity in whole pages, is that multiple of a variable.
    """
    maker = _Maker(space, plan)
    known = {name: value for name, (value, _) in plan.constants.items()}
    known |= {**case.constants, **case.axes, **dict.fromkeys(absent)}
    meanings: dict[str, Meaning] = {
        n: v for n, v in known.items() if not isinstance(v, (float, str))
    }
    for name, values in regime.domain.values.items():
        if name not in known:
            meanings[name] = space.choice(name, [value for value in values if value is not None])
    waiting = {name: span for name, span in regime.domain.ranges.items() if name not in known}
    facts: list[Fact] = []
    while waiting:
        ready = [
            name
            for name, span in waiting.items()
            if not (names(span.low) | names(span.high)) & waiting.keys()
        ]
        if not ready:
            break
        for name in ready:
            meanings[name] = maker.ranged(name, waiting.pop(name), meanings, facts)
    for condition in regime.domain.conditions:
        formula = lower_condition(fold(condition, known), space, meanings)
        if formula != TRUE:
            facts.append(Fact(formula, f"the regime runs where {to_python(condition)}"))
    return Axes(meanings, tuple(facts))


@dataclass
class _Maker:
    space: Space
    plan: Plan

    def ranged(
        self, name: str, span: Range, meanings: Mapping[str, Meaning], facts: list[Fact]
    ) -> Meaning:
        """An axis with a range, and the fact that says which."""
        low = lower(fold(span.low, {}), self.space, meanings)
        high = lower(fold(span.high, {}), self.space, meanings)
        says = f"{to_python(span.low)} <= {name} <= {to_python(span.high)}"
        binding = next((one for one in self.plan.bindings if one.axis == name), None)
        factor = self._factor(binding)
        if factor == 1:
            return self.space.axis(name, low, high)
        count = self.space.axis(
            self._counted(binding),
            self.space.ceiling_quotient(low, Poly.of(factor)),
            self.space.quotient(high, Poly.of(factor)),
        )
        value = count * factor
        facts.append(Fact(conjunction(ge(value, low), le(value, high)), says))
        return value

    def _factor(self, binding: Binding | None) -> int:
        """k where the entry binds the axis to `tensor.shape[n] * k`; else 1."""
        found = re.fullmatch(r"\w+\.shape\[\d+\] \* (\w+)", binding.python) if binding else None
        if not found:
            return 1
        word = found.group(1)
        value = self.plan.constants[word][0] if word in self.plan.constants else word
        return int(value)

    def _counted(self, binding: Binding) -> str:
        return binding.python.split(" * ")[0]
