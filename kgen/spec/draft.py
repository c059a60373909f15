"""A document as far as it is valid: what one broken part must not hide about the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from kgen.diagnostics import Diagnostic
from kgen.expr import EvalError, Expr, evaluate
from kgen.spec.axis import AxisModel
from kgen.spec.nodes import Key
from kgen.spec.origin import Origin

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Draft:
    """The parts of a document that are valid by themselves.

    `known_axes` are the names of all axes, `axes` those that are valid; `sections` the top-level
    mappings, None for one that is missing or broken; `trees` the expressions that are right.
    """

    known_axes: tuple[str, ...]
    axes: Mapping[str, AxisModel]
    sections: Mapping[str, BaseModel | None]
    trees: Mapping[Key, Expr]

    def bound(self, name: str, end: int, point: Mapping[str, int]) -> int | None:
        """The lower (0) or upper (1) end of the range of `name` at `point`; None where unknown."""
        tree = self.trees.get(("axes", name, "range", end))
        try:
            return None if tree is None else evaluate(tree, point)
        except EvalError:
            return None

    def check_size(self, origin: Origin, name: str) -> Iterator[Diagnostic]:
        """Diagnostics where the axis `name`, which shapes the launch, is runtime or below one."""
        axis = self.axes.get(name)
        if axis is None:
            return
        if axis.runtime:
            message = f"the axis `{name}` shapes the launch and cannot be `runtime`"
            yield origin.diagnostic("KG211", message, "axes", name, "runtime", on_key=True)
        constants = {name: axis.const for name, axis in self.axes.items() if axis.const is not None}
        lowest = {
            "const": (axis.const,),
            "values": axis.values,
            "range": (self.bound(name, 0, constants),),
        }[axis.domain]
        unknown = axis.domain == "range" and lowest == (None,)
        if not unknown and any(value is None or value < 1 for value in lowest):
            message = f"the axis `{name}` counts something and is at least 1"
            yield origin.diagnostic("KG211", message, "axes", name, axis.domain)


def draft(
    model: type[BaseModel], document: Mapping[str, object], trees: Mapping[Key, Expr]
) -> Draft:
    """The valid parts of `document` by the models of `model`."""
    axes = document.get("axes")
    axes = axes if isinstance(axes, dict) else {}
    valid = {name: _valid(AxisModel, value) for name, value in axes.items()}
    sections = {
        name: _valid(field.annotation, document.get(name, field.default))
        for name, field in model.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }
    return Draft(tuple(axes), {name: axis for name, axis in valid.items() if axis}, sections, trees)


def _valid(model: type[M], value: object) -> M | None:
    try:
        return model.model_validate(value)
    except ValidationError:
        return None
