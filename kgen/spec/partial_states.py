"""Specs of merging partial states of attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal
from collections.abc import Mapping

from pydantic import Field

from kgen.diagnostics import Diagnostic
from kgen.spec.common import Interface, Numerics, SpecModel
from kgen.spec.draft import Draft
from kgen.spec.fields import Model
from kgen.spec.origin import Origin


class States(Model):
    """What each partial state is, and how all of them lie."""

    order: Literal["states_first", "tokens_first"] = Field(
        "states_first",
        description="[states, tokens, heads, columns], or with tokens before the states.",
    )
    lse: Literal["base_2", "base_e"] = Field(
        description="The base of the log-sum-exps that come in, and of the one that goes out.",
        examples=["base_e"],
    )


class MergeDtypes(Model):
    """Types of what is read, computed with and written."""

    parts: Literal["bf16", "fp16", "fp32"] = Field(
        description="The outputs of the states.", examples=["bf16"]
    )
    out: Literal["bf16", "fp16", "fp32"] = Field(description="The result.", examples=["bf16"])
    accumulate: Literal["fp32"] = Field("fp32", description="Sums; log-sum-exps are fp32 too.")


class MergeSpec(SpecModel):
    """A kernel configuration of merging partial states of attention."""

    REQUIRED_AXES: ClassVar[Mapping[str, str]] = {
        "T": "query tokens",
        "N": "states of each token and head",
        "H": "query heads",
        "D": "columns of an output",
    }

    family: Literal["merge"] = Field(description="The family of kernels.", examples=["merge"])
    interface: Interface = Field(
        description="How the generated function is called.",
        examples=[{"args": ["parts", "lse"], "returns": ["out"]}],
    )
    states: States = Field(description="What a partial state is.", examples=[{"lse": "base_e"}])
    dtypes: MergeDtypes = Field(
        description="Types of what is read and written.",
        examples=[{"parts": "bf16", "out": "bf16"}],
    )
    numerics: Numerics = Field(Numerics(), description="How exact the results are.")


SPEC = MergeSpec


def check(draft: Draft, origin: Origin) -> Iterator[Diagnostic]:
    """What a merge spec asks of its axes."""
    for name, example in (("H", 8), ("D", 128)):
        axis = draft.axes.get(name)
        if axis is not None and axis.const is None:
            yield origin.diagnostic(
                "KG211",
                f"the axis `{name}` is a constant of the kernel and has to be `const`",
                "axes",
                name,
                hint=f"write for example `{name}: {{const: {example}}}`, and one spec for each value",
            )
    for name in ("T", "N", "H", "D"):
        yield from draft.check_size(origin, name)
