"""Every load, store and atomic of a kernel, checked: bounds, races, who may write, what was never
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from triton.runtime import interpreter as it

from kgen.runner.extent import Extent
from kgen.runner.faults import Where
from kgen.runner.interpreter.clock import Clock
from kgen.runner.interpreter.lanes import Lanes, bits, same_units
from kgen.runner.interpreter.races import Conflict, Shadow
from kgen.runner.interpreter.windows import Access, AddressSpace

_raw = it._interpreter
_DID = {"stored": "was stored", "updated": "was updated by an atomic", "loaded": "was loaded"}


@dataclass(frozen=True)
class Ordering:
    """What an atomic orders. One of CTA scope orders nothing and is not even atomic for other
    programs.
    """

    release: bool
    acquire: bool
    across_programs: bool


class Memory:
    """What the kernels of one case may touch, and what they have done to it.

    `read_only` maps the address of a storage to the argument that it belongs to; `poison` maps the
    address of a storage to the byte that filled it when it was allocated.
    """

    def __init__(self, read_only: Mapping[int, str], poison: Mapping[int, int]) -> None:
        self.clock = Clock()
        self._space = AddressSpace()
        self._read_only = read_only
        self._poison = poison
        self._shadows: dict[int, Shadow] = {}
        self._kept: dict[int, torch.UntypedStorage] = {}

    def begin_launch(self, kernel: str, dependent: bool) -> None:
        """Forgets the last launch's addresses; what was written stays known."""
        self._space.clear()
        self.clock.begin_launch(kernel, dependent)

    def map(self, name: str, tensor: torch.Tensor) -> int:
        """The address by which this launch's kernel knows `tensor`."""
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        # Kept, so that no other tensor gets this address while the case runs.
        self._kept[start] = storage
        if start not in self._read_only and start not in self._shadows:
            self._shadows[start] = Shadow(storage.nbytes(), tensor.element_size())
        extent = Extent.of(tuple(tensor.shape), tensor.stride())
        real = tensor.data_ptr() if tensor.numel() else start
        return self._space.add(name, extent, tensor.element_size(), real, start).base

    def writer(self, tensor: torch.Tensor, index: tuple[int, ...]) -> Where | None:
        """The program that wrote an element last, or None if no kernel did."""
        storage = tensor.untyped_storage().data_ptr()
        shadow = self._shadows.get(storage)
        if shadow is None:
            return None
        flat = sum(i * stride for i, stride in zip(index, tensor.stride()))
        byte = tensor.data_ptr() - storage + flat * tensor.element_size()
        segment = shadow.writer(byte // shadow.unit)
        return self.clock.where(segment) if segment else None

    def load(
        self, pointers: np.ndarray, mask: np.ndarray, other: np.ndarray, where: Where
    ) -> np.ndarray:
        """Elements where `mask`, else `other`, whose dtype is that of the elements."""
        pointers, mask = np.broadcast_arrays(pointers, mask)
        result = np.array(np.broadcast_to(other, pointers.shape), order="C")
        active = pointers[mask]
        if active.size:
            result[mask] = self._load(active, result.dtype, Lanes(mask, where, "load"))
        return result

    def store(
        self, pointers: np.ndarray, values: np.ndarray, mask: np.ndarray, where: Where
    ) -> None:
        """Stores `values` where `mask`."""
        pointers, values, mask = np.broadcast_arrays(pointers, values, mask)
        active, values = pointers[mask], values[mask]
        if not active.size:
            return
        lanes = Lanes(mask, where, "store")
        real = np.empty(active.shape, np.uint64)
        for access in self._inside(active, values.itemsize, lanes):
            shadow = self._writable(access, lanes)
            real[access.which] = _real(access)
            units = _units(shadow, access, values.itemsize)
            self._check_agreement(access, units, values[access.which], lanes)
            acquired = self.clock.acquired(access.window.storage, units * shadow.unit)
            self._report(shadow.store(units, self.clock, acquired), access, lanes)
            self.clock.overwritten(access.window.storage, units * shadow.unit)
        _raw.store(real, values, _all(real))

    def atomic(
        self, pointers: np.ndarray, mask: np.ndarray, width: int, ordering: Ordering, where: Where
    ) -> np.ndarray:
        """Checks and notes an atomic on elements of `width` bytes; the real addresses of the lanes
        where `mask`.
        """
        active = pointers[mask]
        real = np.empty(active.shape, np.uint64)
        if not active.size:
            return real
        lanes = Lanes(mask, where, "atomic")
        for access in self._inside(active, width, lanes):
            shadow = self._writable(access, lanes)
            real[access.which] = _real(access)
            units = _units(shadow, access, width)
            present = _read(_real(access), np.dtype(f"u{width}"))
            self._check_written(access, shadow.untouched(units), present, lanes)
            if ordering.across_programs:
                self._report(shadow.update(units, self.clock), access, lanes)
            else:
                conflict = shadow.store(units, self.clock, np.zeros(units.shape, bool))
                self._report(conflict, access, lanes, "CTA scope holds within one program only")
            for byte in access.offsets + access.window.storage_offset:
                storage = access.window.storage
                self.clock.synchronise(storage, int(byte), ordering.release, ordering.acquire)
        return real

    def _load(self, active: np.ndarray, dtype: np.dtype, lanes: Lanes) -> np.ndarray:
        values = np.empty(active.shape, dtype)
        for access in self._inside(active, dtype.itemsize, lanes):
            values[access.which] = loaded = _read(_real(access), dtype)
            shadow = self._shadows.get(access.window.storage)
            if shadow is None:
                continue
            units = _units(shadow, access, dtype.itemsize)
            self._check_written(access, shadow.untouched(units), loaded, lanes)
            acquired = self.clock.acquired(access.window.storage, units * shadow.unit)
            self._report(shadow.load(units, self.clock, acquired), access, lanes)
        return values

    def _inside(self, active: np.ndarray, width: int, lanes: Lanes) -> list[Access]:
        """The accesses by window, once all of them are known to be in bounds."""
        accesses = list(self._space.split(active, width))
        for access in accesses:
            if not access.inside.all():
                raise lanes.out_of_bounds(access)
        return accesses

    def _writable(self, access: Access, lanes: Lanes) -> Shadow:
        argument = self._read_only.get(access.window.storage)
        if argument is not None:
            text = f"{lanes.action} to {{element}}, which belongs to the input {argument!r}"
            raise lanes.fault("KG706", access, 0, text)
        return self._shadows[access.window.storage]

    def _check_written(
        self, access: Access, untouched: np.ndarray, values: np.ndarray, lanes: Lanes
    ) -> None:
        """Raises where a poisoned element is read that neither a kernel nor torch has written."""
        poison = self._poison.get(access.window.storage)
        if poison is None or not untouched.any():
            return
        asked = untouched.reshape(len(access.offsets), -1).all(axis=1)
        unwritten = asked & (bits(values) == int.from_bytes([poison] * values.itemsize))
        if unwritten.any():
            text = (
                f"{lanes.action} of {{element}}, which nothing has written since it was allocated"
            )
            raise lanes.fault("KG709", access, int(np.argmax(unwritten)), text)

    def _check_agreement(
        self, access: Access, units: np.ndarray, values: np.ndarray, lanes: Lanes
    ) -> None:
        """Raises where two lanes of one store give one element different values: which one stays is
        chance.
        """
        first, second = same_units(units)
        if not first.size:
            return
        per_lane = len(units) // len(access.offsets)
        stored = bits(values)
        differ = stored[first // per_lane] != stored[second // per_lane]
        if differ.any():
            lane = int(second[np.argmax(differ)]) // per_lane
            text = "two lanes of one store give {element} different values"
            raise lanes.fault("KG718", access, lane, text)

    def _report(
        self, conflict: Conflict | None, access: Access, lanes: Lanes, because: str = ""
    ) -> None:
        if conflict is None:
            return
        lane = conflict.lane * len(access.offsets) // conflict.lanes
        if conflict.segment == self.clock.now:
            why = "the same program stored it with no tl.debug_barrier() between the two"
        else:
            other = self.clock.where(conflict.segment)
            because = because or self.clock.why_unordered(conflict.segment)
            why = f"it {_DID[conflict.did]} by {other}; {because}"
        raise lanes.fault("KG704", access, lane, f"race: {lanes.action} of {{element}}: {why}")


def _real(access: Access) -> np.ndarray:
    """Where the elements really lie."""
    return access.offsets.view(np.uint64) + np.uint64(access.window.real)


def _read(real: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return _raw.load(real, _all(real), np.zeros(real.shape, dtype), dtype)


def _all(lanes: np.ndarray) -> np.ndarray:
    return np.ones(lanes.shape, bool)


def _units(shadow: Shadow, access: Access, width: int) -> np.ndarray:
    """The shadow's units that an access touches, lane by lane."""
    if width < shadow.unit:
        shadow.refine(width)
    first = (access.offsets + access.window.storage_offset) // shadow.unit
    several = width // shadow.unit
    return first if several == 1 else (first[:, None] + np.arange(several)).ravel()
