"""The host in a GPU's stead: plain torch functions on CPU tensors.

What a GPU does by streams is imitated by threads: work that a call leaves to a thread is work on another stream. A
graph is the calls made again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch

from kgen.measure.device import Hurried, NotCapturable
from kgen.measure.operators import watched

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that `settle` waits for a thread."""


class Host:
    """The CPU."""

    torch = torch.device("cpu")
    l2_bytes = 2**18

    def __init__(self, memory_share: float) -> None:
        self._own = set(threading.enumerate())
        gc.freeze()  # what is there already is no tensor of a candidate, and need not be looked through
        self._share = memory_share

    def describe(self) -> dict[str, Any]:
        return {
            "device": f"host, {platform.machine()}",
            "sms": os.cpu_count() or 1,
            "l2_bytes": self.l2_bytes,
            "driver": "",
            "cuda": "",
            "torch": torch.__version__,
            "triton": "",
            "ptxas": "",
            "python": platform.python_version(),
        }

    def clock(self) -> dict[str, int | None]:
        return {"sm_mhz": None, "memory_mhz": None}

    def limits(self) -> dict[str, float | None]:
        values = torch.ones(2**22)
        empty = min(self.timed(lambda: None, 5))
        read = min(self.timed(values.sum, 5))
        return {
            "empty_launch_s": max(empty, 1e-9),
            "read_bytes_per_s": 4 * values.numel() / read,
            "matmul_flops_per_s": None,
        }

    def free_bytes(self) -> int:
        pages = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return int(pages * self._share)

    def allocated(self) -> int:
        gc.collect()
        tensors = (one for one in gc.get_objects() if _has_storage(one))
        storages = (one.untyped_storage() for one in tensors if one.device.type == "cpu")
        return sum({one.data_ptr(): one.nbytes() for one in storages}.values())

    def settle(self) -> None:
        for thread in set(threading.enumerate()) - self._own:
            if thread is not threading.current_thread():
                thread.join(PATIENCE)

    @contextlib.contextmanager
    def eager(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def launches(self, operators: bool) -> Iterator[list[str]]:
        with watched() as seen:
            yield seen.names

    def hurried(
        self, stage: Callable[[], None], call: Callable[[], T], keep: Callable[[T], object]
    ) -> Hurried:
        stage()
        with watched() as seen:
            result = call()
        return Hurried(result, keep(result), seen.waited)

    def capture(self, calls: Callable[[], None]) -> Callable[[], None]:
        with watched() as seen:
            calls()
        if seen.waited:
            raise NotCapturable("synchronises", "an operator gave a value to the host")
        return calls

    def timed(self, step: Callable[[], None], count: int, warm: bool = True) -> list[float]:
        if warm:
            step()
        seconds = []
        for _ in range(count):
            start = time.perf_counter()
            step()
            seconds.append(max(time.perf_counter() - start, 1e-9))
        return seconds


def _has_storage(value: object) -> bool:
    """Whether it is a tensor with memory of its own; what torch's transforms leave behind has none."""
    return type(value) is torch.Tensor and not torch._C._functorch.is_functorch_wrapped_tensor(
        value
    )
