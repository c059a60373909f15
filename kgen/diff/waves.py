"""Estimated waves: the programs of each kernel at the spec's workloads, for each multiprocessor of a device."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from kgen.devices import Device, device
from kgen.diff.grids import Unknown, programs
from kgen.diff.model import Side, Waves

Launched = Mapping[tuple[str, str], int | None]
"""Programs by kernel (of B's name) and workload; None where the host code does not tell."""


def waves(a: Side, b: Side, kernels: Mapping[str, str]) -> tuple[Waves, ...]:
    """Where the waves of a kernel differ at a workload of both sides; `kernels` has B's names for A's.

    One wave is one program on each multiprocessor, whatever else would fit beside it. Needs torch, as the workloads of
    a family do; nothing is estimated for a side without a manifest.
    """
    if a.manifest is None or b.manifest is None:
        return ()
    try:
        launched = _launched(a), _launched(b)
    except LookupError:  # the problem of another kgen's manifest
        return ()
    old = {(kernels.get(name, name), shape): n for (name, shape), n in launched[0].items()}
    return tuple(_different(old, launched[1], [device(name) for name in _devices(a, b)]))


def _devices(a: Side, b: Side) -> list[str]:
    return list(dict.fromkeys((*a.manifest["devices"], *b.manifest["devices"])))


def _different(old: Launched, new: Launched, devices: list[Device]) -> Iterator[Waves]:
    shapes = {shape for _, shape in old} & {shape for _, shape in new}
    for kernel, shape in (one for one in dict.fromkeys((*new, *old)) if one[1] in shapes):
        counts = [side.get((kernel, shape), 0) for side in (old, new)]
        if counts[0] != counts[1]:
            for one in devices:
                shares = tuple(None if n is None else n / one.sms for n in counts)
                yield Waves(kernel, shape, one.name, shares)


def _launched(side: Side) -> dict[tuple[str, str], int | None]:
    """What a side launches at each of its workloads."""
    problem = importlib.import_module(f"kgen.families.{side.manifest['family']}.problem")
    found: dict[tuple[str, str], int | None] = {}
    for case in problem.workloads(side.manifest["problem"]):
        try:
            launched = programs(side.text, side.manifest["entry"], case.axes)
        except Unknown:
            launched = dict.fromkeys(_kernels(side, case.regime))
        found |= {(kernel, case.name): number for kernel, number in launched.items()}
    return found


def _kernels(side: Side, regime: str) -> list[str]:
    """The kernels that serve a regime."""
    return [name for name, one in side.manifest["kernels"].items() if regime in one["regimes"]]
