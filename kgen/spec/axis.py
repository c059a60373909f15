"""The axes of a spec: named integers with their domains."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from kgen.spec.fields import Doc, Integer, IntegerOrNone, Model, checked, each_once, size
from kgen.spec.problem import describe, problem

DOMAIN = ("const", "range", "values")
"""The keys of which an axis has exactly one."""


def _range(value: object) -> tuple[int | str, int | str]:
    if not isinstance(value, tuple) or len(value) != 2:
        found = f"a list of {len(value)}" if isinstance(value, tuple) else describe(value)
        raise problem(
            "KG203",
            f"a range is a list of its lowest and highest value, not {found}",
            "write `[1, 256]`",
        )
    return size(value[0], (0,)), size(value[1], (1,))


_RANGE_SCHEMA = {
    "type": "array",
    "minItems": 2,
    "maxItems": 2,
    "items": {"type": ["integer", "string"]},
}


Values = Annotated[tuple[IntegerOrNone, ...], Field(min_length=1), AfterValidator(each_once)]


class AxisModel(Model):
    """A named integer that the launch, or only the GPU, knows."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"range": [1, 256]}]})

    const: Integer | None = Field(None, description="The one value it has.")
    range: Annotated[tuple[int | str, int | str] | None, *checked(_range, _RANGE_SCHEMA)] = Field(
        None, description="Lowest and highest value; integers or expressions over other axes."
    )
    values: Values | None = Field(
        None, description="The values it can have; `none` for an absent feature."
    )
    runtime: bool = Field(False, description="Known only on the GPU: no launch may depend on it.")
    doc: Doc = Field("", description="What it counts.")

    @property
    def domain(self) -> str:
        """The key that declares its domain: `const`, `range` or `values`."""
        return next(key for key in DOMAIN if getattr(self, key) is not None)

    @model_validator(mode="after")
    def _one_domain(self) -> AxisModel:
        given = [key for key in DOMAIN if getattr(self, key) is not None]
        if not given:
            raise problem(
                "KG208",
                "an axis has one of `const`, `range` and `values`, and this one has none",
                "write for example `{range: [1, 256]}`",
            )
        if len(given) > 1:
            both = " and ".join(f"`{key}`" for key in given)
            raise problem(
                "KG208", f"an axis has one of {both}, not both", "remove one", (given[1],), True
            )
        if self.runtime and given != ["range"]:
            raise problem(
                "KG209",
                f"an axis with `{given[0]}` is known when launching and cannot be `runtime`",
                "remove `runtime`, or give it a `range`",
                ("runtime",),
                True,
            )
        return self
