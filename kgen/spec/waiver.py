"""Waivers: statements about the rendered file that may stay open, each with the reason."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from kgen.spec.fields import Doc, Identifier, Model
from kgen.spec.problem import problem


def _reason(text: str) -> str:
    if not any(char.isalnum() for char in text):
        raise problem(
            "KG205",
            "a waiver has a reason, and this one is empty",
            "say why the statement may stay open, and who sees to it that it holds",
        )
    return text


Reason = Annotated[Doc, AfterValidator(_reason)]


class Statement(Model):
    """What a waiver says of the statement that it means, in the words that the verdict has."""

    subject: str = Field(description="The subject of the statement.", examples=["bounds"])
    says: str = Field(
        description="The statement, word for word as the verdict has it.",
        examples=['"load x[t, h] stays inside"'],
    )
    code: str | None = Field(
        None,
        description="The statement of the file that it is about, where several lines have the same.",
    )
    verdict: Literal["unknown", "refuted"] = Field(
        description="The verdict that is waived; any other is a finding.", examples=["unknown"]
    )
    reason: Reason = Field(
        description="Why it may stay open.", examples=['"the caller pads the rows to 64 columns"']
    )


class Waiver(Statement):
    """One statement about the rendered file that may stay open."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "kernel": "rms_kernel",
                    "subject": "bounds",
                    "says": '"load x[t, h] stays inside"',
                    "verdict": "unknown",
                    "reason": '"the caller pads the rows to 64 columns"',
                }
            ]
        }
    )

    kernel: Identifier | None = Field(
        None,
        description="The kernel's name in the file; `host` for host code.",
        examples=["rms_kernel"],
    )
    launcher: Identifier | None = Field(
        None,
        description="The launcher's name, where several have the same.",
        examples=["launch_rows"],
    )
