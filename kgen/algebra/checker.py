"""The checker: decides whether a certificate is a proof, and trusts nothing of the search that
found it.

It knows the rules in `kgen.algebra.certificate`, the arithmetic of polynomials, the negation and
substitution of formulas, and what the definitions in a space state. It derives what each premise
must prove, so that a step can only prove less than it should, never more.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgen.algebra.certificate import (
    Assumed,
    Bounded,
    Cases,
    Certificate,
    Clash,
    Computed,
    Combined,
    Every,
    Powers,
    Refuted,
    Replaced,
    Step,
    Trivial,
)
from kgen.algebra.formula import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Formula,
    Or,
    at_least_zero,
    conjuncts,
    eq,
    ge,
    negate,
    transform,
)
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space, Variable
from kgen.algebra.valuation import computed_value, constants

Given = frozenset[Formula]


def check(certificate: Certificate) -> bool:
    """Whether every step of `certificate` follows from the rules."""
    space = certificate.space
    given = frozenset(conjuncts(space.concrete_formula(certificate.given)))
    goal = space.concrete_formula(certificate.goal)
    return _Checker(space).entails(given, goal, certificate.step)


def _with(given: Given, alternative: Formula) -> Given:
    """`given` and everything that `alternative` says."""
    return given.union(conjuncts(alternative))


def _given_replaced(given: Given, variable: int, value: Poly) -> Given:
    """`given` with `value` for `variable`, and the two inequalities that say they are equal."""
    values = {variable: value}
    changed = (transform(formula, lambda poly: poly.substitute(values)) for formula in given)
    x = Poly.variable(variable)
    kept = (AtLeast(x - value), AtLeast(value - x))
    return frozenset(part for formula in (*changed, *kept) for part in conjuncts(formula))


class _Checker:
    """Checks judgements; a step that several others share is checked once for each judgement."""

    def __init__(self, space: Space):
        self._space = space
        self._passed: set[tuple[int, Given, Formula]] = set()

    def entails(self, given: Given, goal: Formula, step: Step) -> bool:
        key = (id(step), given, goal)
        if key in self._passed:
            return True
        right = self._rule(given, goal, step)
        if right:
            self._passed.add(key)
        return right

    def _rule(self, given: Given, goal: Formula, step: Step) -> bool:
        match step:
            case Trivial():
                return goal == TRUE
            case Assumed():
                return goal in given
            case Bounded():
                return isinstance(goal, AtLeast) and self._nonnegative(goal.poly)
            case Combined():
                return isinstance(goal, AtLeast) and self._combined(given, goal.poly, step)
            case Powers():
                return isinstance(goal, AtLeast) and self._powers(given, goal.poly, step)
            case Every(parts):
                return isinstance(goal, And) and self._all(given, goal.parts, parts)
            case Refuted(part):
                return self.entails(_with(given, negate(goal)), FALSE, part)
            case Clash(fact, part):
                return fact in given and self.entails(given, negate(fact), part)
            case Cases():
                return self._cases(given, goal, step)
            case Replaced():
                return self._replaced(given, goal, step)
            case Computed():
                return self._computed(given, goal, step)
        return False

    def _nonnegative(self, poly: Poly) -> bool:
        low = self._space.interval(poly).low
        return low is not None and low >= 0

    def _combined(self, given: Given, goal: Poly, step: Combined) -> bool:
        rest = step.scale * goal - step.factor * step.fact + step.scale - 1
        return (
            self._is_fact(given, step)
            and self.entails(given, ge(step.scale, 1), step.scale_is_positive)
            and self.entails(given, at_least_zero(step.factor), step.factor_is_nonnegative)
            and self.entails(given, at_least_zero(rest), step.rest_is_nonnegative)
        )

    def _is_fact(self, given: Given, step: Combined) -> bool:
        if step.origin is None:
            return AtLeast(step.fact) in given
        variable = self._variable(step.origin.variable)
        if variable is None or not 0 <= step.origin.number < len(variable.facts):
            return False
        stated = variable.facts[step.origin.number]
        return stated.poly == step.fact and self.entails(
            given, stated.condition, step.origin.condition
        )

    def _powers(self, given: Given, goal: Poly, step: Powers) -> bool:
        x = Poly.variable(step.variable)
        coefficients = [at_least_zero(c) for _, c in sorted(goal.powers(step.variable).items())]
        return self.entails(given, AtLeast(x), step.variable_is_nonnegative) and self._all(
            given, coefficients, step.coefficients
        )

    def _variable(self, index: int) -> Variable | None:
        return self._space[index] if 0 <= index < len(self._space) else None

    def _all(self, given: Given, goals: Sequence[Formula], parts: Sequence[Step]) -> bool:
        return len(goals) == len(parts) and all(
            self.entails(given, goal, part) for goal, part in zip(goals, parts)
        )

    def _cases(self, given: Given, goal: Formula, step: Cases) -> bool:
        alternatives = self._alternatives(given, step.source)
        return (
            len(alternatives) > 0
            and len(alternatives) == len(step.parts)
            and all(
                self.entails(_with(given, alternative), goal, part)
                for alternative, part in zip(alternatives, step.parts)
            )
        )

    def _alternatives(self, given: Given, source: Or | int) -> tuple[Formula, ...]:
        """Formulas of which one holds, if anything says so."""
        if isinstance(source, Or):
            return source.parts if source in given else ()
        variable = self._variable(source)
        return () if variable is None else variable.cases

    def _replaced(self, given: Given, goal: Formula, step: Replaced) -> bool:
        difference = Poly.variable(step.variable) - step.value
        if not (AtLeast(difference) in given and AtLeast(-difference) in given):
            return False
        values = {step.variable: step.value}
        new_goal = transform(goal, lambda poly: poly.substitute(values))
        new_given = _given_replaced(given, step.variable, step.value)
        return self.entails(new_given, new_goal, step.part)

    def _computed(self, given: Given, goal: Formula, step: Computed) -> bool:
        variable = self._variable(step.variable)
        if variable is None:
            return False
        value = computed_value(variable.definition, constants(given))
        if value is None:
            return False
        equation = eq(Poly.variable(step.variable), value)
        return self.entails(_with(given, equation), goal, step.part)
