"""Where a call runs: in Triton's interpreter or on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from kgen.runner.poison import Poison

Index = tuple[int, ...]


class Backend(Protocol):
    """One of `interpreted.Interpreted` and `gpu.Gpu`."""

    mode: str
    device: torch.device
    snapshot_limit: float

    def describe(self) -> str:
        """The device, in words."""

    def watch(
        self, read_only: Mapping[str, object], poison: Poison
    ) -> AbstractContextManager[list[str]]:
        """While active, one call runs; collects the names of the kernels that it launches."""

    def writer(self, tensor: torch.Tensor, index: Index) -> tuple[str, Index] | None:
        """The kernel and program that wrote an element last, if the backend watches stores."""

    def synchronise(self) -> None:
        """Waits until the device has done what it was given; raises what went wrong there."""

    def lost(self) -> bool:
        """Whether the device can run nothing more in this process."""
