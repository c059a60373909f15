"""What graph safety asks of host code, and what was found against it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kgen.algebra.verdict import Status


class Rule(enum.StrEnum):
    """One demand each. A CUDA graph replays launches; what the host did at capture is frozen."""

    GRID = "grids are functions of shapes, strides, addresses and Python scalars only"
    ALLOCATION = "every tensor is made by torch.empty with a shape that is static"
    HOST_READ = "the host reads no GPU data"
    IN_PLACE = "no input is changed on the host's order"
    STATE = "nothing is kept from one call to the next"
    CONTROL = "no stream or event is made, and nothing waits for the GPU"
    OUTSIDE = "no import and no I/O inside a function"
    OPERATION = "torch computes nothing"
    FOREIGN = "no function is called of which nothing is known"
    UNDERSTOOD = "every statement is one whose effect is known"


@dataclass(frozen=True)
class Finding:
    """Something wrong, or that there is no rule for; `function` is "" at module level."""

    rule: Rule
    status: Status
    function: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"
