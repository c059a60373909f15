"""What is given at some place of a search for a proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kgen.algebra.formula import AtLeast, Formula, Or, conjuncts, transform
from kgen.algebra.poly import Poly


@dataclass(frozen=True, eq=False)
class Context:
    """Given formulas, the newest first, sorted by what they are good for.

    `facts` are polynomials that are at least 0, `choices` disjunctions, `others` opaque conditions
    and `FALSE`. The cases of the definitions of the variables in `split` are used up; those in
    `solved` have been replaced by their values, except in the two inequalities that say so.
    """

    facts: tuple[Poly, ...]
    choices: tuple[Or, ...]
    others: tuple[Formula, ...]
    split: frozenset[int]
    solved: frozenset[int]

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """All that is given."""
        return (*map(AtLeast, self.facts), *self.choices, *self.others)

    @cached_property
    def stated(self) -> frozenset[Poly]:
        """The facts, to look one up in."""
        return frozenset(self.facts)

    @cached_property
    def variables(self) -> frozenset[int]:
        """The variables of the facts."""
        return frozenset().union(*(fact.variables for fact in self.facts))


class Contexts:
    """Makes contexts. Equal ones are one object, so that what was found in one is found again."""

    def __init__(self) -> None:
        self._made: dict[tuple, Context] = {}
        self._grown: dict[tuple, Context] = {}

    def make(
        self,
        formulas: Iterable[Formula],
        split: frozenset[int] = frozenset(),
        solved: frozenset[int] = frozenset(),
    ) -> Context:
        """The context in which all of `formulas` are given."""
        unique = dict.fromkeys(part for formula in formulas for part in conjuncts(formula))
        key = (frozenset(unique), split, solved)
        if key not in self._made:
            facts = tuple(f.poly for f in unique if isinstance(f, AtLeast))
            choices = tuple(f for f in unique if isinstance(f, Or))
            others = tuple(f for f in unique if not isinstance(f, (AtLeast, Or)))
            self._made[key] = Context(facts, choices, others, split, solved)
        return self._made[key]

    def assume(self, context: Context, formula: Formula, source: Or | int | None = None) -> Context:
        """`context` with `formula`, one of the alternatives of `source` if that is given.

        A disjunction that has served is dropped: one of its alternatives says more.
        """
        key = (context, formula, source)
        if key not in self._grown:
            kept = (f for f in context.formulas if f != source)
            used = frozenset((source,)) if isinstance(source, int) else frozenset()
            self._grown[key] = self.make((formula, *kept), context.split | used, context.solved)
        return self._grown[key]

    def replace(self, context: Context, variable: int, value: Poly) -> Context:
        """`context` with `value` for `variable`, and the two inequalities that equate them."""
        key = (context, variable, value)
        if key not in self._grown:
            changed = (replaced(formula, variable, value) for formula in context.formulas)
            x = Poly.variable(variable)
            given = (*changed, AtLeast(x - value), AtLeast(value - x))
            self._grown[key] = self.make(given, context.split, context.solved | {variable})
        return self._grown[key]


def replaced(formula: Formula, variable: int, value: Poly) -> Formula:
    """`formula` with `value` for `variable`."""
    if isinstance(formula, AtLeast) and variable not in formula.poly.variables:
        return formula
    values = {variable: value}
    return transform(formula, lambda poly: poly.substitute(values))


def equation(context: Context) -> tuple[int, Poly] | None:
    """A variable, and the polynomial in others that the facts say it equals; None without."""
    facts = set(context.facts)
    for fact in context.facts:
        if -fact in facts and fact.variables.isdisjoint(context.solved):
            for variable in sorted(fact.variables, reverse=True):
                slope, offset = fact.split(variable)
                if slope.constant in (1, -1):
                    return variable, offset * -slope.constant
    return None


def stated_value(formula: Formula, variable: int) -> Poly | None:
    """What `formula` says `variable` equals, if it does by two inequalities."""
    facts = {part.poly for part in conjuncts(formula) if isinstance(part, AtLeast)}
    x = Poly.variable(variable)
    for fact in facts:
        value = x - fact
        if -fact in facts and variable not in value.variables:
            return value
    return None
