"""How many programs of a kernel a multiprocessor holds at once."""

from __future__ import annotations

from kgen.devices import Target

REGISTERS_AT_ONCE = 8
"""A thread's registers are allocated in multiples of this (CUDA occupancy calculator, from sm_70 on)."""
RESERVED_BYTES = 1024
"""Shared memory that the system takes from every program (CUDA programming guide, from sm_80 on)."""


def resident(target: Target, threads: int, registers: int, shared_bytes: int) -> int:
    """The programs that fit: by threads, by registers a thread, by shared memory a program; 0 where none does."""
    taken = -(-max(registers, 1) // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE
    reserved = RESERVED_BYTES if target.backend == "cuda" else 0
    limits = [target.sm_programs, target.sm_threads // threads]
    limits.append(target.sm_registers // (taken * threads))
    if shared_bytes + reserved:
        limits.append(target.sm_shared_bytes // (shared_bytes + reserved))
    return min(limits)
