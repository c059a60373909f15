"""Names and literals that are others everywhere: one fact for all the lines that show it.

A rename is taken for one only where it is a bijection in the whole unit between names that the files themselves give,
so that the two texts mean the same. A literal counts where it is the whole value of a name (`BLOCK_N=128`), or where it
is the value that a key of the spec has on both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from kgen.diff.alignment import Step
from kgen.diff.model import Spot, Substitution
from kgen.diff.pairing import Pair
from kgen.diff.pieces import Piece, is_attribute, names

Values = tuple[str, str]
"""A literal or name of A, and that of B in its place."""


@dataclass(frozen=True)
class Aligned:
    """Two units with their steps."""

    pair: Pair
    steps: tuple[Step, ...]

    def differing(self) -> Iterator[tuple[Piece, Piece, int]]:
        """Each word that differs between pieces of one shape."""
        for step in self.steps:
            if step.alike:
                one, two = step.a[0], step.b[0]
                for at, (old, new) in enumerate(zip(one.words, two.words)):
                    if old != new:
                        yield one, two, at


def renames(
    found: Sequence[Aligned], functions: Mapping[str, str], given: tuple[set[str], set[str]]
) -> list[dict[str, str]]:
    """For each aligned pair, A's names that have others in B.

    `functions` are those of paired functions; `given` the other names that each file gives.
    """
    sure = [_renamed(one, given) for one in found]
    everywhere = {**functions, **{old: new for own in sure for old, new in own.items()}}
    return [{**_possible(one, everywhere), **own} for one, own in zip(found, sure)]


def _possible(one: Aligned, known: Mapping[str, str]) -> dict[str, str]:
    """Those renames that may be ones in this unit too: B has the new name and A has not, and the other way round."""
    in_a, in_b = (names(unit.pieces) for unit in one.pair)
    only_a, only_b = in_a - in_b, in_b - in_a
    return {old: new for old, new in known.items() if old in only_a and new in only_b}


def _renamed(one: Aligned, given: tuple[set[str], set[str]]) -> dict[str, str]:
    """The renames that a unit shows by itself; none where most of it is another text."""
    alike = sum(step.alike for step in one.steps)
    if 2 * alike < max(len(unit.pieces) for unit in one.pair):
        return {}
    forth: dict[str, set[str]] = defaultdict(set)
    back: dict[str, set[str]] = defaultdict(set)
    shown: set[Values] = set()
    for old, new, at in one.differing():
        if old.words[at][0] == "name" and not is_attribute(old, at):
            values = old.words[at][1], new.words[at][1]
            forth[values[0]].add(values[1])
            back[values[1]].add(values[0])
            if _literals(old) == _literals(new):
                shown.add(values)
    single = {old: new for old, (new, *rest) in forth.items() if not rest and len(back[new]) == 1}
    own = {
        old: new
        for old, new in single.items()
        if (old, new) in shown and old in given[0] and new in given[1]
    }
    return _possible(one, own)


def _literals(piece: Piece) -> list[str]:
    return [word for kind, word in piece.words if kind == "literal"]


@dataclass(frozen=True)
class Constants:
    """Pairs of literals with the names that have them as values.

    Those `anywhere` are of the spec's keys and count wherever they stand. The others count where a literal is the whole
    value of a name: elsewhere the same numbers may be something else.
    """

    names: Mapping[Values, set[str]]
    anywhere: Set[Values]

    def has(self, old: Piece, new: Piece, at: int, renamed: Mapping[str, str]) -> bool:
        """Whether the literals at a place of two pieces are such a pair there."""
        pair = old.words[at][1], new.words[at][1]
        if old.words[at][0] != "literal" or pair not in self.names:
            return False
        return pair in self.anywhere or bool(_named(old, new, at, renamed))


def named_constants(
    found: Sequence[Aligned],
    renamed: Sequence[Mapping[str, str]],
    known: Mapping[Values, set[str]],
) -> Constants:
    """The pairs of literals that are the whole value of one name in both somewhere, on top of those `known`."""
    names_of = defaultdict(set, {values: set(names) for values, names in known.items()})
    for one, own in zip(found, renamed):
        for old, new, at in one.differing():
            name = _named(old, new, at, own)
            if name:
                values = old.words[at][1], new.words[at][1]
                names_of[values].add(_one_name(name, names_of[values]))
    return Constants(dict(names_of), known.keys())


def _named(old: Piece, new: Piece, at: int, renamed: Mapping[str, str]) -> str:
    """The name that has the literals at a place as its whole value in both, or nothing."""
    name = _value_of(old, at)
    return name if name and _value_of(new, at) == renamed.get(name, name) else ""


def _one_name(name: str, known: set[str]) -> str:
    """`NUM_WARPS` for an option `num_warps` that has the parameter's value."""
    return name.upper() if name.upper() in known else name


def _value_of(piece: Piece, at: int) -> str:
    """The name that a literal is the whole value of, or nothing."""
    words = piece.words
    if words[at][0] != "literal" or at < 2 or words[at - 1][1] != "=":
        return ""
    ends = at + 1 == len(words) or words[at + 1][1] in (",", ")", "]", "}")
    # in a comment, where every word is told apart by its characters alone, names are words
    name = words[at - 2][1]
    return name if ends and name.isidentifier() else ""


def explains(old: Piece, new: Piece, renamed: Mapping[str, str], constants: Constants) -> bool:
    """Whether renames and constants turn one piece into the other."""
    if old.shape != new.shape:
        return False
    for at, ((kind, before), (_, after)) in enumerate(zip(old.words, new.words)):
        if kind == "name" and not is_attribute(old, at):
            before = renamed.get(before, before)
        elif kind == "literal" and before[1:-1] in renamed:
            # a parameter's name in a list of those that are not specialised
            before = f"{before[0]}{renamed[before[1:-1]]}{before[-1]}"
        if before != after and not constants.has(old, new, at, renamed):
            return False
    return True


def told(
    found: Sequence[Aligned],
    renamed: Sequence[Mapping[str, str]],
    constants: Constants,
) -> tuple[tuple[Substitution, ...], tuple[Substitution, ...]]:
    """Constants and renames with every place where one stands."""
    literal: dict[tuple[str, str, str], list[Spot]] = defaultdict(list)
    name: dict[tuple[str, str, str], list[Spot]] = defaultdict(list)
    for one, own in zip(found, renamed):
        for old, new, at in one.differing():
            values = old.words[at][1], new.words[at][1]
            spot = Spot(one.pair[1].name, old.first, new.first)
            if constants.has(old, new, at, own):
                names = constants.names[values]
                whose = _one_name(_value_of(old, at), names) or " or ".join(sorted(names))
                literal[whose, *values].append(spot)
            elif own.get(values[0]) == values[1]:
                name["", *values].append(spot)
    return _substitutions(literal), _substitutions(name)


def _substitutions(found: Mapping[tuple[str, str, str], list[Spot]]) -> tuple[Substitution, ...]:
    return tuple(Substitution(*key, tuple(spots)) for key, spots in found.items())
