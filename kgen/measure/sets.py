"""Input sets that together do not fit in the last cache, so that each call finds its inputs cold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from kgen.runner.poison import storage_bytes

MOST_CALLS = 8192
LEAST_REPLAY_SECONDS = 200e-6
MEMORY_SHARE = 0.6
"""Of the memory that a process may take, how much the sets may fill."""


@dataclass(frozen=True)
class Rotation:
    """How many sets are rotated, and whether their bytes exceed twice the last cache."""

    sets: int
    cold: bool


def rotation(touched: int, held: int, l2_bytes: int, free_bytes: int) -> Rotation:
    """For calls that read `touched` bytes of inputs that hold `held`."""
    wanted = max(2, 2 * l2_bytes // max(touched, 1) + 1)
    fits = max(2, int(free_bytes * MEMORY_SHARE) // max(held, 1))
    sets = min(wanted, fits, MOST_CALLS)
    return Rotation(sets, sets * touched > 2 * l2_bytes)


def rounds_for(seconds: float, sets: int) -> int:
    """How often a graph goes through the sets, so that a replay is long enough to time."""
    rounds = int(-(-LEAST_REPLAY_SECONDS // max(seconds, 1e-9)))
    return max(1, min(rounds, MOST_CALLS // sets))


def bytes_of(arguments: Mapping[str, object]) -> int:
    """Bytes of the storages under the arguments, each counted once."""
    tensors = (one for one in arguments.values() if isinstance(one, torch.Tensor))
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage() for one in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def copies(arguments: Mapping[str, object]) -> dict[str, object]:
    """The same values in other memory, laid out alike; what shares a storage shares the copy."""
    made: dict[int, torch.Tensor] = {}
    found = dict(arguments)
    for name, value in arguments.items():
        if not isinstance(value, torch.Tensor):
            continue
        address = value.untyped_storage().data_ptr()
        if address not in made:
            made[address] = storage_bytes(value).clone()
        other = torch.empty(0, dtype=value.dtype, device=value.device)
        storage = made[address].untyped_storage()
        found[name] = other.set_(storage, value.storage_offset(), value.shape, value.stride())
    return found
