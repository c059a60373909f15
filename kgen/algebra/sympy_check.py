"""A second opinion on certificates, by sympy.

`recheck` follows the same rules as `kgen.algebra.checker` and shares no code with it: it states
formulas with sympy expressions, does all arithmetic by sympy's expansion, and says anew what every
definition means. What the two have in common are the certificate's classes and the definitions'
arguments. Importing this module imports sympy, which costs a third of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy
from sympy import Expr, expand

from kgen.algebra import certificate as proof
from kgen.algebra import formula as logic
from kgen.algebra.space import Space
from kgen.algebra.sympy_claims import (
    All,
    Claim,
    NonNegative,
    equal,
    nonnegative,
    opposite,
    alternatives_of,
    conjuncts_of,
    put,
)
from kgen.algebra.sympy_meaning import Meaning

Given = frozenset[Claim]


def recheck(certificate: proof.Certificate) -> bool:
    """Whether sympy's expansion confirms every step of `certificate`."""
    return not refused([certificate])


def refused(certificates: Iterable[proof.Certificate]) -> list[proof.Certificate]:
    """Those of `certificates` that sympy's expansion does not confirm.

    What one certificate of a space shares with another is followed once.
    """
    checkers: dict[Space, _Rechecker] = {}
    found = []
    for certificate in certificates:
        space = certificate.space
        checker = checkers.get(space)
        if checker is None:
            checker = checkers[space] = _Rechecker(space)
        if not checker.confirms(certificate):
            found.append(certificate)
    return found


class _Rechecker:
    """Follows the rules that `kgen.algebra.certificate` lists."""

    def __init__(self, space: Space):
        self.meaning = Meaning(space)
        self._passed: set[tuple[proof.Step, Given, Claim]] = set()

    def confirms(self, certificate: proof.Certificate) -> bool:
        """Whether the certificate's step proves its goal from what it has given."""
        given = frozenset(conjuncts_of(self.meaning.claim(certificate.given)))
        return self.entails(given, self.meaning.claim(certificate.goal), certificate.step)

    def entails(self, given: Given, goal: Claim, step: proof.Step) -> bool:
        """Whether `step` proves `goal` from `given`."""
        key = (step, given, goal)
        if key not in self._passed:
            if not self._follows(given, goal, step):
                return False
            self._passed.add(key)
        return True

    def _follows(self, given: Given, goal: Claim, step: proof.Step) -> bool:
        match step:
            case proof.Trivial():
                return goal is True
            case proof.Assumed():
                return goal in given
            case proof.Every(steps):
                return isinstance(goal, All) and self._each(given, goal.parts, steps)
            case proof.Refuted(inner):
                return self.entails(given.union(conjuncts_of(opposite(goal))), False, inner)
            case proof.Clash(fact, inner):
                claim = self.meaning.claim(fact)
                return claim in given and self.entails(given, opposite(claim), inner)
            case proof.Cases(source, steps):
                return self._cases(given, goal, self._alternatives(given, source), steps)
            case proof.Replaced(variable, value, inner):
                return self._replaced(given, goal, variable, self.meaning.expr(value), inner)
            case proof.Computed(variable, inner):
                return self._computed(given, goal, variable, inner)
        return isinstance(goal, NonNegative) and self._inequality(given, goal.value, step)

    def _inequality(self, given: Given, value: Expr, step: proof.Step) -> bool:
        match step:
            case proof.Bounded():
                return bool(self.meaning.range(value)[0] >= 0)
            case proof.Powers(variable, base, steps):
                x = self.meaning.symbol(variable)
                coefficients = reversed(sympy.Poly(value, x).all_coeffs())
                claims = [nonnegative(c) for c in coefficients if c != 0]
                return self.entails(given, NonNegative(x), base) and self._each(
                    given, claims, steps
                )
            case proof.Combined():
                return self._combined(given, value, step)
        return False

    def _combined(self, given: Given, value: Expr, step: proof.Combined) -> bool:
        new = self.meaning.expr
        fact, scale, factor = new(step.fact), new(step.scale), new(step.factor)
        rest = nonnegative(sympy.Add(scale * value, -factor * fact, scale, -1))
        return (
            self._is_fact(given, fact, step.origin)
            and self.entails(given, nonnegative(scale - 1), step.scale_is_positive)
            and self.entails(given, nonnegative(factor), step.factor_is_nonnegative)
            and self.entails(given, rest, step.rest_is_nonnegative)
        )

    def _is_fact(self, given: Given, fact: Expr, origin: proof.FromDefinition | None) -> bool:
        if origin is None:
            return nonnegative(fact) in given
        if not self.meaning.knows(origin.variable):
            return False
        facts = self.meaning.facts(origin.variable)
        if not 0 <= origin.number < len(facts):
            return False
        stated, condition = facts[origin.number]
        return expand(stated - fact) == 0 and self.entails(given, condition, origin.condition)

    def _each(self, given: Given, goals: Sequence[Claim], steps: Sequence[proof.Step]) -> bool:
        return len(goals) == len(steps) and all(
            self.entails(given, goal, step) for goal, step in zip(goals, steps)
        )

    def _alternatives(self, given: Given, source: logic.Or | int) -> Sequence[Claim]:
        if isinstance(source, logic.Or):
            stated = self.meaning.claim(source)
            return alternatives_of(stated) if stated in given else ()
        return self.meaning.cases(source) if self.meaning.knows(source) else ()

    def _cases(
        self,
        given: Given,
        goal: Claim,
        alternatives: Sequence[Claim],
        steps: Sequence[proof.Step],
    ) -> bool:
        return len(alternatives) == len(steps) > 0 and all(
            self.entails(given.union(conjuncts_of(alternative)), goal, step)
            for alternative, step in zip(alternatives, steps)
        )

    def _replaced(
        self, given: Given, goal: Claim, variable: int, value: Expr, step: proof.Step
    ) -> bool:
        x = self.meaning.symbol(variable)
        equation = conjuncts_of(equal(x, value))
        if not given.issuperset(equation):
            return False
        changed = {new for claim in given for new in conjuncts_of(put(claim, x, value))}
        return self.entails(frozenset(changed.union(equation)), put(goal, x, value), step)

    def _computed(self, given: Given, goal: Claim, variable: int, step: proof.Step) -> bool:
        value = (
            self.meaning.value(variable, _numbers(given)) if self.meaning.knows(variable) else None
        )
        if value is None:
            return False
        equation = conjuncts_of(equal(self.meaning.symbol(variable), value))
        return self.entails(given.union(equation), goal, step)


def _numbers(given: Given) -> dict[Expr, Expr]:
    """The symbols that two of the given inequalities make equal to a number, with that number."""
    known = {}
    for claim in given:
        if isinstance(claim, NonNegative) and NonNegative(expand(-claim.value)) in given:
            for symbol in claim.value.free_symbols:
                if (symbol - claim.value).is_Integer:
                    known[symbol] = symbol - claim.value
    return known
