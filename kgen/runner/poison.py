"""Fills every tensor that is allocated without values, so that what nothing wrote can't look right.

A floating-point element is NaN with every bit set, an integer is 0x7f7f7f7f: as an index far out of
any tensor.
"""

from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode

_ALLOCATES = frozenset(
    {
        torch.empty,
        torch.empty_like,
        torch.empty_permuted,
        torch.empty_strided,
        torch.Tensor.new_empty,
        torch.Tensor.new_empty_strided,
    }
)
_NEGATIVE_ZERO_IS_NAN = (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def poison_byte(dtype: torch.dtype) -> int:
    """The byte that fills an element of `dtype`. A bool has no bits to spare: it becomes True."""
    if dtype in _NEGATIVE_ZERO_IS_NAN:
        return 0x80
    if dtype.is_floating_point or dtype.is_complex:
        return 0xFF
    return 0x01 if dtype == torch.bool else 0x7F


class Poison(TorchFunctionMode):
    """While active, poisons what `torch.empty` and its relatives allocate, on any device, in a
    captured graph too.

    `filled` maps the address of each storage to the byte that filled it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.filled: dict[int, int] = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in _ALLOCATES and result.device.type != "meta":
            byte = poison_byte(result.dtype)
            storage_bytes(result).fill_(byte)
            self.filled[result.untyped_storage().data_ptr()] = byte
        return result


def storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage of `tensor` as uint8, gaps included."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def poisoned(tensor: torch.Tensor) -> torch.Tensor:
    """For each element, whether it still holds the poison; never true for bool."""
    if tensor.dtype == torch.bool or not tensor.numel():
        return torch.zeros(tensor.shape, dtype=torch.bool, device=tensor.device)
    elements = tensor.detach().contiguous().reshape(-1, 1).view(torch.uint8)
    return (elements == poison_byte(tensor.dtype)).all(dim=1).reshape(tensor.shape)
