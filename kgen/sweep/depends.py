"""What a declaration's expressions depend on, so that each is computed once for the parameters that decide it.

A space is a product of axes, and each rule and each figure looks at a few of them: of ten thousand candidates there are
some dozens that differ in what one expression sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Generic, TypeVar

from kgen.expr import Expr, names
from kgen.plan.statements import Statement
from kgen.plan.variant import Variant, expression
from kgen.sweep.model import Candidate, Scalar

T = TypeVar("T")


def keys_of(
    variant: Variant, expressions: Iterable[Expr], apart: frozenset[str] = frozenset()
) -> frozenset[str]:
    """The spec keys of the parameters that decide the expressions, through whatever they are derived from.

    Derived values in `apart` are taken as they are: nothing that they come from counts.
    """
    found: set[str] = set()
    seen: set[str] = set(apart)
    todo = [name for one in expressions for name in names(one)]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in variant.parameters:
            found.add(variant.parameters[name].key)
        elif name in variant.let:
            derived = variant.let[name]
            parts = filter(None, (derived.value, derived.when, derived.otherwise))
            todo += [inner for part in parts for inner in names(expression(part))]
    return frozenset(found)


def keys_of_statement(variant: Variant, statement: Statement) -> frozenset[str]:
    """The spec keys that decide whether a statement holds.

    Where it stands for any number of parts, the most that there can be decides, and not the rule that chooses.
    """
    divided = [one for one in variant.tiling.values() if one.parts in variant.let]
    ends = [end for one in statement.variables for end in (one.low, one.high)]
    whole = [statement.goal, *ends, *statement.given]
    if statement.exact:
        return keys_of(variant, whole)
    most = [expression(one.most_parts) for one in divided]
    return keys_of(variant, [*whole, *most], frozenset(one.parts for one in divided))


class ByKeys(Generic[T]):
    """A function of a candidate that depends on some of its settings, computed once for each of their values.

    It is computed for the first candidate of the axes with those values, so that functions of the same settings share
    what they need. `keys` are the settings, `first` those of the axes' first candidate.
    """

    def __init__(self, keys: Iterable[str], first: Candidate, compute: Callable[[Candidate], T]):
        wanted = set(keys)
        self._first = first
        self._places = [i for i, (key, _) in enumerate(first.settings) if key in wanted]
        self._compute = compute
        self._known: dict[tuple[Scalar, ...], T] = {}

    def __call__(self, candidate: Candidate) -> T:
        settings = candidate.settings
        seen = tuple([settings[place][1] for place in self._places])
        if seen not in self._known:
            self._known[seen] = self._compute(self._standing_for(candidate))
        return self._known[seen]

    def _standing_for(self, candidate: Candidate) -> Candidate:
        settings = list(self._first.settings)
        for place in self._places:
            settings[place] = candidate.settings[place]
        return replace(candidate, settings=tuple(settings))
