"""Reads `devices.yaml`, once, into frozen records."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Target:
    """An instruction set.

    `arch` is what Triton's `GPUTarget` takes (90, "gfx942"). `shared_bytes` is the most shared
    memory (LDS) of one CTA, `registers` the most of one thread, `tmem_columns` the tensor memory of
    one SM. `sm_registers`, `sm_threads`, `sm_programs` and `sm_shared_bytes` are the most that all
    CTAs have together that run on one SM (compute unit) at once.
    """

    name: str
    backend: Literal["cuda", "hip"]
    arch: int | str
    warp_size: int
    shared_bytes: int
    registers: int
    tmem_columns: int
    sm_registers: int
    sm_threads: int
    sm_programs: int
    sm_shared_bytes: int

    @property
    def launches_early(self) -> bool:
        """Whether a launch may start before the one before it has ended (programmatic dependent launch)."""
        return self.backend == "cuda" and int(self.arch) >= 90


@dataclass(frozen=True)
class Device:
    """A GPU.

    `sms` counts streaming multiprocessors (compute units), `read_bytes_per_s` is the memory's read
    bandwidth, from a measurement or a data sheet as `read_basis` says, `l2_bytes` the size of the
    last cache before memory, `shared_bytes` the target's, `max_grid` the most CTAs along x, y and
    z.
    """

    name: str
    doc: str
    target: str
    sms: int
    read_bytes_per_s: float
    read_basis: Literal["measured", "document"]
    l2_bytes: int
    memory_bytes: float
    shared_bytes: int
    max_grid: tuple[int, int, int]


class UnknownName(KeyError):
    """A device or target that `devices.yaml` does not have; the message lists those it has."""

    def __init__(self, kind: str, name: str, known: Mapping[str, object]):
        self.name = name
        self.known = tuple(known)
        close = difflib.get_close_matches(str(name), self.known, n=1)
        guess = f"; did you mean {close[0]}?" if close else ""
        self.message = f"no {kind} is named {name!r}; known are {', '.join(self.known)}{guess}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


def device(name: str) -> Device:
    """The device of that name. Raises `UnknownName`."""
    try:
        return devices()[name]
    except KeyError:
        raise UnknownName("device", name, devices()) from None


def target(name: str) -> Target:
    """The target of that name. Raises `UnknownName`."""
    try:
        return targets()[name]
    except KeyError:
        raise UnknownName("target", name, targets()) from None


@functools.cache
def devices() -> Mapping[str, Device]:
    """Every device by name."""
    found = {}
    for name, entry in _document()["devices"].items():
        grid = tuple(entry.pop("max_grid"))
        shared = target(entry["target"]).shared_bytes
        found[name] = Device(name=name, max_grid=grid, shared_bytes=shared, **entry)
    return MappingProxyType(found)


@functools.cache
def targets() -> Mapping[str, Target]:
    """Every target by name."""
    entries = _document()["targets"].items()
    return MappingProxyType({name: Target(name=name, **entry) for name, entry in entries})


def _document() -> dict:
    import yaml

    return yaml.safe_load(Path(__file__).with_name("devices.yaml").read_text())
