"""The facts that a variable can be eliminated with, prepared once for each variable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from kgen.algebra.context import Context
from kgen.algebra.formula import TRUE, Formula
from kgen.algebra.poly import ONE, Poly
from kgen.algebra.space import Space


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """`fact >= 0`, which is `bound * v + rest`, and has the variables `others` beside `v`.

    It is given, or of the definition of `owner` on `condition`.
    """

    fact: Poly
    bound: Poly
    others: frozenset[int]
    owner: int | None = None
    number: int = 0
    condition: Formula = TRUE


class Candidates:
    """Candidates for the variables of one space, without the definitions of those in `closed`."""

    def __init__(self, space: Space, closed: frozenset[int]):
        self._space = space
        self._closed = closed
        self._given: dict[tuple[Context, int], list[Candidate]] = {}
        self._stated: dict[tuple[int, int], list[Candidate]] = {}

    def of(self, v: int, context: Context) -> list[Candidate]:
        """Facts with `v`: given, its own (simplest first), of given variables defined by it."""
        found = self._given.get((context, v))
        if found is None:
            found = self._given[context, v] = list(self._all(v, context))
        return found

    def _all(self, v: int, context: Context) -> Iterator[Candidate]:
        for fact in context.facts:
            if fact.degree(v) == 1:
                yield Candidate(fact, fact.split(v)[0], fact.variables - {v})
        for owner in (v, *sorted(user for user in context.variables if user > v)):
            if owner not in self._closed:
                yield from self._of_definition(owner, v)

    def _of_definition(self, owner: int, v: int) -> list[Candidate]:
        """What the definition of `owner` says of `v`, the simplest first."""
        found = self._stated.get((owner, v))
        if found is None:
            found = [
                Candidate(
                    fact.poly,
                    fact.poly.split(v)[0],
                    fact.poly.variables - {v},
                    owner,
                    number,
                    fact.condition,
                )
                for number, fact in enumerate(self._space[owner].facts)
                if fact.poly.degree(v) == 1
            ]
            found.sort(key=lambda candidate: _complexity(candidate.fact))
            self._stated[owner, v] = found
        return found


def _complexity(fact: Poly) -> tuple[int, int]:
    """What a step with the fact is likely to leave: products, then terms."""
    return max(map(len, fact.terms), default=0), len(fact.terms)


def multipliers(slope: Poly, bound: Poly) -> Iterator[tuple[Poly, Poly]]:
    """Pairs `(factor, scale)` with `scale * slope == factor * bound` for which a nonnegative factor
    and a positive scale are possible.
    """
    common = slope.common_term(bound)
    factor, scale = slope.divide_by_term(common)[0], bound.divide_by_term(common)[0]
    if factor == scale:
        yield ONE, ONE
    elif factor != -scale:
        for one, other in ((factor, scale), (-factor, -scale)):
            if (one.constant or 0) >= 0 and (other.constant or 1) > 0:
                yield one, other
