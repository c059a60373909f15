"""Statements about one launcher, decided by `kgen.algebra` and remembered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kgen.algebra import (
    FALSE,
    TRUE,
    Certificate,
    Formula,
    Kind,
    Poly,
    Space,
    Status,
    Verdict,
    conjunction,
    decide,
    formula_text,
    opened,
    poly_text,
)
from kgen.algebra.formula import polynomials
from kgen.algebra.definitions import Fixed, Free
from kgen.prove.facts import Fact, World
from kgen.prove.obligations.rows import Rows

STEPS = 1500
TRIES = 60
OPEN: frozenset[int] = frozenset()
QUICK_TRIES = 12
FIRST = 240
MIDDLE = 400
EFFORT = 9000
"""Steps of long searches that may find nothing, in one world: a proof needs few of them, a mistake brings many."""
IDLE = 300
"""Steps for showing that a statement is never reached."""
SHORT = 60
"""Steps of a search that uses only the nearest premise: few premises mislead less."""


@dataclass
class Engine:
    """Decides statements in the space of one world.

    `certificates` has every proof that was found, `used` those proofs in the order in which they were asked for,
    `lemmas` what was proved on the way, for the use of later proofs. `rows` knows of sums and counts of lanes what no
    polynomial says.
    """

    world: World
    certificates: list[Certificate] = field(default_factory=list)
    lemmas: list[Fact] = field(default_factory=list)
    used: list[Certificate] = field(default_factory=list)
    _known: dict[tuple[Formula, Formula], Verdict] = field(default_factory=dict)
    _digits: dict[str, Poly] = field(default_factory=dict)
    _left: int = EFFORT
    _computed: frozenset[int] = frozenset()
    """What the launcher computed: to a kernel these are numbers with bounds, most of the time."""

    def __post_init__(self) -> None:
        self.rows = Rows(self.space, self.soon_proves)
        everything = range(len(self.space))
        self._computed = frozenset(v for v in everything if not self._is_given(v))

    def _is_given(self, variable: int) -> bool:
        return isinstance(self.space[variable].definition, (Free, Fixed))

    @property
    def space(self) -> Space:
        return self.world.space

    @property
    def facts(self) -> Formula:
        """What holds at every launch."""
        return conjunction(*(fact.formula for fact in self.world.facts))

    def decide(
        self, goal: Formula, *given: Formula, steps: int = STEPS, tries: int = TRIES
    ) -> Verdict:
        """Whether `goal` holds wherever the world's facts and `given` do; what is near the goal comes first."""
        key = (goal, conjunction(*given))
        known = self._known.get(key)
        if known is None or (known.status is Status.UNKNOWN and tries):
            known = self._known[key] = self._decided(goal, given, steps, tries)
            if known.certificate is not None:
                self.certificates.append(known.certificate)
        if known.certificate is not None:
            self.used.append(known.certificate)
        return known

    def proves(self, goal: Formula, *given: Formula, steps: int = STEPS) -> bool:
        """Whether a proof was found; no counterexample is looked for."""
        if goal == TRUE:
            return True
        return self.decide(goal, *given, steps=steps, tries=0).status is Status.PROVED

    def never(self, *given: Formula) -> bool:
        """Whether a short search shows that `given` holds nowhere: what is promised may leave a statement nothing to do."""
        return self.proves(FALSE, *given, steps=IDLE)

    def soon_proves(self, goal: Formula, *given: Formula) -> bool:
        """Whether a search of middling length finds a proof; for what may well be false, and spends no effort then."""
        return self.proves(goal, *given, steps=MIDDLE)

    def lemma(self, formula: Formula, *given: Formula, steps: int) -> bool:
        """Tries to prove something that later proofs may use wherever they speak of its variables.

        What holds only where `given` does helps nobody else, so it is kept only if it was proved without.
        """
        if self.proves(formula, steps=steps):
            about = frozenset().union(*(poly.variables for poly in polynomials(formula)))
            self.lemmas.append(Fact(formula, self.text(formula), about))
            return True
        return bool(given) and self.proves(formula, *given, steps=steps)

    def digit(self, name: str) -> Poly:
        """A natural number of which nothing else is known, the same one for the same name."""
        if name not in self._digits:
            self._digits[name] = self.space.axis(name, 0, None, Kind.LANE)
        return self._digits[name]

    def text(self, thing: Poly | Formula) -> str:
        return (
            poly_text(self.space, thing)
            if isinstance(thing, Poly)
            else formula_text(self.space, thing)
        )

    def _decided(
        self, goal: Formula, given: tuple[Formula, ...], steps: int, tries: int
    ) -> Verdict:
        """Short searches first, then a look for a counterexample, then longer searches, each from other premises: what
        misleads one is not there for another.
        """
        premise = conjunction(*given)
        if (found := self._search(goal, premise, min(FIRST, steps))).proved:
            return found
        if len(given) > 1 and (found := self._search(goal, given[0], min(SHORT, steps))).proved:
            return found
        against = self._sought(goal, premise, min(QUICK_TRIES, tries) if tries else QUICK_TRIES)
        if against.status is Status.REFUTED or steps <= FIRST:
            return against
        if (found := self._search(goal, premise, min(MIDDLE, steps))).proved or steps <= MIDDLE:
            return found if found.proved else against
        for widened, closed in self._ways(premise):
            if (found := self._long_search(goal, widened, steps, closed)).proved:
                return found
        return self._sought(goal, premise, tries) if tries else against

    def _ways(self, premise: Formula) -> Iterator[tuple[Formula, frozenset[int]]]:
        """What a long search starts from, and the definitions that it does not look into."""
        wide = opened(self.space, premise)
        if wide != premise:
            yield wide, OPEN
        yield premise, self._computed
        yield premise, OPEN

    def _long_search(
        self, goal: Formula, premise: Formula, steps: int, closed: frozenset[int]
    ) -> Verdict:
        """A search within what is left of the world's effort, from which a failure is taken."""
        if self._left < steps:
            return Verdict(Status.UNKNOWN, "the effort for one launcher is spent")
        found = self._search(goal, premise, steps, closed)
        if not found.proved:
            self._left -= steps
        return found

    def _search(
        self, goal: Formula, premise: Formula, steps: int, closed: frozenset[int] = OPEN
    ) -> Verdict:
        given = conjunction(premise, self.relevant(goal, premise))
        return decide(self.space, goal, given, steps=steps, tries=0, closed=closed)

    def _sought(self, goal: Formula, premise: Formula, tries: int) -> Verdict:
        """What is left when no proof was found: perhaps a counterexample."""
        given = conjunction(premise, self.relevant(goal, premise))
        return decide(self.space, goal, given, steps=SHORT, tries=tries)

    def relevant(self, goal: Formula, premise: Formula) -> Formula:
        """The facts and lemmas that speak of what the goal and its premise depend on."""
        polys = (*polynomials(goal), *polynomials(premise))
        known = set(self.space.closure(map(self.space.concrete, polys)))
        rows = tuple(self.rows.facts(known))
        every = (*self.lemmas, *self.world.facts)
        return conjunction(*rows, *(fact.formula for fact in every if _matters(fact, known)))


def left_open(verdict: Verdict) -> str:
    """What is said of a statement that was not proved. Values of the engine's own refute nothing before a run shows them."""
    return verdict.text.removeprefix("refuted: ").removeprefix("unknown: ")


def _matters(fact: Fact, known: set[int]) -> bool:
    if fact.about:
        return not fact.about.isdisjoint(known)
    return all(poly.variables <= known for poly in polynomials(fact.formula))
