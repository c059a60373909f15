"""Other data in the same buffers: what a captured graph, or a file that remembers addresses, is tried with."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from kgen.runner.poison import storage_bytes


def fill(buffers: Mapping[str, object], values: Mapping[str, object]) -> bool:
    """Copies values into the captured buffers, gaps too; False if layouts or numbers differ."""
    if unlike(buffers, values) is not None:
        return False
    for name, buffer in buffers.items():
        if isinstance(buffer, torch.Tensor):
            storage_bytes(buffer).copy_(storage_bytes(values[name]))
    return True


def unlike(buffers: Mapping[str, object], values: Mapping[str, object]) -> str | None:
    """The argument that keeps values from being copied into buffers; None if all can be."""
    return next(
        (name for name, buffer in buffers.items() if _frozen(buffer) != _frozen(values[name])),
        None,
    )


def _frozen(value: object) -> object:
    """What a graph keeps of an argument: all of it, but of a tensor only how it lies in its
    storage.
    """
    if not isinstance(value, torch.Tensor):
        return value
    nbytes = value.untyped_storage().nbytes()
    return value.dtype, value.shape, value.stride(), value.storage_offset(), nbytes
