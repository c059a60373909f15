"""A plan's expressions over the arguments of the entry: what the emitted text has to mean."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.expr import Expr
from kgen.expr.substitute import substitute
from kgen.plan.model import Plan
from kgen.prove.host.statements import expression
from kgen.prove.host.terms import name, number, tidied
from kgen.prove.host.values import Static, Tensor, Value
from kgen.render.model import Launcher


class Closing:
    """Axes by the shapes and scalars that give them, constants by their values. `scalars` are those that may be none.

    Raises LookupError for an axis whose binding has no meaning to kgen.
    """

    def __init__(self, plan: Plan):
        self.scalars = tuple(one for one, axis in plan.scalars.items() if plan.may_be_none(axis))
        self._constants = {axis: value for axis, (value, _) in plan.constants.items()}
        names: dict[str, Value] = {one: Tensor(one) for one in plan.arguments}
        names |= {one: Static(name(one)) for one in plan.scalars}
        names |= {one: Static(number(value)) for one, value in self._constants.items()}
        self.axes: dict[str, Expr] = {one: name(one) for one in plan.knobs}
        for binding in plan.bindings:
            if binding.axis in self._constants:
                continue
            meaning = expression(binding.python, names)
            if meaning is None:
                raise LookupError(
                    f"{binding.axis} is bound to {binding.python}, which is not understood"
                )
            self.axes[binding.axis] = meaning
            names[binding.axis] = Static(meaning)

    def __call__(self, expr: Expr, derived: Mapping[str, Expr] | None = None) -> Expr:
        """`expr` over the entry's arguments."""
        return tidied(substitute(expr, {**self.axes, **(derived or {})}), self._constants)

    def derived(self, launcher: Launcher) -> dict[str, Expr]:
        """What a launcher computes before it launches, by name."""
        found: dict[str, Expr] = {}
        for one, expr, _ in launcher.group.derived:
            found[one] = self(expr, found)
        return found
