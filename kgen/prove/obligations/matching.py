"""The indices of what a family declares to be read, told from the coordinates of an access: whole, in quotient and
remainder, or through entries of a table.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgen.algebra import TRUE, Formula, Poly, Space, conjunction, ge, lt, negate
from kgen.algebra.definitions import TableEntry
from kgen.algebra.division import Remainder, Rounding
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import EntryOf, Part, Reads
from kgen.prove.obligations.bounds import located, reached
from kgen.prove.obligations.digits import NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.place import Place


@dataclass(frozen=True)
class Used:
    """Of an entry of a table: where its load is not masked off, and what holds of an entry for which an element is read."""

    loaded: Formula
    used: Formula


class Match:
    """The `indices` of a declared element, from the coordinates of an access, and which entries have to be `used` for it.

    Raises NotDigits where the access is no such element.
    """

    def __init__(self, engine: Engine, place: Place, reads: Reads):
        self._engine, self._place, self._reads = engine, place, reads
        self._whole: dict[str, Poly] = {}
        self._quotients: dict[tuple[str, Poly], Poly] = {}
        self._remainders: dict[tuple[str, Poly], Poly] = {}
        self.used: list[Used] = []
        self.indices = self._found()

    def _found(self) -> dict[str, Poly]:
        place = located(self._engine, self._place.access)
        if place is None:
            raise NotDigits("the coordinates are not known")
        for part, poly in zip(self._reads.at, place, strict=True):
            if isinstance(part, EntryOf):
                self._entry(part, poly)
            else:
                self._part(part, poly)
        for key, quotient in self._quotients.items():
            self._recombined(key, quotient)
        if set(self._whole) != set(self._reads.indices):
            missing = sorted(set(self._reads.indices) - set(self._whole))
            raise NotDigits(f"the access does not tell {', '.join(missing)}")
        return self._whole

    def _part(self, part: Part, poly: Poly) -> None:
        if part.first is not None:
            poly = self._behind(part.first, poly)
        key = (part.index, part.divisor)
        if part.kind == "quotient":
            self._quotients[key] = poly
        elif part.kind == "remainder":
            self._remainders[key] = poly
        elif self._whole.setdefault(part.index, poly) != poly:
            raise NotDigits(f"two coordinates disagree about {part.index}")

    def _behind(self, part: EntryOf, poly: Poly) -> Poly:
        """What is left of a coordinate behind an entry of the table."""
        space = self._engine.space
        for variable in space.concrete(poly).variables:
            definition = space[variable].definition
            if isinstance(definition, TableEntry) and definition.table.name == part.tensor:
                entry = Poly.variable(variable)
                self._entry(part, entry)
                return space.concrete(poly) - entry
        shown = self._engine.text(poly)
        raise NotDigits(f"the coordinate {shown} begins with no entry of {part.tensor}")

    def _entry(self, part: EntryOf, poly: Poly) -> None:
        """The coordinate is an entry of the table, or a part of one, really loaded wherever it is used."""
        engine, space = self._engine, self._engine.space
        if part.kind == "remainder" and part.divisor.constant == 1 and poly == Poly.of(0):
            return
        entry = self._entry_in(part, poly)
        if entry is None:
            raise NotDigits(f"the coordinate {engine.text(poly)} is no entry of {part.tensor}")
        definition = space[max(entry.variables)].definition
        where = coordinates(space, definition.address, engine.world.tensors[part.tensor])
        if where is None:
            raise NotDigits(f"the coordinate {engine.text(poly)} is no entry of {part.tensor}")
        here, used = reached(self._place.access), part.used(entry)
        natural = TRUE if part.kind == "whole" else ge(entry, 0)
        if not engine.proves(conjunction(used, natural), *here):
            raise NotDigits(f"an entry of {part.tensor} may be used that stands for no element")
        if not self._loaded(part, definition):
            raise NotDigits(f"an entry of {part.tensor} may be used that its load masked off")
        if used != TRUE:
            self.used.append(Used(definition.mask, used))
        for inner, coordinate in zip(part.at, where, strict=True):
            self._part(inner, coordinate)

    def _loaded(self, part: EntryOf, entry: TableEntry) -> bool:
        """Whether an entry for which an element is read was not masked off: what stands for those that are may be no such
        entry.
        """
        here = reached(self._place.access)
        if entry.other is not None and self._engine.proves(negate(part.used(entry.other)), *here):
            return True
        return self._engine.proves(entry.mask, *here)

    def _entry_in(self, part: EntryOf, poly: Poly) -> Poly | None:
        """The entry of the table that a coordinate is, or that it is the quotient or remainder of."""
        space, table = self._engine.space, self._engine.world.tensors[part.tensor].contents.table
        for variable in sorted(space.closure((poly,))):
            definition, entry = space[variable].definition, Poly.variable(variable)
            if isinstance(definition, TableEntry) and definition.table == table:
                if poly in _parts(space, part, entry):
                    return entry
        return None

    def _recombined(self, key: tuple[str, Poly], quotient: Poly) -> None:
        """`p // n` and `p % n`, the latter from 0 to n - 1, are p."""
        index, divisor = key
        remainder = self._remainders.get(key)
        if remainder is None:
            raise NotDigits(f"the access does not tell {index} % {self._engine.text(divisor)}")
        within = conjunction(ge(remainder, 0), lt(remainder, divisor))
        if not self._engine.proves(within, *reached(self._place.access)):
            raise NotDigits(
                f"{self._engine.text(remainder)} may be no remainder by {self._engine.text(divisor)}"
            )
        self._whole[index] = self._joined(divisor * quotient + remainder)

    def _joined(self, poly: Poly) -> Poly:
        """`b * (a // b) + a % b` as a, which it is where it is computed at all."""
        space = self._engine.space
        for variable in sorted(poly.variables, reverse=True):
            definition = space[variable].definition
            if isinstance(definition, Remainder) and poly.split(variable)[0].constant == 1:
                natural = conjunction(ge(definition.dividend, 0), ge(definition.divisor, 1))
                if self._engine.proves(natural, *reached(self._place.access)):
                    value = definition.dividend - definition.divisor * definition.quotient
                    poly = poly.substitute({variable: value})
        return poly


def _parts(space: Space, part: EntryOf, entry: Poly) -> list[Poly]:
    """What a coordinate may be that says `part` of an entry that is not negative: both roundings agree there."""
    if part.kind == "whole":
        return [entry]
    divide = space.quotient if part.kind == "quotient" else space.remainder
    return [divide(entry, part.divisor, rounding) for rounding in Rounding]
