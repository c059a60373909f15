"""Knobs: integers that a generated file reads from environment variables, once, when it is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from kgen.diagnostics import Diagnostic
from kgen.runner.environment import PREFIX
from kgen.spec.fields import Doc, Integer, Model, checked, integer
from kgen.spec.origin import Origin
from kgen.spec.problem import describe, problem

VARIABLE_PATTERN = f"^{PREFIX}[A-Z0-9_]{{1,100}}$"
TAKEN = "KGEN_CACHE"
"""What kgen itself reads."""


def _range(value: object) -> tuple[int, int]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise problem(
            "KG203",
            f"the range of a knob is a list of its lowest and highest value, not {describe(value)}",
            "write for example `[1, 64]`",
        )
    low, high = (integer(one, key=(index,)) for index, one in enumerate(value))
    if low < 0:
        raise problem("KG205", f"a knob is read as digits, and {low} is negative", key=(0,))
    if low > high:
        raise problem(
            "KG212", f"the range is empty: {low} is above {high}", f"write `[{high}, {low}]`"
        )
    return low, high


def _variable(text: str) -> str:
    if not re.fullmatch(VARIABLE_PATTERN, text):
        raise problem(
            "KG206",
            f"{describe(text)} is no name of an environment variable that sets a knob",
            f"begin with `{PREFIX}`, and use letters A-Z, digits and `_`",
        )
    if text == TAKEN:
        raise problem("KG206", f"`{TAKEN}` is a variable of kgen's own", "write another name")
    return text


_RANGE_SCHEMA = {
    "type": "array",
    "minItems": 2,
    "maxItems": 2,
    "items": {"type": "integer", "minimum": 0},
}
Variable = Annotated[
    str,
    AfterValidator(_variable),
    WithJsonSchema({"type": "string", "pattern": VARIABLE_PATTERN}),
]


class KnobModel(Model):
    """An integer that whoever runs the file may set, within bounds for all of which the file is proved."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"range": [1, 128], "default": 64}]})

    range: Annotated[tuple[int, int], *checked(_range, _RANGE_SCHEMA)] = Field(
        description="Lowest and highest value.", examples=[[1, 128]]
    )
    default: Integer = Field(
        description="Its value where the environment has no such variable.", examples=[64]
    )
    env: Variable | None = Field(
        None,
        description="The environment variable; `KGEN_`, the spec's name and the knob's, in capitals, if left out.",
        examples=["KGEN_MAX_SPLITS"],
    )
    doc: Doc = Field("", description="What it sets.")

    @model_validator(mode="after")
    def _default_within(self) -> KnobModel:
        low, high = self.range
        if not low <= self.default <= high:
            raise problem(
                "KG205",
                f"the default {self.default} is not from {low} to {high}, which is the range of the knob",
                "write a default within the range",
                ("default",),
            )
        return self


def check_knobs(document: Mapping[str, object], origin: Origin) -> Iterator[Diagnostic]:
    """No knob has the name of an axis."""
    knobs, axes = document.get("knobs"), document.get("axes")
    for name in knobs if isinstance(knobs, dict) and isinstance(axes, dict) else ():
        if name in axes:
            yield origin.diagnostic(
                "KG207",
                f"`{name}` is an axis already, and cannot be a knob too",
                "knobs",
                name,
                hint="give the knob another name",
                on_key=True,
            )
