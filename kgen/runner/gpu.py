"""Runs calls on a CUDA or HIP GPU, through torch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import torch
from triton.runtime.jit import JITFunction

from kgen.runner.faults import NoDevice
from kgen.runner.launches import recorded
from kgen.runner.poison import Poison

Index = tuple[int, ...]


class Gpu:
    """The first GPU that torch sees. Raises `NoDevice` if it sees none."""

    mode = "gpu"
    snapshot_limit = float("inf")

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise NoDevice("torch sees no GPU here; test with --mode interpret")
        self.device = torch.device("cuda", 0)

    def describe(self) -> str:
        properties = torch.cuda.get_device_properties(self.device)
        return f"{properties.name}, {properties.multi_processor_count} multiprocessors"

    @contextlib.contextmanager
    def watch(self, read_only: Mapping[str, object], poison: Poison) -> Iterator[list[str]]:
        with recorded(JITFunction) as launched:
            yield launched

    def writer(self, tensor: torch.Tensor, index: Index) -> None:
        """Nobody watches stores here."""

    def synchronise(self) -> None:
        torch.cuda.synchronize(self.device)

    def lost(self) -> bool:
        """After an illegal access every later call in the process fails too."""
        try:
            torch.cuda.synchronize(self.device)
        except RuntimeError:
            return True
        return False
