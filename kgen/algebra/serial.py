"""Certificates as plain data, for JSON."""

from __future__ import annotations

import enum
from dataclasses import fields
from typing import Any

from kgen.algebra.certificate import (
    Cases,
    Certificate,
    Computed,
    FromDefinition,
    Replaced,
    Step,
)
from kgen.algebra.poly import Poly


def as_json(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain data.

    `steps` holds every step once, after the steps it rests on, which it names by their numbers;
    `variables` the definition of every variable that occurs. A polynomial is a list of
    `[coefficient, [variable numbers]]`. Polynomials of `given` and `goal` may hold named constants,
    those of the steps hold their values.
    """
    writer = _Writer(certificate)
    steps = [writer.record(step) for step in certificate.steps]
    given, goal = writer.value(certificate.given), writer.value(certificate.goal)
    return {"given": given, "goal": goal, "steps": steps, "variables": writer.variables()}


class _Writer:
    def __init__(self, certificate: Certificate):
        self._space = certificate.space
        self._numbers = {step: number for number, step in enumerate(certificate.steps)}
        self._mentioned: list[Poly] = []

    def record(self, item: Any) -> dict[str, Any]:
        """A dataclass as its name and its fields."""
        if isinstance(item, (FromDefinition, Replaced, Computed)):
            self._mentioned.append(Poly.variable(item.variable))
        elif isinstance(item, Cases) and isinstance(item.source, int):
            self._mentioned.append(Poly.variable(item.source))
        values = {field.name: self.value(getattr(item, field.name)) for field in fields(item)}
        return {"is": type(item).__name__, **values}

    def value(self, value: Any) -> Any:
        """A field as plain data."""
        match value:
            case Step():
                return self._numbers[value]
            case Poly():
                self._mentioned.append(value)
                return [
                    [coefficient, list(monomial)] for monomial, coefficient in value.sorted_terms()
                ]
            case tuple():
                return [self.value(part) for part in value]
            case enum.Enum():
                return value.value
            case None | int() | str():
                return value
        return self.record(value)

    def variables(self) -> dict[str, Any]:
        """The definitions of all variables that were mentioned, and of those they depend on."""
        indices = self._space.closure(self._mentioned)
        return {str(index): self.record(self._space[index].definition) for index in indices}
