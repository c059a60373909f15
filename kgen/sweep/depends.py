"""What a declaration's expressions depend on, so that each is computed once for the parameters that decide it.

A space is a product of axes, and each rule and each figure looks at a few of them: of ten thousand candidates there are
some dozens that differ in what one expression sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Generic, TypeVar

from kgen.expr import Expr, Truth, fold, names
from kgen.families.model import Value
from kgen.plan.statements import Statement
from kgen.plan.variant import Derived, Variant, expression
from kgen.sweep.model import Candidate, Scalar
from kgen.sweep.space import Axes

T = TypeVar("T")


def same_for_all(variant: Variant, axes: Axes) -> dict[str, Value]:
    """The parameters of the variant that have one value in all candidates of the axes, with that; no knob has."""
    found = {}
    for name, parameter in variant.parameters.items():
        values = axes.values.get(parameter.key, (parameter.default,))
        if len(values) == 1 and not parameter.is_knob(values[0]):
            found[name] = parameter.number(values[0])
    return found


def keys_of(
    variant: Variant,
    expressions: Iterable[Expr],
    known: Mapping[str, Value] = MappingProxyType({}),
    apart: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """The spec keys of the parameters that decide the expressions, through whatever they are derived from.

    Parameters in `known` have one value, and what another one stands beside may decide nothing then, such as in `A and B`
    where A is false. Derived values in `apart` are taken as they are: nothing that they come from counts.
    """
    found: set[str] = set()
    seen: set[str] = set(apart)
    todo = [name for one in expressions for name in names(fold(one, known))]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in variant.parameters:
            found.add(variant.parameters[name].key)
        elif name in variant.let:
            ways = _ways(variant.let[name], known)
            todo += [inner for one in ways for inner in names(fold(one, known))]
    return frozenset(found)


def _ways(derived: Derived, known: Mapping[str, Value]) -> list[Expr]:
    """What may decide a derived value: its definition, or both and the condition that chooses."""
    if derived.when is None:
        return [expression(derived.value)]
    chooses = fold(expression(derived.when), known)
    if isinstance(chooses, Truth):
        return [expression(derived.value if chooses.value else derived.otherwise)]
    return [chooses, expression(derived.value), expression(derived.otherwise)]


def keys_of_statement(
    variant: Variant, statement: Statement, known: Mapping[str, Value]
) -> frozenset[str]:
    """The spec keys that decide whether a statement holds.

    Where it stands for any number of parts, the most that there can be decides, and not the rule that chooses.
    """
    divided = [one for one in variant.tiling.values() if one.parts in variant.let]
    ends = [end for one in statement.variables for end in (one.low, one.high)]
    whole = [statement.goal, *ends, *statement.given]
    if statement.exact:
        return keys_of(variant, whole, known)
    most = [expression(one.most_parts) for one in divided]
    apart = frozenset(one.parts for one in divided)
    return keys_of(variant, [*whole, *most], known, apart)


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
