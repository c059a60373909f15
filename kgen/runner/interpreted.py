"""Runs calls in Triton's interpreter, on the CPU."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator, Mapping

import torch
from triton.runtime.interpreter import InterpretedFunction

from kgen.runner.interpreter.install import install, use_memory
from kgen.runner.interpreter.probe import check_interpreter
from kgen.runner.launches import recorded
from kgen.runner.poison import Poison

Index = tuple[int, ...]


class Interpreted:
    """The interpreter with checked memory. Raises `Untrusted` if it gets known kernels wrong."""

    mode = "interpret"
    device = torch.device("cpu")
    snapshot_limit = 64 * 2**20

    def __init__(self) -> None:
        self._builder = install()
        check_interpreter(self._builder)

    def describe(self) -> str:
        return f"Triton's interpreter on {platform.machine()}"

    @contextlib.contextmanager
    def watch(self, read_only: Mapping[str, object], poison: Poison) -> Iterator[list[str]]:
        tensors = {n: t for n, t in read_only.items() if isinstance(t, torch.Tensor)}
        protected = {t.untyped_storage().data_ptr(): name for name, t in tensors.items()}
        use_memory(self._builder, protected, poison.filled)
        with recorded(InterpretedFunction) as launched:
            yield launched

    def writer(self, tensor: torch.Tensor, index: Index) -> tuple[str, Index] | None:
        where = self._builder.memory.writer(tensor, index)
        return (where.kernel, where.program) if where else None

    def synchronise(self) -> None:
        """The interpreter has always finished."""

    def lost(self) -> bool:
        return False
