"""Exact evaluation where variables have values.

Evaluation has a third outcome, not known: a value that is opaque or not given, or an expression
without a value (a division by zero), makes what depends on it unknown, and an unknown formula is
not true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgen.algebra.definition import Definition
from kgen.algebra.definitions import Free, TableEntry
from kgen.algebra.formula import And, AtLeast, Formula, Or, Truth
from kgen.algebra.poly import Poly
from kgen.algebra.space import Space

Tables = Mapping[tuple[str, int], int]


def poly_value(poly: Poly, values: Mapping[int, int | None]) -> int | None:
    """The value of `poly`; None where a variable it mentions has none."""
    if any(values.get(variable) is None for variable in poly.variables):
        return None
    return poly.evaluate(values.__getitem__)


def formula_value(formula: Formula, values: Mapping[int, int | None]) -> bool | None:
    """Whether `formula` is true. A part that decides does so even where others are not known."""
    match formula:
        case Truth(value):
            return value
        case AtLeast(poly):
            number = poly_value(poly, values)
            return None if number is None else number >= 0
        case And(parts):
            found = {formula_value(part, values) for part in parts}
            return False if False in found else None if None in found else True
        case Or(parts):
            found = {formula_value(part, values) for part in parts}
            return True if True in found else None if None in found else False
    return None


def constants(given: Iterable[Formula]) -> dict[int, int]:
    """The variables that two of the given inequalities make equal to a number, with that number."""
    facts = {formula.poly for formula in given if isinstance(formula, AtLeast)}
    found = {}
    for fact in facts:
        if len(fact.variables) == 1 and -fact in facts:
            (variable,) = fact.variables
            if fact.terms.get((variable,)) == 1 and fact.degree(variable) == 1:
                found[variable] = -fact.terms.get((), 0)
    return found


def computed_value(definition: Definition, values: Mapping[int, int]) -> int | None:
    """The value of a defined variable, from those it needs; None where one is missing."""
    return definition.evaluate(
        lambda poly: poly_value(poly, values), lambda formula: formula_value(formula, values)
    )


class Valuation(Mapping[int, "int | None"]):
    """The value of every variable of a space, at given values of the free ones and of table
    entries.

    None is a value that is not known.
    """

    def __init__(self, space: Space, values: Mapping[int, int], tables: Tables):
        self._space = space
        self._values: dict[int, int | None] = dict(values)
        self._tables = tables

    def __len__(self) -> int:
        return len(self._space)

    def __iter__(self) -> Iterable[int]:
        return iter(range(len(self._space)))

    def __getitem__(self, index: int) -> int | None:
        if index not in self._values:
            self._values[index] = self._computed(index)
        return self._values[index]

    def poly(self, poly: Poly) -> int | None:
        """The value of a polynomial."""
        return poly_value(poly, self)

    def formula(self, formula: Formula) -> bool | None:
        """Whether a formula is true."""
        return formula_value(formula, self)

    def _computed(self, index: int) -> int | None:
        definition = self._space[index].definition
        if isinstance(definition, TableEntry) and self.formula(definition.mask):
            address = self.poly(definition.address)
            return None if address is None else self._tables.get((definition.table.name, address))
        return computed_value(definition, self)

    def in_range(self, indices: Iterable[int]) -> bool:
        """Whether every free variable and table entry among `indices`, in ascending order, obeys
        its definition.

        An entry without a value obeys; what depends on it is unknown anyway.
        """
        return all(self._obeys(index) for index in indices)

    def _obeys(self, index: int) -> bool:
        variable, value = self._space[index], self[index]
        if value is None or not isinstance(variable.definition, (Free, TableEntry)):
            return True
        stated = [fact for fact in variable.facts if self.formula(fact.condition)]
        if not all(self.formula(AtLeast(fact.poly)) for fact in stated):
            return False
        return not variable.cases or any(self.formula(case) for case in variable.cases)
