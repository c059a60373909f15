"""Two generated files, function by function: what is renamed, which constants changed, which lines differ otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.diff.alignment import aligned
from kgen.diff.hunks import hunks
from kgen.diff.model import FunctionChange, Side, SourceDiff
from kgen.diff.pairing import Paired, paired
from kgen.diff.pieces import HASHES, Unit, bound, split_lines, units
from kgen.diff.substitutions import Aligned, Values, named_constants, renames, told
from kgen.render.hashes import core_sha256


def pairs(a: Side, b: Side) -> Paired:
    """Which function of B is which of A; a side without a manifest borrows the other's roles, by functions' names."""
    return paired(units(a.text, a.manifest or b.manifest), units(b.text, b.manifest or a.manifest))


def compare(a: Side, b: Side, known: Mapping[Values, set[str]] = {}) -> SourceDiff:
    """What differs between two texts. `known` names pairs of literals that are values of the spec's keys."""
    core_differs = core_sha256(a.text) != core_sha256(b.text)
    if _without_hashes(a.text) == _without_hashes(b.text):
        return SourceDiff(False, core_differs)
    found = pairs(a, b)
    lines = [Aligned(pair, tuple(aligned(*(unit.pieces for unit in pair)))) for pair in found.pairs]
    functions = {one.name: two.name for one, two in found.pairs}
    given = bound(a.text) - found.names(0), bound(b.text) - found.names(1)
    renamed = renames(lines, functions, given)
    constants = named_constants(lines, renamed, known)
    # those of functions are told as such
    own = [{k: v for k, v in one.items() if functions.get(k) != v} for one in renamed]
    literals, names = told(lines, own, constants)
    changed = tuple(_functions(found))
    unexplained = hunks(a, b, lines, renamed, constants)
    return SourceDiff(True, core_differs, literals, names, changed, unexplained)


def _without_hashes(text: str) -> list[str]:
    """The lines of a file but for those that hash what it was made from."""
    return [line for line in split_lines(text) if not HASHES.fullmatch(line)]


def _functions(found: Paired) -> Iterator[FunctionChange]:
    for one, two in found.pairs:
        if one.name != two.name:
            yield FunctionChange("renamed", two.what, one.name, two.name, _lines(two))
    for one in found.only_a:
        yield FunctionChange("removed", one.what, one.name, "", _lines(one))
    for one in found.only_b:
        yield FunctionChange("added", one.what, "", one.name, _lines(one))


def _lines(unit: Unit) -> int:
    return unit.last - unit.first + 1
