"""What every definition of a variable says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgen.algebra.formula import TRUE, Formula
from kgen.algebra.interval import Interval
from kgen.algebra.poly import Poly

IntervalOf = Callable[[Poly], Interval]
ValueOf = Callable[[Poly], "int | None"]
TruthOf = Callable[[Formula], "bool | None"]


@dataclass(frozen=True)
class Fact:
    """`poly >= 0` wherever `condition` holds."""

    poly: Poly
    condition: Formula = TRUE


class Definition:
    """The meaning of a variable `x`.

    Whoever uses a fact must prove its condition on the spot, so that a definition whose arguments
    left their domain (by a substitution, say) can never make facts that contradict each other. All
    of kgen's proofs rest on these statements; `kgen.algebra.sympy_meaning` states them a second
    time.
    """

    def facts(self, x: Poly) -> Iterator[Fact]:
        """Inequalities, each under the condition where it is true."""
        return iter(())

    def cases(self, x: Poly) -> tuple[Formula, ...]:
        """Alternatives of which at least one holds, always; none where nothing is to be split."""
        return ()

    def interval(self, of: IntervalOf) -> Interval:
        """Constant bounds that hold always, from the bounds `of` the arguments."""
        return Interval()

    def evaluate(self, value: ValueOf, truth: TruthOf) -> int | None:
        """The exact value, from those of the arguments; None where unknown or undefined."""
        return None

    def arguments(self) -> Iterator[Poly]:
        """The polynomials that `x` depends on."""
        return iter(())
