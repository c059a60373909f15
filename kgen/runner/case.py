"""What a family's problem module hands to the runner, and how close an output must come to what is
right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Case:
    """One call of the emitted file.

    `axes` holds the static axes, `runtime` what only the device knows (one list per axis, such as a
    length for each request), `layout` says how the inputs lie in memory. `regime` is the one that
    must serve the call; it is empty for a call with nothing to do, which must launch nothing. A
    problem module leaves out calls that the file refuses.
    """

    name: str
    axes: Mapping[str, int | None]
    runtime: Mapping[str, list[int]]
    layout: str
    regime: str


@dataclass(frozen=True)
class Expected:
    """The right output: `values` in float64 or integers, and the `dtype` that it must have.

    An element is right where |out - values| <= absolute + relative * |values|; `absolute` is a
    number or has the shape of `values`. NaN and infinity are right only where `values` holds the
    same. `why` says where the numbers come from.
    """

    values: torch.Tensor
    absolute: float | torch.Tensor
    relative: float
    why: str
    dtype: torch.dtype


@dataclass(frozen=True)
class Work:
    """What one call cannot do without: each live input element read once and each output element
    written once, in bytes; a multiply-add counts as two operations.
    """

    bytes: int
    operations: int


@runtime_checkable
class Problem(Protocol):
    """The functions of `kgen.families.<family>.problem`, a module or a package. `problem` is the
    manifest's entry of that name.

    A module that can be measured has two more: `workloads(problem)`, the list of cases to time,
    and `work(problem, case)`, the `Work` of one of them. Where it has
    `variations(problem, case)`, that gives cases which differ from `case` in run-time values only.
    """

    def cases(self, problem: Mapping[str, Any], mode: str) -> list[Case]:
        """The cases for `mode`, which is "interpret" or "gpu"; names are unique."""

    def inputs(
        self,
        problem: Mapping[str, Any],
        case: Case,
        generator: torch.Generator,
        device: torch.device,
    ) -> dict[str, Any]:
        """Fresh arguments by name, on `device`, laid out and poisoned as the case says.

        Values are drawn on the generator's own device. Tests draw on the CPU, so that a seed gives
        the same inputs everywhere; large workloads are drawn where they are used.
        """

    def expected(
        self, problem: Mapping[str, Any], case: Case, arguments: Mapping[str, Any]
    ) -> dict[str, Expected]:
        """The right outputs by name, computed and held on the device of the arguments' tensors."""
