"""The inputs' bytes before a call, to tell afterwards what the call changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch

from kgen.runner.extent import Extent
from kgen.runner.poison import storage_bytes


@dataclass(frozen=True)
class Change:
    """What a call changed: an element of an argument, or (`element` empty) bytes beside its
    elements.
    """

    argument: str
    element: tuple[int, ...]


class Snapshot:
    """Copies of whole storages, so that the gaps of strided views are watched too.

    Storages of more than `limit` bytes are not copied; of them only torch's own version count is
    watched, which a kernel's stores do not move.
    """

    def __init__(self, inputs: Mapping[str, object], limit: float = float("inf")):
        tensors = {n: t for n, t in inputs.items() if isinstance(t, torch.Tensor) and t.numel()}
        self._owners: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in tensors.items():
            self._owners.setdefault(_address(tensor), {})[name] = tensor
        self._copies: dict[int, torch.Tensor] = {}
        self._versions: dict[int, int] = {}
        for address, owners in self._owners.items():
            tensor = next(iter(owners.values()))
            if tensor.untyped_storage().nbytes() <= limit:
                self._copies[address] = storage_bytes(tensor).clone()
            else:
                self._versions[address] = tensor._version

    def changes(self, in_place: Collection[str]) -> list[Change]:
        """The first change of each storage; elements of arguments updated `in_place` may differ."""
        found = []
        for address, owners in self._owners.items():
            updated = [tensor for name, tensor in owners.items() if name in in_place]
            if address in self._copies:
                found += self._difference(address, owners, updated)
            elif not updated and next(iter(owners.values()))._version != self._versions[address]:
                found.append(Change(" or ".join(owners), ()))
        return found

    def _difference(
        self, address: int, owners: Mapping[str, torch.Tensor], updated: list[torch.Tensor]
    ) -> list[Change]:
        before = self._copies[address]
        for tensor in updated:
            view = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            view.set_(
                before.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
            )
            view.copy_(tensor)
        now = storage_bytes(next(iter(owners.values())))
        if torch.equal(now, before):
            return []
        return [_change_at(owners, int(torch.nonzero(now != before)[0]))]


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _change_at(owners: Mapping[str, torch.Tensor], byte: int) -> Change:
    for name, tensor in owners.items():
        offset = byte // tensor.element_size() - tensor.storage_offset()
        extent = Extent.of(tuple(tensor.shape), tensor.stride())
        if extent.holds(offset):
            return Change(name, extent.index(offset))
    return Change(" or ".join(owners), ())
