"""The search for proofs of formulas: parts, contradictions and case splits around elimination.

An inequality is tried by elimination first. What that does not prove is refuted: its opposite is
assumed, and a given fact is sought whose opposite can be proved; where there is none, one of the
disjunctions that are known to hold is split, the one with the fewest alternatives: a given one, or
the cases of a definition (min, max, where, a masked table entry, an axis with listed values).

Whatever the search finds is a certificate that others check, so nothing here has to be trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgen.algebra.box import Box, Constraints
from kgen.algebra.certificate import (
    Assumed,
    Cases,
    Certificate,
    Clash,
    Computed,
    Every,
    Refuted,
    Replaced,
    Step,
    Trivial,
)
from kgen.algebra.context import Context, Contexts, equation
from kgen.algebra.definitions import Free
from kgen.algebra.eliminate import Elimination, OutOfSteps
from kgen.algebra.formula import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Formula,
    Or,
    conjunction,
    conjuncts,
    eq,
    negate,
    polynomials,
)
from kgen.algebra.poly import Poly
from kgen.algebra.ranges import range_in
from kgen.algebra.space import Space
from kgen.algebra.valuation import computed_value, constants

MAX_SPLITS = 12
MAX_SOLVED = 64


@dataclass(frozen=True)
class Attempt:
    """What a search found: a certificate, or None and a condition under which no contradiction came
    up.

    The condition entails what was given and the goal's opposite, so it is where a counterexample
    may be.
    """

    certificate: Certificate | None
    suspicion: Formula = TRUE


def prove(
    space: Space,
    goal: Formula,
    given: Formula,
    steps: int,
    closed: frozenset[int] = frozenset(),
) -> Attempt:
    """A search of at most `steps` steps for a proof that `given` entails `goal`.

    It does not look into the definitions of the variables in `closed`.
    """
    search = _Search(space, steps, closed)
    try:
        step = search.start(space.concrete_formula(goal), space.concrete_formula(given))
    except OutOfSteps:
        step = None
    if step is not None:
        return Attempt(Certificate(space, given, goal, step))
    leaf = search.open_leaf
    return Attempt(None, TRUE if leaf is None else conjunction(*leaf.formulas))


class _Search:
    def __init__(self, space: Space, steps: int, closed: frozenset[int]):
        self._space, self._closed = space, closed
        self._contexts = Contexts()
        self._elimination = Elimination(space, self._contexts, steps, closed)
        self.open_leaf: Context | None = None

    def start(self, goal: Formula, given: Formula) -> Step | None:
        """A proof of `goal` from `given`."""
        return self._formula(goal, self._contexts.make((given,)))

    def _formula(self, goal: Formula, context: Context) -> Step | None:
        if goal == TRUE:
            return Trivial()
        if goal in context.formulas:
            return Assumed()
        if isinstance(goal, And):
            return self._every(goal.parts, context)
        if isinstance(goal, AtLeast):
            step = self._elimination.at_least_zero(goal.poly, context)
            if step is not None:
                return step
        denied = self._contexts.assume(context, negate(goal))
        part = self._false(denied, denied.formulas, MAX_SPLITS)
        return None if part is None else Refuted(part)

    def _every(self, goals: Iterable[Formula], context: Context) -> Step | None:
        parts = []
        for goal in goals:
            part = self._formula(goal, context)
            if part is None:
                return None
            parts.append(part)
        return Every(tuple(parts))

    def _false(self, context: Context, suspects: Iterable[Formula], splits: int) -> Step | None:
        """A proof that what is given cannot be; any contradiction needs one of `suspects`."""
        found = equation(context) if len(context.solved) < MAX_SOLVED else None
        if found is not None:
            return self._false_with_value(context, *found, splits)
        for suspect in suspects:
            part = self._opposite(suspect, context)
            if part is not None:
                return Clash(suspect, part)
        return self._split(context, splits)

    def _false_with_value(
        self, context: Context, variable: int, value: Poly, splits: int
    ) -> Step | None:
        context = self._contexts.replace(context, variable, value)
        computed = self._computed(context)
        if computed is None:
            part = self._false(context, context.formulas, splits)
        else:
            index, number = computed
            context = self._contexts.assume(context, eq(Poly.variable(index), number))
            part = self._false(context, context.formulas, splits)
            part = None if part is None else Computed(index, part)
        return None if part is None else Replaced(variable, value, part)

    def _computed(self, context: Context) -> tuple[int, int] | None:
        """A defined variable all of whose arguments are numbers now, and its value, if new."""
        known = constants(context.formulas)
        for index in self._closure(context):
            value = computed_value(self._space[index].definition, known)
            if value is not None and known.get(index) != value:
                return index, value
        return None

    def _opposite(self, fact: Formula, context: Context) -> Step | None:
        """A proof of the opposite of something given."""
        if fact == FALSE:
            return Trivial()
        if isinstance(fact, AtLeast):
            return self._elimination.at_least_zero(-fact.poly - 1, context)
        return Assumed() if negate(fact) in context.others else None

    def _split(self, context: Context, splits: int) -> Step | None:
        """A proof that no alternative can be of the disjunction with the fewest that are open."""
        found = min(self._disjunctions(context), key=lambda known: known.open, default=None)
        if found is None:
            self.open_leaf = self.open_leaf or context
        if found is None or (splits == 0 and found.open > 1):
            return None
        parts = []
        for alternative in found.alternatives:
            branch = self._contexts.assume(context, alternative, found.source)
            part = self._false(branch, conjuncts(alternative), splits - (found.open > 1))
            if part is None:
                return None
            parts.append(part)
        return Cases(found.source, tuple(parts))

    def _disjunctions(self, context: Context) -> Iterator[_Disjunction]:
        """What holds in one of several ways, none of which is already known to be the one."""
        box = self._box(context)
        for source, alternatives in self._alternatives(context):
            outlooks = [_outlook(alternative, box) for alternative in alternatives]
            if True not in outlooks:
                yield _Disjunction(source, alternatives, outlooks.count(None))

    def _alternatives(self, context: Context) -> Iterator[tuple[Or | int, tuple[Formula, ...]]]:
        """Listed values of axes, given disjunctions, other definitions: the best splits first."""
        listed, derived = [], []
        for index in self._closure(context):
            variable = self._space[index]
            if variable.cases and index not in context.split and index not in self._closed:
                free = isinstance(variable.definition, Free)
                (listed if free else derived).append((index, variable.cases))
        yield from listed
        yield from ((choice, choice.parts) for choice in context.choices)
        yield from derived

    def _box(self, context: Context) -> Box:
        """Bounds that the facts imply at once; where these leave nothing, the ranges alone."""
        closure = self._closure(context)
        whole = {index: self._space[index].interval for index in closure}
        box = dict(whole)
        return box if Constraints(context.facts).narrow(box) else whole

    def _closure(self, context: Context) -> list[int]:
        return self._space.closure(p for formula in context.formulas for p in polynomials(formula))


@dataclass(frozen=True)
class _Disjunction:
    """Alternatives of which one holds, `open` of which the variables' bounds leave possible."""

    source: Or | int
    alternatives: tuple[Formula, ...]
    open: int


def _outlook(formula: Formula, box: Box) -> bool | None:
    """Whether bounds of variables make a conjunction true or false; None if neither."""
    outlooks = {
        _sign(part.poly, box) if isinstance(part, AtLeast) else None for part in conjuncts(formula)
    }
    return False if False in outlooks else None if None in outlooks else True


def _sign(poly: Poly, box: Box) -> bool | None:
    low, high = range_in(poly, box)
    if low is not None and low >= 0:
        return True
    return False if high is not None and high < 0 else None
