"""Where candidates are called and timed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

GPU = "kgen.measure.gpu:Gpu"
HOST = "kgen.measure.host:Host"


class NotCapturable(Exception):
    """A CUDA graph cannot hold the calls; `flag` says what they do instead."""

    def __init__(self, flag: str, message: str):
        super().__init__(message)
        self.flag = flag


@dataclass(frozen=True)
class Hurried:
    """What a call gave while the device was still busy with older work.

    `kept` is what the caller's stream saw directly after the call; `waited` says that the call came back only after the
    device had become idle.
    """

    result: object
    kept: object
    waited: bool


class Device(Protocol):
    """A GPU, or the host in its stead: there calls run on the CPU and a graph is the calls made again."""

    torch: torch.device
    l2_bytes: int

    def describe(self) -> dict[str, Any]:
        """The record's `environment`, without its clocks."""

    def clock(self) -> dict[str, int | None]:
        """The clock rates at this moment."""

    def limits(self) -> dict[str, float | None]:
        """What the device reaches: an empty launch, a streaming read, a large matrix product."""

    def free_bytes(self) -> int:
        """Memory that this process may still take."""

    def allocated(self) -> int:
        """Bytes in tensors of this process."""

    def settle(self) -> None:
        """Waits for all work, also that of other streams; raises what went wrong there."""

    def eager(self) -> AbstractContextManager[None]:
        """While active, calls go to the stream that measuring uses."""

    def launches(self, operators: bool) -> AbstractContextManager[list[str]]:
        """While active, collects what is launched: Triton kernels with their grids, and with `operators` those of torch
        with the sizes of their tensors.
        """

    def hurried(
        self, stage: Callable[[], None], call: Callable[[], T], keep: Callable[[T], object]
    ) -> Hurried:
        """Stages inputs, calls and keeps outputs, each queued behind work that is still going on."""

    def capture(self, calls: Callable[[], None]) -> Callable[[], None]:
        """The replay of a graph that holds the calls. Raises `NotCapturable`."""

    def timed(self, step: Callable[[], None], count: int, warm: bool = True) -> list[float]:
        """Seconds of each of `count` steps, after one that is not counted where `warm`."""


def make_device(name: str, memory_share: float) -> Device:
    """The device `module:class`, of whose memory this process may take a share."""
    module, _, kind = name.partition(":")
    return getattr(importlib.import_module(module), kind)(memory_share)
