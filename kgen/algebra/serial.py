"""Certificates as plain data, for JSON."""

from __future__ import annotations

import enum
from dataclasses import fields
from typing import Any

from kgen.algebra.certificate import Certificate, Step
from kgen.algebra.formula import polynomials
from kgen.algebra.poly import Poly


def as_json(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain data.

    `steps` holds every step once, after the steps it rests on, which it names by their numbers;
    `variables` the definition of every variable that the statement depends on, and a proof uses no
    others. A polynomial is a list of `[coefficient, [variable numbers]]`. Polynomials of `given`
    and `goal` may hold named constants, those of the steps hold their values.
    """
    numbers = {step: number for number, step in enumerate(certificate.steps)}
    space, statement = certificate.space, (certificate.given, certificate.goal)
    indices = space.closure(poly for formula in statement for poly in polynomials(formula))
    return {
        "given": _plain(certificate.given, numbers),
        "goal": _plain(certificate.goal, numbers),
        "steps": [_record(step, numbers) for step in certificate.steps],
        "variables": {str(i): _record(space[i].definition, numbers) for i in indices},
    }


def _record(item: Any, numbers: dict[Step, int]) -> dict[str, Any]:
    """A dataclass as its name and its fields."""
    values = {field.name: _plain(getattr(item, field.name), numbers) for field in fields(item)}
    return {"is": type(item).__name__, **values}


def _plain(value: Any, numbers: dict[Step, int]) -> Any:
    match value:
        case Step():
            return numbers[value]
        case Poly():
            return [[coefficient, list(monomial)] for monomial, coefficient in value.sorted_terms()]
        case tuple():
            return [_plain(part, numbers) for part in value]
        case enum.Enum():
            return value.value
        case None | int() | str():
            return value
    return _record(value, numbers)
