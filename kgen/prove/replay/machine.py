"""What a running program reaches: its place in the grid, memory, recorder, and the unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kgen.prove.replay.dtypes import BOOL
from kgen.prove.replay.memory import Memory
from kgen.prove.replay.model import Program, Unsupported
from kgen.prove.replay.trace import Recorder
from kgen.prove.replay.values import Value, widen

Policy = Literal["refuse", "true", "false"]
"""What an opaque condition does: end the run as Unsupported, or count as true, or as false."""

MOST_STEPS = 2_000_000
MOST_ACCESSED = 1 << 22
"""Elements that one program accesses: its trace holds the number of each."""


@dataclass(eq=False)
class Machine:
    """One program of one launch. `policy` decides branches and masks that are not known."""

    memory: Memory
    program: Program
    grid: Program
    policy: Policy = "refuse"
    recorder: Recorder = field(default_factory=Recorder)
    invoke: Callable[[object, list, dict[str, object]], object] | None = None
    """Calls a function of the source, for what takes one as an argument."""
    most_steps: int | None = None

    def step(self, line: int) -> None:
        """Moves to a line. Raises Unsupported where a program does not come to an end."""
        self.recorder.line = line
        self.recorder.steps += 1
        most = self.most_steps or MOST_STEPS
        if self.recorder.steps > most:
            raise Unsupported(f"no end within {most} operations", line)

    def accessed(self, elements: int) -> None:
        """Counts elements of an access. Raises Unsupported where a trace would not fit into memory."""
        self.recorder.accessed += elements
        if self.recorder.accessed > MOST_ACCESSED:
            reason = f"one program accesses more than {MOST_ACCESSED} elements"
            raise Unsupported(reason, self.recorder.line)

    def truth(self, value: Value, use: str) -> bool:
        """A scalar condition as a Python bool; `use` says what depends on it."""
        if self._is_known(value, use):
            return bool(value.data.reshape(()))
        if self.policy == "refuse":
            raise Unsupported(f"{use} depends on data that has no values here")
        return self.policy == "true"

    def whole(self, value: Value, use: str) -> int:
        """A known scalar integer, such as a loop bound."""
        if self._is_known(value, use):
            return int(value.data.reshape(()))
        raise Unsupported(f"{use} depends on data that has no values here")

    def lanes(self, mask: Value) -> np.ndarray:
        """The lanes in which a mask holds; opaque ones count as the policy says."""
        if mask.type != BOOL:
            raise Unsupported(f"a mask of {mask.type.name}: Triton takes only int1")
        self._note(mask, "mask")
        if mask.opaque is None:
            return mask.data
        held = np.where(mask.opaque, self.policy == "true", mask.data)
        return widen(held, mask.shape)

    def _is_known(self, value: Value, use: str) -> bool:
        """Whether this scalar has a value; its use is noted."""
        if value.data.size != 1:
            raise Unsupported(f"a block of shape {list(value.shape)} as {use}: a scalar decides")
        self._note(value, use)
        return value.opaque is None or not value.opaque.all()

    def _note(self, value: Value, use: str) -> None:
        if value.taint is not None and value.taint.lanes.any():
            self.recorder.reach(value.taint.wraps, use)
        if value.opaque is not None and value.opaque.any():
            self.recorder.depends_on_data(use)
