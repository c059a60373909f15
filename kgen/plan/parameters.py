"""A regime's numbers against what its variant declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.diagnostics import Diagnostic
from kgen.expr.nearest import nearest
from kgen.plan import knobs
from kgen.plan.knobs import Knob
from kgen.plan.variant import Parameter, Variant
from kgen.spec import Spec
from kgen.spec.regime import SECTIONS


def resolve(
    spec: Spec, index: int, variant: Variant
) -> tuple[dict[str, int | bool], dict[str, Knob], list[Diagnostic]]:
    """The value of each parameter of `variant` in regime `index`: the spec's, or the default.

    Those that are knobs have their default, and the knob besides.
    """
    declared = knobs.declared(spec)
    turned: dict[str, Knob] = {}
    by_key = {parameter.key: (name, parameter) for name, parameter in variant.parameters.items()}
    values = {name: one.number(one.default) for name, one in variant.parameters.items()}
    found = list(_meaningless(spec, index, by_key))
    for key, value in _given(spec, index):
        path = ("regimes", index, *key.split("."))
        if key not in by_key:
            found.append(_unknown(spec, path, key, variant, by_key))
            continue
        name, parameter = by_key[key]
        if parameter.is_knob(value):
            wrong = knobs.problem_of(spec, path, key, value, parameter)
            found += [wrong] if wrong else []
            if not wrong:
                turned[name] = declared[value]
                values[name] = declared[value].default
            continue
        problem = problem_of(key, value, parameter)
        if problem:
            found.append(
                spec.diagnostic(
                    "KG411", problem, *path, hint=f"{parameter.doc}; {allowed(parameter)}"
                )
            )
        else:
            values[name] = parameter.number(value)
    return values, turned, found


def _meaningless(
    spec: Spec, index: int, by_key: Mapping[str, tuple[str, Parameter]]
) -> Iterator[Diagnostic]:
    """Parameters that say nothing beside another one of the regime."""
    given = [key for key, _ in _given(spec, index)]
    for key in given:
        for other in by_key[key][1].instead if key in by_key else ():
            if other in given:
                yield spec.diagnostic(
                    "KG431",
                    f"{other} says nothing beside {key}, which takes the place of it",
                    *("regimes", index, *other.split(".")),
                    hint=f"remove {other}, or {key}",
                )


def _given(spec: Spec, index: int) -> Iterator[tuple[str, object]]:
    regime = spec.document.regimes[index]
    for section in SECTIONS:
        for name, value in getattr(regime, section).items():
            yield f"{section}.{name}", value


def _unknown(
    spec: Spec, path: tuple, key: str, variant: Variant, by_key: Mapping[str, object]
) -> Diagnostic:
    close = nearest(key, by_key)
    known = ", ".join(sorted(by_key)) or "none"
    return spec.diagnostic(
        "KG410",
        f"variant {variant.variant} has no parameter {key}",
        *path,
        hint=f"did you mean {close}?" if close else f"its parameters are: {known}",
    )


def problem_of(key: str, value: object, parameter: Parameter) -> str:
    """What is wrong with `value` under the spec key `key`, or nothing."""
    if parameter.type == "word":
        known = isinstance(value, str) and value in parameter.words
        return "" if known else f"{key} cannot be {value}"
    if parameter.type == "bool":
        return "" if isinstance(value, bool) else f"{key} is true or false, not {value!r}"
    if isinstance(value, bool) or not isinstance(value, int):
        return f"{key} is an integer, not {_described(value)}"
    if parameter.choices is not None and value not in parameter.choices:
        return f"{key} cannot be {value}"
    if parameter.min is not None and value < parameter.min:
        return f"{key} is {value}, less than {parameter.min}"
    if parameter.max is not None and value > parameter.max:
        return f"{key} is {value}, more than {parameter.max}"
    return ""


def _described(value: object) -> str:
    return (
        f"the text {value!r}" if isinstance(value, str) else f"the truth value {str(value).lower()}"
    )


def allowed(parameter: Parameter) -> str:
    """What to write as the parameter's value."""
    if parameter.type == "bool":
        return "write true or false"
    if parameter.choices is not None or parameter.words:
        return f"write one of {', '.join(map(str, parameter.choices or parameter.words))}"
    return f"write an integer from {parameter.min} to {parameter.max}"
