"""The space of a sweep: for a regime and each variant that may serve it, every parameter with the values to try."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import listing, suggestion
from kgen.plan.parameters import allowed, problem_of
from kgen.plan.templates import Templates
from kgen.plan.variant import Parameter, Variant
from kgen.spec import Spec
from kgen.sweep.asked import Asked, asked
from kgen.sweep.model import VARIANT, Candidate, Scalar
from kgen.sweep.values import usual


@dataclass(frozen=True)
class Axes:
    """A regime under one variant.

    `values` has every parameter of the variant by its spec key, sorted, with the values to try: one where it is not
    swept. Optional ones are there only where the regime or the sweep names them. `places` say where in the spec, or in an `--axis`, a key got them. `lacking` are keys that are swept and that
    this variant does not have.
    """

    regime: str
    index: int
    variant: str
    values: Mapping[str, tuple[Scalar, ...]]
    places: Mapping[str, Place]
    lacking: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of candidates."""
        return math.prod(map(len, self.values.values()))

    @property
    def swept(self) -> tuple[str, ...]:
        """The keys that have more than one value."""
        return tuple(key for key, values in self.values.items() if len(values) > 1)


def axes(
    spec: Spec, templates: Templates, extra_axes: Sequence[str] = (), everything: bool = False
) -> tuple[Axes, ...]:
    """The axes of each regime that is swept, one for each variant that may serve it.

    Swept is what the spec's `sweep` and `extra_axes` (the texts of `--axis`) name. Where neither names anything, and with
    `everything`, that is every parameter of every variant of the family, and the choice of the variant, in each regime
    that has a variant. Raises KgenError with every problem (KG408, KG851 to KG855, KG858).
    """
    wanted = asked(spec, extra_axes)
    whole = everything or not wanted
    found: list[Axes] = []
    problems: list[Diagnostic] = []
    for index, regime in enumerate(spec.document.regimes):
        if regime.variant is not None and (whole or regime.name in wanted):
            one = _Regime(spec, index, templates, wanted.get(regime.name, {}), whole)
            found += one.axes()
            problems += one.problems
    if problems:
        raise KgenError(problems)
    if not found:
        message = "every regime is a fallback, so there is nothing to sweep"
        hint = "give a regime a `variant`"
        raise KgenError([spec.diagnostic("KG858", message, "regimes", hint=hint)])
    return tuple(found)


def candidates(axes: Axes) -> Iterator[Candidate]:
    """Every candidate of the axes, one at a time, the last key fastest."""
    for values in itertools.product(*axes.values.values()):
        yield Candidate(axes.regime, tuple(zip(axes.values, values)))


def current(spec: Spec, templates: Templates, index: int) -> Candidate:
    """The candidate that the spec itself has for the regime `index`, which has a variant."""
    regime = spec.document.regimes[index]
    (only,) = _Regime(spec, index, templates, {}, whole=False).axes()
    return Candidate(regime.name, tuple((key, values[0]) for key, values in only.values.items()))


class _Regime:
    """One regime: what is asked of it, and what each variant makes of that."""

    def __init__(
        self,
        spec: Spec,
        index: int,
        templates: Templates,
        wanted: Mapping[str, Asked],
        whole: bool,
    ):
        self.spec = spec
        self.index = index
        self.regime = spec.document.regimes[index]
        self.templates = templates
        self.wanted = wanted
        self.whole = whole
        self.problems: list[Diagnostic] = []

    def axes(self) -> list[Axes]:
        variants = self._variants()
        self.problems += self._unknown_keys(variants)
        self.problems += self._knobs(variants)
        self.problems += self._unknown_values(variants)
        if self.problems:
            return []
        found = list(filter(None, map(self._under, variants)))
        if not found:
            message = (
                f"no variant that regime {self.regime.name} may run takes a value of every key"
            )
            self.problems.append(next(iter(self.wanted.values())).wrong("KG858", message))
        return found

    def _variants(self) -> list[Variant]:
        """The variants to try, the spec's own first."""
        family = self.spec.document.family
        names = self.templates.names(family)
        own = [self.regime.variant]
        if VARIANT in self.wanted:
            own = [name for name in self.wanted[VARIANT].values if name in names]
            self.problems += self._unknown_variants(names)
        elif self.whole:
            own += [name for name in names if name != self.regime.variant]
        elif self.regime.variant not in names:
            known = suggestion(self.regime.variant, names, "variants")
            message = f"there is no variant {self.regime.variant} of {family}"
            where = ("regimes", self.index, VARIANT)
            self.problems.append(self.spec.diagnostic("KG408", message, *where, hint=known))
            return []
        return [self.templates.find(family, name).variant for name in own]

    def _unknown_variants(self, names: Sequence[str]) -> Iterator[Diagnostic]:
        one, family = self.wanted[VARIANT], self.spec.document.family
        told = [
            one.wrong(
                "KG854",
                f"{family} has no variant `{name}`",
                suggestion(str(name), names, "variants"),
            )
            for name in one.values
            if name not in names
        ]
        yield from one.first(told)

    def _unknown_keys(self, variants: Sequence[Variant]) -> Iterator[Diagnostic]:
        known = {parameter.key for one in variants for parameter in one.parameters.values()}
        for key, one in self.wanted.items():
            if key != VARIANT and key not in known and variants:
                whose = listing(variant.variant for variant in variants)
                message = f"`{key}` is no parameter of {whose}, which regime {one.regime} may run"
                yield one.wrong("KG853", message, suggestion(key, {*known, VARIANT}, "keys"))

    def _knobs(self, variants: Sequence[Variant]) -> Iterator[Diagnostic]:
        """Whoever runs the file sets a knob, so that no sweep does."""
        for key, one in self.wanted.items():
            having = [found for found in (_parameter(v, key) for v in variants) if found]
            knobs = [parameter for parameter in having if self._is_knob(parameter)]
            if knobs:
                message = f"`{key}` is the knob {self._own(knobs[0])} in regime {self.regime.name}"
                hint = "write a number there to sweep it; the best one may become the default of the knob"
                yield one.wrong("KG854", message, hint)

    def _unknown_values(self, variants: Sequence[Variant]) -> Iterator[Diagnostic]:
        """A value that one variant takes and another does not is tried with the one."""
        for key, one in self.wanted.items():
            having = [found for found in (_parameter(v, key) for v in variants) if found]
            told: list[Diagnostic] = []
            for value in one.values if having else ():
                refusals = [problem_of(key, value, parameter) for parameter in having]
                if all(refusals):
                    hint = f"{having[0].doc}; {allowed(having[0])}"
                    told.append(one.wrong("KG854", refusals[0], hint))
            yield from one.first(told)

    def _under(self, variant: Variant) -> Axes | None:
        """The axes with one variant; None where it takes none of the values of some key that it has."""
        values: dict[str, tuple[Scalar, ...]] = {VARIANT: (variant.variant,)}
        places = {VARIANT: self._place(VARIANT)}
        for parameter in variant.parameters.values():
            if self._concerned(parameter, variant):
                values[parameter.key] = self._values(parameter)
            places[parameter.key] = self._place(parameter.key)
        lacking = tuple(key for key in self.wanted if key not in values)
        if not all(values.values()):
            return None
        ordered = dict(sorted(values.items()))
        regime = self.regime.name
        return Axes(regime, self.index, variant.variant, ordered, places, lacking)

    def _values(self, parameter: Parameter) -> tuple[Scalar, ...]:
        if parameter.key in self.wanted:
            given = self.wanted[parameter.key].values
            return tuple(v for v in given if not problem_of(parameter.key, v, parameter))
        own = self._own(parameter)
        if not self.whole or parameter.optional or self._is_knob(parameter):
            return (own,)
        tried = usual(parameter)
        return tried if own in tried else tuple(sorted((*tried, own)))

    def _concerned(self, parameter: Parameter, variant: Variant) -> bool:
        """What nobody names stays out of it where it is optional, or another parameter that is named takes its place: a
        section without it gives its default.
        """
        if parameter.key in self.wanted:
            return True
        named = filter(self._named, variant.parameters.values())
        replaced = any(parameter.key in one.instead for one in named)
        return not replaced and (self._named(parameter) or not parameter.optional)

    def _named(self, parameter: Parameter) -> bool:
        return parameter.key in self.wanted or self._own(parameter) != parameter.default

    def _own(self, parameter: Parameter) -> Scalar | None:
        """What the regime has, or the default, also of what is wrong there."""
        section, _, name = parameter.key.partition(".")
        own = getattr(self.regime, section).get(name, parameter.default)
        if self._is_knob(parameter):
            return own
        return parameter.default if problem_of(parameter.key, own, parameter) else own

    def _is_knob(self, parameter: Parameter) -> bool:
        """Whether the regime has a knob of the spec as the parameter, and the parameter may be one."""
        section, _, name = parameter.key.partition(".")
        own = getattr(self.regime, section).get(name)
        return parameter.knob and parameter.is_knob(own) and own in self.spec.document.knobs

    def _place(self, key: str) -> Place:
        if key in self.wanted:
            return self.wanted[key].mark.place
        return self.spec.place("regimes", self.index, *key.split("."))


def _parameter(variant: Variant, key: str) -> Parameter | None:
    return next((one for one in variant.parameters.values() if one.key == key), None)
