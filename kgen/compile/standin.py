"""A stand-in for a GPU's driver: Triton compiles and specialises with no GPU, for any target.

Without a driver Triton's JIT refuses to specialise arguments, and `tl.target_info` silently sees no
target, so that a kernel which asks for its target compiles to another one's code.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import triton
from triton.backends.compiler import GPUTarget

from kgen.devices import Target

_devices = itertools.count(1)


class StandInDriver:
    """Answers what compiling asks of a driver; launching through it is impossible.

    Each has a device number of its own, because Triton keeps a function's target and compiled
    kernels by device.
    """

    launcher_cls = None

    def __init__(self, target: GPUTarget):
        self._target = target
        self._device = next(_devices)

    def get_current_target(self) -> GPUTarget:
        """The target to compile for."""
        return self._target

    def get_current_device(self) -> int:
        """A number that no other driver of this process has."""
        return self._device

    def get_current_stream(self, device: int | None = None) -> int:
        """The default stream's handle, which nothing uses."""
        return 0


def gpu_target(target: Target) -> GPUTarget:
    """Triton's name for a target."""
    return GPUTarget(target.backend, target.arch, target.warp_size)


@contextlib.contextmanager
def stand_in(target: Target) -> Iterator[StandInDriver]:
    """Makes a stand-in the active driver; after the block Triton finds its own again."""
    driver = StandInDriver(gpu_target(target))
    triton.runtime.driver.set_active(driver)
    try:
        yield driver
    finally:
        triton.runtime.driver.set_active(None)
