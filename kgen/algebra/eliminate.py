"""Elimination: the search for proofs of one inequality.

To prove `p = slope * v + offset >= 0`, take a variable `v` of `p`, the highest number first
(defined variables come after their arguments), and a fact `bound * v + rest >= 0`; subtract a
nonnegative multiple of the fact so that `v` cancels, and prove what is left. Integers allow `scale
- 1` more on the way, which is what makes bounds of quotients come out. An eliminated variable does
not return, so the search ends. Where no fact helps and the definition of `v` has two cases, each
case is proved.

Effort is counted in steps, never in time, so that the result is the same on every machine.
"""

from __future__ import annotations

from kgen.algebra.candidates import Candidate, Candidates, multipliers
from kgen.algebra.certificate import (
    Assumed,
    Bounded,
    Cases,
    Combined,
    Every,
    FromDefinition,
    Powers,
    Replaced,
    Step,
    Trivial,
)
from kgen.algebra.context import Context, Contexts, stated_value
from kgen.algebra.formula import TRUE, And, AtLeast, Formula, conjunction
from kgen.algebra.point import some_points
from kgen.algebra.poly import ONE, Poly
from kgen.algebra.space import Space
from kgen.algebra.valuation import Valuation

MAX_DEPTH = 24
ROUNDS = ((3, 40), (5, 80), (8, 400), (12, 1500), (MAX_DEPTH, 1 << 30))
"""Depths that are tried in turn, and the most steps for each."""
MAX_TRIED = 2
POINTS = 2
"""Tries at points at which goals are tested."""
NONE_GONE: frozenset[int] = frozenset()
TRIVIAL, BOUNDED, ASSUMED = Trivial(), Bounded(), Assumed()


class OutOfSteps(Exception):
    """The search took as many steps as it may."""


class Elimination:
    """Proves inequalities within a budget of steps that all its searches share."""

    def __init__(
        self,
        space: Space,
        contexts: Contexts,
        steps: int,
        closed: frozenset[int] = frozenset(),
    ):
        self._space = space
        self._contexts = contexts
        self._steps = steps
        self._closed = closed
        self._left, self._cut = MAX_DEPTH, False
        self._candidates = Candidates(space, closed)
        self._pairs: dict[tuple[Poly, Poly], tuple[tuple[Poly, Poly], ...]] = {}
        self._found: dict[tuple[Context, Poly], Step] = {}
        self._failed: dict[tuple[Context, Poly, frozenset[int]], int] = {}
        self._points: list[Valuation] | None = None
        self._witnesses: dict[Context, list[Valuation]] = {}

    def at_least_zero(self, p: Poly, context: Context) -> Step | None:
        """A proof of `p >= 0`, None if none is found. Shallow proofs are sought first, for a wrong
        first step may lead deep.

        Raises OutOfSteps where the budget ends.
        """
        total, step = self._steps, None
        for number, (depth, share) in enumerate(ROUNDS):
            if number == 1 and self._points is None:
                self._points = self._sampled(context)
            self._left, self._cut = depth, False
            self._steps = min(share, total)
            total -= self._steps
            try:
                step = self._proof(p, context, NONE_GONE)
            except OutOfSteps:
                self._cut = True
            total += self._steps
            if step is not None or not self._cut:
                break
        self._steps = total
        if step is None and total == 0:
            raise OutOfSteps
        return step

    def _proof(self, p: Poly, context: Context, gone: frozenset[int]) -> Step | None:
        """A proof of `p >= 0` that brings back none of the variables in `gone`."""
        value = p.constant
        if value is not None:
            return TRIVIAL if value >= 0 else None
        p = p.tightened()
        low, high = self._space.interval(p)
        if low is not None and low >= 0:
            return BOUNDED
        known = ASSUMED if p in context.stated else self._found.get((context, p))
        if known is not None:
            return known
        if high is not None and high < 0:
            return None  # only what contradicts the constant bounds could prove it
        if self._left == 0:
            self._cut = True
            return None
        key = (context, p, gone)
        if self._failed.get(key, 0) >= self._left or self._is_false_somewhere(p, context):
            return None
        if self._steps == 0:
            raise OutOfSteps
        self._steps -= 1
        self._failed[key] = MAX_DEPTH  # a goal that comes up again inside its own proof is a cycle
        self._left -= 1
        try:
            step = self._by_some_variable(p, context, gone)
        finally:
            self._left += 1
            self._failed[key] = self._left
        if step is not None:
            del self._failed[key]
            self._found[context, p] = step
        return step

    def _sampled(self, context: Context) -> list[Valuation]:
        """A few points where everything holds that is given at first."""
        given = conjunction(*context.formulas)
        return list(some_points(self._space, given, (), tries=POINTS))

    def _is_false_somewhere(self, p: Poly, context: Context) -> bool:
        """Whether `p >= 0` is false at a point that was sampled, so that nothing can prove it.

        Points cost as much as many steps: they are drawn for what the first round leaves open.
        """
        if not self._points:
            return False
        points = self._witnesses.get(context)
        if points is None:
            given = conjunction(*context.formulas)
            points = [point for point in self._points if point.formula(given)]
            self._witnesses[context] = points
        return any((point.poly(p) or 0) < 0 for point in points)

    def _by_some_variable(self, p: Poly, context: Context, gone: frozenset[int]) -> Step | None:
        for v in sorted(p.variables, reverse=True)[:MAX_TRIED]:
            step = self._without(p, v, context, gone)
            if step is not None:
                return step
        return None

    def _without(self, p: Poly, v: int, context: Context, gone: frozenset[int]) -> Step | None:
        if p.degree(v) > 1:
            step = self._by_powers(p, v, context, gone)
            if step is not None:
                return step
        slope = p.split(v)[0]
        for candidate in self._candidates.of(v, context):
            if gone.isdisjoint(candidate.others):
                step = self._combined(p, v, slope, candidate, context, gone)
                if step is not None:
                    return step
        return None if v in gone else self._by_cases(p, v, context, gone)

    def _by_powers(self, p: Poly, v: int, context: Context, gone: frozenset[int]) -> Step | None:
        parts = []
        for poly in (Poly.variable(v), *(c for _, c in sorted(p.powers(v).items()))):
            part = self._proof(poly, context, gone)
            if part is None:
                return None
            parts.append(part)
        return Powers(v, parts[0], tuple(parts[1:]))

    def _combined(
        self,
        p: Poly,
        v: int,
        slope: Poly,
        candidate: Candidate,
        context: Context,
        gone: frozenset[int],
    ) -> Step | None:
        """`p >= 0` by the multiple of the candidate that cancels `v`, or lowers its power."""
        fact = candidate.fact
        lowers_only = v in slope.variables
        inner = gone if lowers_only else gone | {v}
        for factor, scale in self._multipliers(slope, candidate.bound):
            if lowers_only and scale != ONE:
                continue
            signs = self._all_at_least_zero((scale - 1, factor), context, inner)
            if signs is None:
                continue
            origin = self._origin(candidate, context)
            if origin is None and candidate.owner is not None:
                return None
            rest = self._proof(p.eliminated(scale, factor, fact), context, inner)
            if rest is not None:
                return Combined(fact, origin, scale, factor, *signs, rest)
        return None

    def _multipliers(self, slope: Poly, bound: Poly) -> tuple[tuple[Poly, Poly], ...]:
        pairs = self._pairs.get((slope, bound))
        if pairs is None:
            pairs = self._pairs[slope, bound] = tuple(multipliers(slope, bound))
        return pairs

    def _all_at_least_zero(
        self, polys: tuple[Poly, ...], context: Context, gone: frozenset[int]
    ) -> list[Step] | None:
        steps = []
        for poly in polys:
            step = self._proof(poly, context, gone)
            if step is None:
                return None
            steps.append(step)
        return steps

    def _origin(self, candidate: Candidate, context: Context) -> FromDefinition | None:
        if candidate.owner is None:
            return None
        condition = self._condition(candidate.condition, context)
        if condition is None:
            return None
        return FromDefinition(candidate.owner, candidate.number, condition)

    def _condition(self, formula: Formula, context: Context) -> Step | None:
        """A proof of the condition of a fact, without case splits of its own.

        It is a statement of its own, so it may speak of any variable; and what was found out about
        it holds for every goal on the way to which it is needed.
        """
        match formula:
            case AtLeast(poly):
                return self._proof(poly, context, NONE_GONE)
            case And(parts):
                steps = []
                for part in parts:
                    step = self._condition(part, context)
                    if step is None:
                        return None
                    steps.append(step)
                return Every(tuple(steps))
        if formula == TRUE:
            return TRIVIAL
        return ASSUMED if formula in context.formulas else None

    def _by_cases(self, p: Poly, v: int, context: Context, gone: frozenset[int]) -> Step | None:
        """`p >= 0` in both cases of the definition of `v`."""
        cases = self._space[v].cases
        if len(cases) != 2 or v in self._closed or v in context.split or v in context.solved:
            return None
        parts = []
        for case in cases:
            part = self._in_case(p, v, case, context, gone)
            if part is None:
                return None
            parts.append(part)
        return Cases(v, tuple(parts))

    def _in_case(
        self, p: Poly, v: int, case: Formula, context: Context, gone: frozenset[int]
    ) -> Step | None:
        branch = self._contexts.assume(context, case, v)
        value = stated_value(case, v)
        if value is None:
            return self._proof(p, branch, gone)
        branch = self._contexts.replace(branch, v, value)
        part = self._proof(p.substitute({v: value}), branch, gone)
        return None if part is None else Replaced(v, value, part)
