"""What an expression of a spec may mention, by the place it stands at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgen.expr import SIZE_FUNCTIONS, Function
from kgen.spec.common import Slot
from kgen.spec.fields import is_integer


@dataclass(frozen=True)
class Refusal:
    """Why a declared axis cannot stand in an expression."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Scope:
    """The kinds of the names an expression may mention, and the axes it may not."""

    kinds: Mapping[str, str]
    refused: Mapping[str, Refusal]
    functions: Mapping[str, Function]


class DeclaredAxes:
    """The axes as far as they can be read from a document whose other parts may be wrong.

    `kinds` is the kind of each axis, `unknown` where its declaration is wrong; `constants` the
    values of those that have one.
    """

    def __init__(self, document: Mapping[str, object]):
        axes = document.get("axes")
        items = axes.items() if isinstance(axes, dict) else ()
        self.axes = {name: axis if isinstance(axis, dict) else {} for name, axis in items}
        self.kinds = {name: _kind(axis) for name, axis in self.axes.items()}
        self.constants = {
            name: axis["const"] for name, axis in self.axes.items() if is_integer(axis.get("const"))
        }

    def is_runtime(self, name: str) -> bool:
        """Whether only the GPU knows the axis."""
        return self.axes[name].get("runtime") is True

    def ranges(self) -> Mapping[str, tuple]:
        """The two bounds of each axis that has a range, as written."""
        bounds = {name: axis.get("range") for name, axis in self.axes.items()}
        return {k: v for k, v in bounds.items() if isinstance(v, tuple) and len(v) == 2}

    def everything(self) -> Scope:
        """For the bounds of a runtime axis: every axis."""
        return Scope(self.kinds, {}, SIZE_FUNCTIONS)

    def static(self) -> Scope:
        """For what is decided when launching: every axis that is not runtime."""
        refused = {
            name: Refusal(
                "KG309",
                f"`{name}` is a runtime axis: only the GPU knows it, and this is decided at launch",
                "use a static axis, such as the capacity that bounds it",
            )
            for name in self.axes
            if self.is_runtime(name)
        }
        return Scope(self.kinds, refused, SIZE_FUNCTIONS)

    def slot(self, slot: Slot) -> Scope:
        """For a slot: its own names, or the constant axes where it has none."""
        if slot.names:
            return Scope(slot.names, {}, slot.functions)
        refused = {
            name: Refusal(
                "KG310",
                f"`{name}` is not constant, and this is fixed when rendering",
                "use axes with `const` only",
            )
            for name, kind in self.kinds.items()
            if name not in self.constants and kind != "unknown"
        }
        return Scope(self.kinds, refused, slot.functions)


def _kind(axis: Mapping[str, object]) -> str:
    if is_integer(axis.get("const")) or isinstance(axis.get("range"), tuple):
        return "int"
    values = axis.get("values")
    if not isinstance(values, tuple) or not values:
        return "unknown"
    absent = [value == "none" for value in values]
    return "none" if all(absent) else "int?" if any(absent) else "int"
