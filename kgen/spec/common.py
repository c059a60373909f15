"""The keys that specs of every family have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from kgen.evidence.defaults import MAX_REGRESSION, MIN_GAIN
from kgen.expr import Function
from kgen.spec.axis import AxisModel
from kgen.spec.fields import (
    AxisName,
    Doc,
    Identifier,
    Model,
    Share,
    Tolerance,
    checked,
    each_once,
    is_integer,
)
from kgen.spec.knob import KnobModel
from kgen.spec.nodes import Key
from kgen.spec.problem import describe, problem
from kgen.spec.regime import Regime, Swept, SweptKey
from kgen.spec.waiver import Waiver
from kgen.spec.workloads import Workloads

Names = Annotated[tuple[Identifier, ...], Field(min_length=1), AfterValidator(each_once)]


class Interface(Model):
    """How the generated function is called."""

    args: Names = Field(description="Arguments, in order.", examples=[["x", "weight"]])
    returns: Names = Field(description="Results, in order.", examples=[["out"]])
    outside: Literal["fallback", "raise"] = Field(
        "fallback", description="What happens outside the declared axes."
    )


class Limits(Model):
    """What a compiled kernel may use; null sets no limit."""

    spill_bytes: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Bytes a thread spills."
    )
    registers: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Registers of a thread."
    )


class Gates(Model):
    """What a file must reach to replace the best one so far; shares, so that 0.03 is 3 %."""

    min_gain: Share = Field(
        MIN_GAIN, description="What its aggregate gains at least over the incumbent."
    )
    max_regression: Share = Field(
        MAX_REGRESSION, description="What more time it may take at a shape than the incumbent."
    )


class Numerics(Model):
    """How exact the results are."""

    tolerance: Tolerance = Field(
        "auto", description="Allowed error; `auto` derives it from dtypes."
    )


@dataclass(frozen=True)
class Slot:
    """An expression over the spec's constant axes, outside `axes` and `regimes`.

    `gives` are the kinds its value may have, `names` the kinds of what it may mention beside the
    axes.
    """

    key: Key
    gives: tuple[str, ...]
    names: Mapping[str, str]
    functions: Mapping[str, Function]


def _version(value: object) -> int:
    if not is_integer(value) or value != 1:
        raise problem(
            "KG204",
            f"{describe(value)} is no version of the spec language that this kgen reads",
            "write `kgen: 1`",
        )
    return value


class SpecModel(Model):
    """The keys that every family has."""

    REQUIRED_AXES: ClassVar[Mapping[str, str]] = {}
    """The axes that the family needs, and what each counts."""

    SLOTS: ClassVar[tuple[Slot, ...]] = ()
    """The expressions it holds beside those of axes and regimes."""

    kgen: Annotated[int, *checked(_version, {"const": 1})] = Field(
        description="The version of the spec language.", examples=[1]
    )
    name: Identifier = Field(description="The configuration's name.", examples=["gqa8_fp8_page1"])
    family: str = Field(description="The family of kernels.", examples=["attention"])
    doc: Doc = Field("", description="What it is for, in a sentence.")
    axes: Mapping[AxisName, AxisModel] = Field(
        description="The sizes and switches that a launch may depend on.",
        examples=[{"B": {"range": [1, 256]}}],
    )
    knobs: Mapping[AxisName, KnobModel] = Field(
        {}, description="Integers that environment variables set when the file is imported."
    )
    regimes: tuple[Regime, ...] = Field(
        description="What runs where; the first that matches wins, the last is `when: otherwise`.",
        min_length=1,
        examples=[[{"name": "rest", "when": "otherwise", "fallback": "generic"}]],
    )
    devices: Names = Field(description="GPUs it is tuned for.", examples=[["h200"]])
    targets: Names = Field(description="Instruction sets.", examples=[["sm_90"]])
    limits: Limits = Field(Limits(), description="What a compiled kernel may use.")
    gates: Gates = Field(Gates(), description="What a measured file must reach.")
    judge: Identifier = Field(
        "plain",
        description="Who judges the file, and so what it looks like.",
        examples=["plain"],
    )
    workloads: Workloads = Field(Workloads(), description="Points that are tested and timed.")
    sweep: Mapping[Identifier, Mapping[SweptKey, Swept]] = Field(
        {}, description="For each regime the values of parameters that `kgen sweep` tries."
    )
    waive: tuple[Waiver, ...] = Field(
        (), description="Statements about the rendered file that may stay open, with reasons."
    )
