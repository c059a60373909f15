"""The regimes of a spec: which kernel, with which parameters, serves which part of the axes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from kgen.spec.fields import IDENTIFIER_PATTERN, Identifier, Model, Parameter, checked, each_once
from kgen.spec.problem import describe, problem

OTHERWISE = "otherwise"
"""The condition of the last regime: whatever no regime before it takes."""


@dataclass(frozen=True)
class Import:
    """A fallback that the environment provides: `pkg.module:function`."""

    target: str


def _fallback(value: object) -> str | Import:
    known = 'write `generic`, `torch` or `{import: "pkg.module:function"}`'
    if isinstance(value, str):
        if value in ("generic", "torch"):
            return value
        raise problem("KG204", f"{describe(value)} is no fallback", known)
    if not isinstance(value, dict) or value.keys() != {"import"}:
        raise problem("KG203", f"{describe(value)} is no fallback", known)
    name = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
    target = value["import"]
    if not isinstance(target, str) or not re.fullmatch(rf"{name}(\.{name}){{0,9}}:{name}", target):
        raise problem(
            "KG206",
            f"{describe(target)} names no function of a module",
            "write `pkg.module:function`",
            ("import",),
        )
    return Import(target)


_FALLBACK_SCHEMA = {
    "anyOf": [
        {"enum": ["generic", "torch"]},
        {
            "type": "object",
            "properties": {"import": {"type": "string"}},
            "required": ["import"],
            "additionalProperties": False,
        },
    ]
}


def _condition(value: object) -> str:
    if not isinstance(value, str):
        raise problem(
            "KG203",
            f"expected a condition or `otherwise`, found {describe(value)}",
            "write for example `Q == 1`; `otherwise` takes whatever is left",
        )
    return value


Parameters = Mapping[Identifier, Parameter]
SECTIONS = ("tile", "splits", "launch", "combine")
"""The sections of a regime that hold parameters of its variant."""


class Regime(Model):
    """A part of the axes' domain and the kernel that serves it; the first that matches wins."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "rest", "when": "otherwise", "fallback": "generic"}]
        }
    )

    name: Identifier = Field(
        description="How messages and the generated file call it.", examples=["decode"]
    )
    when: Annotated[str, *checked(_condition, {"type": "string"})] = Field(
        description="A condition over static axes; `otherwise` in the last regime.",
        examples=["Q == 1"],
    )
    variant: Identifier | None = Field(None, description="A kernel variant of the family.")
    fallback: Annotated[str | Import | None, *checked(_fallback, _FALLBACK_SCHEMA)] = Field(
        None, description="What runs in place of a variant."
    )
    tile: Parameters = Field({}, description="Block sizes.", examples=[{"BLOCK_N": 64}])
    splits: Parameters = Field(
        {}, description="How work is split over the grid.", examples=[{"waves": 1}]
    )
    launch: Parameters = Field(
        {}, description="Launch options.", examples=[{"num_warps": 4, "num_stages": 3}]
    )
    combine: Parameters = Field(
        {}, description="How the parts of the work are summed.", examples=[{"BLOCK_S": 64}]
    )

    @model_validator(mode="after")
    def _one_choice(self) -> Regime:
        if self.variant is None and self.fallback is None:
            raise problem(
                "KG208",
                f"the regime `{self.name}` has neither `variant` nor `fallback`",
                "write `variant: <name>` or `fallback: generic`",
            )
        if self.fallback is None:
            return self
        if self.variant is not None:
            raise problem(
                "KG208",
                f"the regime `{self.name}` has both `variant` and `fallback`",
                "remove one",
                ("fallback",),
                True,
            )
        for section in SECTIONS:
            if getattr(self, section):
                raise problem(
                    "KG208",
                    f"a fallback has no parameters, and `{self.name}` has `{section}`",
                    f"remove `{section}`, or write `variant` in place of `fallback`",
                    (section,),
                    True,
                )
        return self


_SWEPT = rf"variant|({'|'.join(SECTIONS)})\.{IDENTIFIER_PATTERN[1:-1]}"


def _swept_key(text: str) -> str:
    if not re.fullmatch(_SWEPT, text):
        keys = ", ".join(f"`{key}`" for key in (*(f"{one}.NAME" for one in SECTIONS), "variant"))
        raise problem("KG206", f"{describe(text)} is no parameter of a regime", f"write {keys}")
    return text


SweptKey = Annotated[
    str, AfterValidator(_swept_key), WithJsonSchema({"type": "string", "pattern": f"^({_SWEPT})$"})
]
Swept = Annotated[tuple[Parameter, ...], Field(min_length=1), AfterValidator(each_once)]
