"""Certificates: what a proof consists of.

A step proves a judgement "`given` entails `goal`", where `given` is a set of formulas. A step does
not say what its premises prove: whoever checks it (`kgen.algebra.checker`) derives that from the
judgement and the rule.

========== =========================================================================================
Trivial    The goal is `TRUE`, a number that is at least 0.
Assumed    The goal is one of the given formulas.
Bounded    The goal is `p >= 0`, and the constant bounds of the variables make `p` nonnegative.
Combined   The goal is `p >= 0`. With `fact >= 0`, `factor >= 0`, `scale >= 1` and
           `rest = scale * p - factor * fact + scale - 1 >= 0` there is `scale * p >= 1 - scale`, so
           `p > -1`, and `p` is an integer. One step of a Positivstellensatz proof, with integer
           rounding.
Powers     The goal is `sum of c_k * v**k >= 0`, with `v >= 0` and every `c_k >= 0`.
Every      The goal is a conjunction, and each part is proved.
Refuted    The goal's opposite, added to the given formulas, proves `FALSE`.
Clash      The opposite of a given formula is proved, so that anything follows.
Cases      One of several alternatives holds, because a given formula or a definition says so; the
           goal is proved from each.
Replaced   The given formulas say `v == e`; the goal is proved with `e` for `v` in itself and in
           what is given.
Computed   The given formulas say that every variable that a definition needs is a certain number;
           the goal is proved with the equation between the defined variable and its value added.
========== =========================================================================================

The fact of a `Combined` step is given, or comes from a definition: then the condition under which
the definition states it is proved too. Definitions are never rewritten by `Replaced`; their
variables stay what they are, and so do the two inequalities that say `v == e`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

from kgen.algebra.formula import Formula, Or
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space


class Step:
    """A step of a proof. Steps are compared by identity: one that is shared is one step."""

    def premises(self) -> Iterator[Step]:
        """The steps that this one rests on."""
        for field in fields(self):
            value = getattr(self, field.name)
            parts = value if isinstance(value, tuple) else (value,)
            yield from (part for part in parts if isinstance(part, Step))


@dataclass(frozen=True, eq=False)
class Trivial(Step):
    """The goal is true as it stands."""


@dataclass(frozen=True, eq=False)
class Assumed(Step):
    """The goal is among the given formulas."""


@dataclass(frozen=True, eq=False)
class Bounded(Step):
    """Constant intervals prove the goal."""


@dataclass(frozen=True, eq=False)
class FromDefinition(Step):
    """Fact number `number` of the definition of `variable`, whose condition `condition` proves."""

    variable: int
    number: int
    condition: Step


@dataclass(frozen=True, eq=False)
class Combined(Step):
    """The goal from a multiple of `fact`; `origin` is None where `fact >= 0` is given."""

    fact: Poly
    origin: FromDefinition | None
    scale: Poly
    factor: Poly
    scale_is_positive: Step
    factor_is_nonnegative: Step
    rest_is_nonnegative: Step


@dataclass(frozen=True, eq=False)
class Powers(Step):
    """`variable` and each coefficient of its powers, in ascending order, are nonnegative."""

    variable: int
    variable_is_nonnegative: Step
    coefficients: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Every(Step):
    """A proof for each part of a conjunction, in order."""

    parts: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Refuted(Step):
    """`FALSE` follows from the goal's opposite."""

    part: Step


@dataclass(frozen=True, eq=False)
class Clash(Step):
    """`part` proves the opposite of `fact`, which is given."""

    fact: Formula
    part: Step


@dataclass(frozen=True, eq=False)
class Cases(Step):
    """A proof from each alternative of a given `Or`, or of the definition of variable `source`."""

    source: Or | int
    parts: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Replaced(Step):
    """`part` proves everything with `value` in the place of `variable`."""

    variable: int
    value: Poly
    part: Step


@dataclass(frozen=True, eq=False)
class Computed(Step):
    """`part` proves the goal with the value of `variable` given too."""

    variable: int
    part: Step


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof that at every point of `space` where `given` holds, `goal` holds."""

    space: Space
    given: Formula
    goal: Formula
    step: Step

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every step once, each after the steps it rests on."""
        order: dict[Step, None] = {}
        _collect(self.step, order)
        return tuple(order)


def _collect(step: Step, order: dict[Step, None]) -> None:
    if step not in order:
        for premise in step.premises():
            _collect(premise, order)
        order[step] = None
