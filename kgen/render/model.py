"""What rendering makes: kernels with the arguments they really use, launchers, and the finished file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgen.plan.model import Argument, Group, KernelPlan, RegimePlan
from kgen.render.linemap import Origin


@dataclass(frozen=True)
class RenderedKernel:
    """The text of one kernel, and which of its plan's arguments it uses, in order."""

    function: str
    plan: KernelPlan
    arguments: tuple[Argument, ...]
    text: str
    origins: tuple[Origin | None, ...]


@dataclass(frozen=True)
class Launcher:
    """One group of a regime with the kernels it launches."""

    function: str
    regime: RegimePlan
    group: Group
    kernels: tuple[RenderedKernel, ...]


@dataclass(frozen=True)
class Source:
    """An emitted file and its manifest, which says where each line came from."""

    text: str
    manifest: Mapping[str, Any]
