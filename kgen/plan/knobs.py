"""Knobs in a plan: parameters of a variant that an environment variable sets.

A parameter that is a knob is no number while planning. It stands for an integer with a range, like an axis, so that
everything that is proved holds for each value that the emitted file accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, Severity
from kgen.expr import suggestion
from kgen.plan.domain import Domain, Range
from kgen.plan.variant import Derived, Parameter, Variant, expression
from kgen.spec import Spec


@dataclass(frozen=True)
class Knob:
    """An integer from `low` to `high` that `variable` sets; the emitted file has it as the constant `name`."""

    name: str
    variable: str
    default: int
    low: int
    high: int
    doc: str

    @property
    def range(self) -> Range:
        return Range(expression(str(self.low)), expression(str(self.high)))


def declared(spec: Spec) -> Mapping[str, Knob]:
    """The knobs of a spec, by name."""
    return {
        name: Knob(
            name=name,
            variable=one.env or f"KGEN_{spec.document.name}_{name}".upper(),
            default=one.default,
            low=one.range[0],
            high=one.range[1],
            doc=one.doc,
        )
        for name, one in spec.document.knobs.items()
    }


def turned(variant: Variant, knobs: Mapping[str, Knob]) -> Variant:
    """The variant in a regime where the parameters in `knobs` are knobs.

    These are derived values there, which stand for the knob; what a variant calls the `most` of one is the knob's
    greatest value.
    """
    own: dict[str, Derived] = {}
    let = dict(variant.let)
    for name, knob in knobs.items():
        parameter = variant.parameters[name]
        own[name] = Derived(value=knob.name, doc=parameter.doc)
        if parameter.most is not None:
            greatest = {"value": str(knob.high), "when": None, "otherwise": None}
            let[parameter.most] = let[parameter.most].model_copy(update=greatest)
    return variant.model_copy(update={"let": {**own, **let}})


def widened(domain: Domain, knobs: Mapping[str, Knob]) -> Domain:
    """The domain with each knob as an integer within its range."""
    ranges = {one.name: one.range for one in knobs.values()}
    return Domain(domain.values, {**domain.ranges, **ranges}, domain.conditions)


def problem_of(
    spec: Spec, path: tuple[str | int, ...], key: str, value: str, parameter: Parameter
) -> Diagnostic | None:
    """What is wrong with a knob as the value of a parameter under the key `key`."""
    knob = declared(spec).get(value)
    if knob is None:
        known = suggestion(value, spec.document.knobs, "knobs") if spec.document.knobs else ""
        hint = known or f"{parameter.doc}; write a number, or declare `{value}` under `knobs`"
        message = f"{key} is an integer, and there is no knob `{value}`"
        return spec.diagnostic("KG411", message, *path, hint=hint)
    if not parameter.knob:
        message = (
            f"{key} cannot be a knob: nothing was proved of this variant for any number at once"
        )
        return spec.diagnostic("KG434", message, *path, hint=f"{parameter.doc}; write a number")
    for bound, least in ((knob.low, True), (knob.high, False)):
        limit = parameter.min if least else parameter.max
        if limit is not None and (bound < limit if least else bound > limit):
            than = "less" if least else "more"
            return spec.diagnostic(
                "KG411",
                f"{key} is the knob {value}, which may be {bound}, {than} than {limit}",
                *path,
                hint=f"give {value} a range within {parameter.min} to {parameter.max}",
            )
    return None


def unused(spec: Spec, used: Set[str]) -> Iterator[Diagnostic]:
    """Knobs that set nothing."""
    for name in spec.document.knobs:
        if name not in used:
            yield spec.diagnostic(
                "KG435",
                f"no regime has the knob {name} as a parameter, so that it would set nothing",
                "knobs",
                name,
                hint=f"write {name} as the value of a parameter, such as `splits: {{max: {name}}}`, or remove it",
                on_key=True,
                severity=Severity.FINDING,
            )
