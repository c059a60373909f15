"""Every element exactly once: of outputs, written; of what a family declares, read.

The program's variables (program ids, loop turns, lanes) and the elements are shown to correspond one to one: the
elements tell the variables (`kgen.prove.obligations.digits`), every access is at one of the elements, and each element's
variables pass the grid, the loop guards, the path and the mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.algebra import (
    Formula,
    Poly,
    Status,
    conjunction,
    conjuncts,
    ge,
    le,
    lt,
)
from kgen.algebra.definitions import TableEntry
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import Reads, Repeat, Rows, TensorFacts
from kgen.prove.obligations.bounds import located, reached
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.matching import Match, Used
from kgen.prove.obligations.model import Obligation
from kgen.prove.obligations.place import Place, demands_of
from kgen.prove.obligations.ranges import neighbouring
from kgen.prove.obligations.rowwise import before_the_next, in_row
from kgen.prove.obligations.statements import as_one
from kgen.prove.obligations.tickets import entered
from kgen.prove.obligations.unrolled import unrolled

SUBJECT = "exactly once"
WRITTEN_TWICE = ("written twice",)
WRITTEN_ONCE = (*WRITTEN_TWICE, "never written")
READ_WRONGLY = ("read wrongly",)
"""What a run has to show for a statement of each kind to be false: of one about writes nothing that it shows of reads."""


@dataclass(frozen=True)
class Index:
    """One index of an element as an access computes it, with its bounds, the upper one excluded."""

    name: str
    poly: Poly
    low: Poly
    high: Poly


@dataclass(frozen=True)
class Elements:
    """The elements of an access, by their indices; where `used` has entries of tables, those of which it holds."""

    indices: tuple[Index, ...]
    used: tuple[Used, ...] = ()


def written_once(
    engine: Engine, launcher: str, tensor: TensorFacts, found: Sequence[Place]
) -> Obligation:
    """Every element of an output is written exactly once."""
    says = f"every element of {tensor.name} is written exactly once"
    if not found:
        return Obligation(
            *(launcher, "", SUBJECT, says, Status.UNKNOWN, "no kernel writes it"),
            tensor=tensor.name,
            shown_by=WRITTEN_ONCE,
        )

    def elements(place: Place) -> Elements:
        coordinates = zip(tensor.dims, _located(engine, place), tensor.extents)
        return Elements(
            tuple(Index(name, poly, Poly.of(0), end) for name, poly, end in coordinates)
        )

    found = _decided(engine, launcher, says, _reachable(engine, found), elements, ())
    return replace(found, shown_by=WRITTEN_ONCE)


def _reachable(engine: Engine, found: Sequence[Place]) -> Sequence[Place]:
    """Those of several statements that some program gets to."""
    if len(found) < 2:
        return found
    return [one for one in found if not engine.never(*reached(one.access))]


def written_at_most_once(
    engine: Engine, launcher: str, tensor: TensorFacts, found: Sequence[Place]
) -> Iterator[Obligation]:
    """No element of scratch is written twice in a launch, for who reads it would not know which value it finds."""
    says = f"no element of {tensor.name} is written twice"
    for number in sorted({place.number for place in found}):
        own = [place for place in found if place.number == number]
        kernel, line = own[0].launch.function, own[0].access.line
        try:
            place = as_one(engine, own)
            dropped, _, _ = entered(place.access.path, place.tickets)
            digits = Digits(engine, demands_of(engine, place, dropped), reached(place.access))
            tell(engine, digits, place)
            for variable in digits.missing:
                digits.only_zero(variable)
            status, evidence = Status.PROVED, "its elements tell the programs that write them"
        except NotDigits as reason:
            status, evidence = Status.UNKNOWN, str(reason)
        yield Obligation(
            *(launcher, kernel, SUBJECT, says, status, evidence, line, tensor.name),
            shown_by=WRITTEN_TWICE,
        )


def tell(engine: Engine, digits: Digits, place: Place) -> None:
    """The digits of every coordinate, each of which stays within its dimension: other coordinates, other elements."""
    tensor = engine.world.tensors[place.access.tensor]
    for name, poly, extent in zip(tensor.dims, _located(engine, place), tensor.extents):
        given = (*reached(place.access), *before_the_next(engine, poly, reached(place.access)))
        within = conjunction(ge(poly, 0), lt(poly, extent))
        if not engine.proves(within, *given):
            raise NotDigits(f"{name} = {engine.text(poly)} may lie outside of its dimension")
        where = _slot(engine, place, poly) or _rowwise(engine, poly, extent, (within, *given))
        if where is None:
            digits.any(name, poly, Poly.of(0), extent)
        for inner, size in where or ():
            digits.any(name, inner, Poly.of(0), size)


def _slot(engine: Engine, place: Place, poly: Poly) -> list[tuple[Poly, Poly]] | None:
    """For an entry of a table whose entries are distinct, its coordinates there with the table's extents."""
    entry = engine.space[max(poly.variables)].definition if len(poly.variables) == 1 else None
    if not isinstance(entry, TableEntry) or poly != Poly.variable(*poly.variables):
        return None
    table = engine.world.tensors[entry.table.name]
    where = coordinates(engine.space, entry.address, table)
    if where is None or not table.contents.distinct:
        return None
    loaded = conjunction(entry.mask, entry.promised)
    inside = (conjunction(ge(c, 0), lt(c, extent)) for c, extent in zip(where, table.extents))
    if not engine.proves(conjunction(loaded, *inside), *reached(place.access)):
        return None
    return list(zip(where, table.extents))


def _rowwise(
    engine: Engine, poly: Poly, extent: Poly, given: Sequence[Formula]
) -> list[tuple[Poly, Poly]] | None:
    """For a place in rows that is no variable itself, its row and where it is in there, if both are below the extent."""
    if len(poly.variables) == 1 and poly == Poly.variable(*poly.variables):
        return None
    found = in_row(engine, poly, given)
    if found is None:
        return None
    parts = (found.row, found.inside)
    if not all(engine.soon_proves(conjunction(ge(p, 0), lt(p, extent)), *given) for p in parts):
        return None
    return [(part, extent) for part in parts]


def all_read(
    engine: Engine, launcher: str, reads: Reads, found: Sequence[Place]
) -> Iterator[Obligation]:
    """Every element that a family declares is read exactly once, and no other: by all statements together, or in several
    passes by each.
    """
    found = [unrolled(engine, place) for place in found]
    together = _read_once(engine, launcher, reads, found)
    if together.status is Status.PROVED or not reads.passes or len(found) < 2:
        yield together
        return
    for place in found:
        yield _read_once(engine, launcher, reads, [place])


def _read_once(engine: Engine, launcher: str, reads: Reads, found: Sequence[Place]) -> Obligation:
    says = (
        f"{reads.tensor} is read exactly once for each {', '.join(reads.indices)}, and nowhere else"
    )
    if not found:
        return Obligation(
            *(launcher, "", SUBJECT, says, Status.UNKNOWN, "no kernel reads it"),
            tensor=reads.tensor,
            shown_by=READ_WRONGLY,
        )

    repeated = found[0].launch.repeats.get(reads.tensor, ())

    def elements(place: Place) -> Elements:
        match = Match(engine, place, reads)
        return _elements(match, reads.bounds(match.indices, _rows(place, repeated)), reads)

    decided = _decided(engine, launcher, says, found, elements, repeated)
    if decided.status is not Status.PROVED and len(found) > 1:
        decided = _in_ranges(engine, reads, found, repeated, decided)
    return replace(decided, shown_by=READ_WRONGLY)


def _rows(place: Place, repeated: Sequence[Repeat]) -> Rows | None:
    """The query rows that a program has of its own."""
    for one in repeated:
        if one.rows is not None:
            return Rows(place.programs[one.dim] * one.rows, one.rows)
    return None


def _elements(match: Match, bounds: Mapping[str, tuple[Poly, Poly]], reads: Reads) -> Elements:
    indices = tuple(Index(name, match.indices[name], *bounds[name]) for name in reads.indices)
    return Elements(indices, tuple(match.used))


def _in_ranges(
    engine: Engine,
    reads: Reads,
    found: Sequence[Place],
    repeated: Sequence[Repeat],
    undecided: Obligation,
) -> Obligation:
    """The obligation where each statement reads a range of one index, and these are neighbours; else as it is."""
    if {(place.number, place.access.kind) for place in found} != {(found[0].number, "load")}:
        return undecided
    try:
        matches = [Match(engine, place, reads) for place in found]
    except NotDigits:
        return undecided
    solved = [match.indices for match in matches]
    bounds = [
        reads.bounds(own, _rows(place, repeated)) for place, own in zip(found, solved, strict=True)
    ]
    divided = neighbouring(engine, found, solved, bounds)
    if divided is None:
        return undecided
    name, ranges = divided
    for place, match, within in zip(found, matches, ranges):
        try:
            one_to_one(engine, place, _elements(match, within, reads), repeated)
        except NotDigits as reason:
            told = f"of its range of {name}: {reason}"
            return replace(undecided, evidence=told, line=place.access.line)
    evidence = (
        f"{len(found)} statements read a range of {name} each, and the ranges are neighbours;"
    )
    evidence += " the elements of each and the program's variables tell each other"
    return replace(undecided, status=Status.PROVED, evidence=evidence)


def _located(engine: Engine, place: Place) -> tuple[Poly, ...]:
    found = located(engine, place.access)
    if found is None:
        raise NotDigits("the coordinates are not known")
    return found


def _decided(
    engine: Engine,
    launcher: str,
    says: str,
    found: Sequence[Place],
    elements: Callable[[Place], Elements],
    repeated: Sequence[Repeat],
) -> Obligation:
    first = found[0]
    kernel, line, tensor = first.launch.function, first.access.line, first.access.tensor
    try:
        place = as_one(engine, found)
        count = one_to_one(engine, place, elements(place), repeated)
    except NotDigits as reason:
        return Obligation(
            launcher, kernel, SUBJECT, says, Status.UNKNOWN, str(reason), line, tensor
        )
    evidence = f"its elements and the program's {count} variables tell each other"
    return Obligation(launcher, kernel, SUBJECT, says, Status.PROVED, evidence, line, tensor)


def one_to_one(engine: Engine, place: Place, elements: Elements, repeated: Sequence[Repeat]) -> int:
    """Raises NotDigits with the reason where elements and variables are not shown to correspond."""
    given = (*reached(place.access), *(entry.loaded for entry in elements.used))
    for index in elements.indices:
        goal = conjunction(ge(index.poly, index.low), lt(index.poly, index.high))
        if not engine.proves(goal, *given):
            shown = engine.text(index.poly)
            raise NotDigits(
                f"{index.name} = {shown} may lie outside {engine.text(index.low)} to {engine.text(index.high)} - 1"
            )
    dropped, granted, _ = entered(place.access.path, place.tickets)
    anew = {*whole(repeated), *_alone(engine, place, repeated)}
    demands = demands_of(engine, place, {*anew, *dropped})
    digits = Digits(engine, demands, given)
    # first which of the neighbours it is, without which an index would not tell the program, nor what later ones go by
    for one in repeated:
        if one.dim not in anew:
            digits.each_of(place.programs[one.dim], one.count)
    for index in elements.indices:
        digits.any(index.name, index.poly, index.low, index.high)
    for variable in digits.missing:
        digits.only_zero(variable)
    digits.learn(place.steps)
    for variable, demand in demands.items():
        check_demand(
            engine,
            digits,
            demand,
            f"an element would need {engine.text(Poly.variable(variable))} outside its range",
        )
    for loop in place.access.loops:
        check_demand(engine, digits, loop.guard, "the loop may end before an element is reached")
    for entry in elements.used:
        # which entries are used is said of those that are loaded
        check_demand(engine, digits, entry.loaded, "an entry may be left unread")
        digits.facts.append(digits.at(entry.used))
    for condition in (*conjuncts(place.access.path), *conjuncts(place.access.mask)):
        if condition not in granted:
            check_demand(engine, digits, condition, "an element may be left out")
    return len(demands)


def whole(repeated: Sequence[Repeat]) -> frozenset[str]:
    """The dimensions along which every program reads anew."""
    return frozenset(one.dim for one in repeated if one.count is None)


def _alone(engine: Engine, place: Place, repeated: Sequence[Repeat]) -> frozenset[str]:
    """The dimensions where neighbours read anew, and the grid has no others than these."""
    grid = {name: engine.space.concrete(extent) for name, extent in place.launch.grid.items()}
    return frozenset(
        one.dim
        for one in repeated
        if one.count is not None and engine.proves(le(grid[one.dim], one.count))
    )


def check_demand(engine: Engine, digits: Digits, condition: Formula, reason: str) -> None:
    if not digits.proves(digits.at(condition)):
        raise NotDigits(f"{reason}: {engine.text(condition)}")
