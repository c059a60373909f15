"""Specs of row normalisations, such as RMSNorm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from kgen.diagnostics import Diagnostic
from kgen.expr import ROW_FUNCTIONS, names
from kgen.spec.common import Interface, Numerics, Slot, SpecModel
from kgen.spec.draft import Draft
from kgen.spec.fields import Identifier, Model
from kgen.spec.origin import Origin
from kgen.spec.problem import problem

BUILT_IN = frozenset({"rms"})
"""The operations that need no formula."""


class Norm(Model):
    """What is done with each row `x`."""

    op: Identifier = Field(
        description="`rms`, or a name of your own for the operation `formula` gives.",
        examples=["rms"],
    )
    eps: Annotated[float, Field(ge=0)] = Field(1e-6, description="EPS in formulas.")
    formula: str | None = Field(
        None,
        description="A row over x, weight, EPS and H; sum, mean, max and min reduce a row.",
    )

    @model_validator(mode="after")
    def _one_definition(self) -> Norm:
        if self.op in BUILT_IN and self.formula is not None:
            raise problem(
                "KG210",
                f"`op: {self.op}` is built in, and a `formula` would define it a second time",
                "remove `formula`, or give `op` a name of your own",
                ("formula",),
                True,
            )
        if self.op not in BUILT_IN and self.formula is None:
            raise problem(
                "KG210",
                f"`op: {self.op}` is not built in and has no `formula`",
                "write `op: rms`, or a formula such as `x * rsqrt(mean(x * x) + EPS) * weight`",
                ("op",),
            )
        return self


class NormDtypes(Model):
    """Types of what is read, computed with and written."""

    x: Literal["bf16", "fp16", "fp32"] = Field(description="The rows.", examples=["bf16"])
    weight: Literal["bf16", "fp16", "fp32", "none"] = Field(
        description="The factor of each column, or `none`.", examples=["bf16"]
    )
    out: Literal["bf16", "fp16", "fp32"] = Field(description="The result.", examples=["bf16"])
    accumulate: Literal["fp32"] = Field("fp32", description="Sums.")


class NormSpec(SpecModel):
    """A kernel configuration of a row normalisation."""

    REQUIRED_AXES: ClassVar[Mapping[str, str]] = {"T": "rows", "H": "columns"}
    SLOTS: ClassVar[tuple[Slot, ...]] = (
        Slot(
            ("norm", "formula"),
            ("row",),
            {"x": "row", "weight": "row", "EPS": "real", "H": "int"},
            ROW_FUNCTIONS,
        ),
    )

    family: Literal["norm"] = Field(description="The family of kernels.", examples=["norm"])
    interface: Interface = Field(
        description="How the generated function is called.",
        examples=[{"args": ["x", "weight"], "returns": ["out"]}],
    )
    norm: Norm = Field(description="What is done with each row.", examples=[{"op": "rms"}])
    dtypes: NormDtypes = Field(
        description="Types of what is read and written.",
        examples=[{"x": "bf16", "weight": "bf16", "out": "bf16"}],
    )
    numerics: Numerics = Field(Numerics(), description="How exact the results are.")


SPEC = NormSpec


def check(draft: Draft, origin: Origin) -> Iterator[Diagnostic]:
    """What a norm spec asks of its axes and of `weight`."""
    rows, columns = draft.axes.get("T"), draft.axes.get("H")
    if rows is not None and rows.values is not None:
        yield origin.diagnostic(
            "KG211",
            "the axis `T` has a `range` or is `const`",
            "axes",
            "T",
            hint="write for example `T: {range: [1, 65536]}`",
        )
    if columns is not None and columns.range is not None:
        yield origin.diagnostic(
            "KG211",
            "the axis `H` is `const` or lists its `values`: a row's length shapes the kernel",
            "axes",
            "H",
            hint="write for example `H: {values: [2048, 4096]}`",
        )
    for name in ("T", "H"):
        yield from draft.check_size(origin, name)
    formula, dtypes = draft.trees.get(("norm", "formula")), draft.sections.get("dtypes")
    if formula is None or dtypes is None or dtypes.weight != "none":
        return
    if "weight" in names(formula):
        yield origin.diagnostic(
            "KG210",
            "the formula uses `weight`, and `dtypes.weight` is `none`",
            "norm",
            "formula",
            hint="give `weight` a type, or write the formula without it",
        )
