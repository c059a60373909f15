"""The workloads of a spec: points of the axes that are tested and timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from kgen.spec.fields import AxisName, Model, checked, integer, integer_or_none
from kgen.spec.problem import problem


@dataclass(frozen=True)
class Sweep:
    """A workload for each of these values of an axis."""

    values: tuple[int | None, ...]


@dataclass(frozen=True)
class PerRequest:
    """The value of a runtime axis for each request of one batch."""

    values: tuple[int, ...]


def _cell(value: object) -> int | None | Sweep | PerRequest:
    if not isinstance(value, dict):
        if isinstance(value, tuple):
            raise problem(
                "KG203",
                "a list alone does not say what it lists",
                "write `{sweep: [...]}` for several workloads, `{per_request: [...]}` for one",
            )
        return integer_or_none(value)
    if value.keys() not in ({"sweep"}, {"per_request"}):
        raise problem(
            "KG203",
            "this mapping gives an axis no value",
            "write an integer, `none`, `{sweep: [...]}` or `{per_request: [...]}`",
        )
    (word, items), *_ = value.items()
    if not isinstance(items, tuple) or not items:
        raise problem(
            "KG203",
            f"`{word}` takes a list with at least one value",
            f"write `{word}: [1, 2]`",
            (word,),
        )
    if word == "sweep":
        return Sweep(tuple(integer_or_none(item, (word, i)) for i, item in enumerate(items)))
    return PerRequest(tuple(integer(item, key=(word, i)) for i, item in enumerate(items)))


_CELL_SCHEMA = {
    "anyOf": [
        {"type": "integer"},
        {"const": "none"},
        *(
            {
                "type": "object",
                "properties": {word: {"type": "array", "minItems": 1, "items": item}},
                "required": [word],
                "additionalProperties": False,
            }
            for word, item in (
                ("sweep", {"anyOf": [{"type": "integer"}, {"const": "none"}]}),
                ("per_request", {"type": "integer"}),
            )
        ),
    ]
}

Workload = Mapping[
    AxisName, Annotated[int | None | Sweep | PerRequest, *checked(_cell, _CELL_SCHEMA)]
]


class Workloads(Model):
    """Points of the axes at which the kernel is tested and timed."""

    check: tuple[Workload, ...] = Field((), description="Tested in addition to kgen's own cases.")
    bench: tuple[Workload, ...] = Field((), description="Timed.")
