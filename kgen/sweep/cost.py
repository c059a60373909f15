"""The static cost model: how long a candidate may take, from what its declaration says. It is an estimate, never a result.

A kernel that streams from memory takes at least as long as each of these, and a little more, as they overlap less than
wholly:
- all its bytes at the device's read rate;
- the bytes of the busiest multiprocessor at the rate that its buffers in flight sustain (Little's law);
- the turns of its loops one after the other, in as many rounds as its programs take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgen.devices import Device, Target, device, target
from kgen.plan.model import Plan
from kgen.plan.templates import Templates
from kgen.sweep.depends import ByKeys
from kgen.sweep.figures import Declared, Figures
from kgen.sweep.model import Candidate, Estimate, KernelEstimate, Ranked
from kgen.sweep.occupancy import resident
from kgen.sweep.shapes import Shape
from kgen.sweep.space import Axes

NOTE = "static estimate, not a measurement"

FITTED_TO: frozenset[str] = frozenset()
"""Receipts that the numbers below were fitted to: none. What a receipt shows of a model fitted to it is no evidence."""

LATENCY_S = 1e-6
"""From the request of bytes to their arrival, under load."""
LAUNCH_S = 2e-6
"""A kernel of a captured graph, from the end of the one before."""
TURN_S = 4e-7
"""What a turn takes besides its bytes: barriers, and reductions across a program."""
THREAD_BYTE_S = 1e-9
"""What a thread takes for a byte of a turn."""
SM_SHARE = 3
"""A multiprocessor alone reads at most so many times its share of the device's rate."""

BASE_REGISTERS, VECTOR_REGISTERS = 44, 24
"""Registers of a thread beside its part of the tiles: in a kernel with products, and in one without."""
TILE_REGISTERS = 2.2
"""Registers for each element of the largest tile that a thread has."""
OVERLAP = 3
"""The power in which the three times add up: 1 is one after the other, infinity at once."""
SLACK = 1.3
"""A compiler holds so many times the registers that there are before it spills."""


@dataclass(frozen=True)
class Usage:
    """What the compiler says of a kernel: registers and spill bytes of a thread, shared memory of a program."""

    registers: int
    spill_bytes: int
    shared_bytes: int


class CostModel:
    """Estimates for the candidates of some axes at some shapes, on the first device of the spec."""

    def __init__(self, plan: Plan, axes: Axes, templates: Templates, shapes: Sequence[Shape]):
        template = templates.find(plan.family.name, axes.variant)
        declared = Declared(plan, axes, template)
        self._device = device(plan.devices[0])
        self._target = target(self._device.target)
        self._shapes: dict[str, dict[str, ByKeys[Figures]]] = {
            shape.name: {role: declared.of(role, shape) for role in declared.kernels()}
            for shape in shapes
        }

    def ranked(
        self, candidate: Candidate, usage: Mapping[str, Mapping[str, Usage]] | None = None
    ) -> Ranked:
        """The estimate for each shape; with `usage`, by what the compiler says of its kernels, by shape and role."""
        at = usage or {}
        estimates = (self.estimate(candidate, shape, at.get(shape)) for shape in self._shapes)
        return Ranked(candidate, tuple(estimates))

    def estimate(
        self, candidate: Candidate, shape: str, usage: Mapping[str, Usage] | None = None
    ) -> Estimate:
        """The estimate for one shape; `usage` is that of its kernels by their role."""
        kernels = []
        for role, figures_of in self._shapes[shape].items():
            figures = figures_of(candidate)
            if not figures.launched:
                continue
            known = guess(figures, self._target) if usage is None else usage[role]
            kernels.append(self._kernel(role, figures, known))
        seconds = sum(one.seconds + LAUNCH_S for one in kernels)
        return Estimate(shape, seconds, tuple(kernels), usage is not None)

    def _kernel(self, role: str, figures: Figures, usage: Usage) -> KernelEstimate:
        threads = figures.warps * self._target.warp_size
        fits = resident(self._target, threads, usage.registers, usage.shared_bytes)
        waves = figures.programs / (self._device.sms * fits) if fits else math.inf
        return KernelEstimate(
            role=role,
            programs=figures.programs,
            resident=fits,
            waves=waves,
            bytes=figures.bytes,
            operations=figures.operations,
            registers=usage.registers,
            spill_bytes=usage.spill_bytes,
            shared_bytes=usage.shared_bytes,
            seconds=_seconds(self._device, figures, usage, fits, threads) if fits else math.inf,
        )


def guess(figures: Figures, on: Target) -> Usage:
    """Registers, spills and shared memory before anything is compiled.

    The numbers of registers follow what Triton 3 made of `attention/split_k` for sm_90 with 32 to 256 keys a turn.
    """
    threads = figures.warps * on.warp_size
    most = min(on.registers, on.sm_registers // threads)
    base = BASE_REGISTERS if figures.multiplies else VECTOR_REGISTERS
    wanted = base + TILE_REGISTERS * figures.tile / threads
    spilled = 4 * max(0, round(wanted - SLACK * most))
    return Usage(min(round(wanted), most), spilled, figures.shared_bytes)


def _seconds(on: Device, figures: Figures, usage: Usage, fits: int, threads: int) -> float:
    """Of one kernel, without launching it."""
    programs = max(figures.programs, 1)
    own = figures.bytes / programs
    busiest = -(-programs // on.sms)
    rate = _sm_rate(on, min(fits, busiest) * max(figures.shared_bytes, own / figures.turns))
    turns = -(-busiest // fits) * figures.turns * _turn(figures, usage, own, threads)
    times = (figures.bytes / on.read_bytes_per_s, busiest * own / rate if rate else 0.0, turns)
    return LATENCY_S + sum(one**OVERLAP for one in times) ** (1 / OVERLAP)


def _sm_rate(on: Device, in_flight: float) -> float:
    """Bytes a second of a multiprocessor that has so many bytes under way."""
    return min(in_flight / LATENCY_S, SM_SHARE * on.read_bytes_per_s / on.sms)


def _turn(figures: Figures, usage: Usage, own: float, threads: int) -> float:
    """Seconds of a turn: a spilled byte is stored and loaded, and what is not asked for early enough is waited for."""
    busy = TURN_S + THREAD_BYTE_S * (own / figures.turns / threads + 2 * usage.spill_bytes)
    return busy + max(0.0, LATENCY_S - (figures.stages - 1) * busy)
