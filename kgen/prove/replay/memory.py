"""Memory of one instance while its programs run: what tensors hold, and what was written."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kgen.prove.replay.dtypes import ElementType, FloatType, ScalarType, short
from kgen.prove.replay.layout import layout_of
from kgen.prove.replay.model import TensorSpec, Unsupported
from kgen.prove.replay.values import Value, storage, unknown


class TensorState:
    """One tensor: its layout, its numbers, and its written elements.

    Numbers are the declared contents with written ones laid over them; a written number that is
    opaque is kept as None. Of a float tensor without contents no number is kept: it is opaque
    throughout.
    """

    def __init__(self, spec: TensorSpec):
        self.spec = spec
        self.type = short(spec.dtype)
        self.layout = layout_of(spec)
        self._over: dict[int, int | float | bool | None] = {}
        self._written: list[np.ndarray] = []
        self._merged = np.zeros(0, dtype=np.int64)

    @property
    def is_opaque(self) -> bool:
        """Whether no number is ever known here."""
        return isinstance(self.type, FloatType) and self.spec.contents is None

    def read(self, elements: np.ndarray, type: ScalarType) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of these elements, and which of them are opaque."""
        count = len(elements)
        if self.spec.contents is None:
            data, opaque = np.zeros(count, dtype=storage(type)), np.ones(count, dtype=bool)
        else:
            data = np.asarray(self.spec.contents(elements)).astype(storage(type))
            opaque = np.zeros(count, dtype=bool)
        if self._over:
            for lane, element in enumerate(elements.tolist()):
                if element in self._over:
                    number = self._over[element]
                    opaque[lane] = number is None
                    data[lane] = 0 if number is None else number
        return data, opaque

    def write(self, elements: np.ndarray, data: np.ndarray, opaque: np.ndarray | None) -> None:
        """Writes a number to each element, the last lane winning."""
        self._written.append(elements)
        if self.is_opaque:
            return
        if opaque is None:
            self._over.update(zip(elements.tolist(), data.tolist(), strict=True))
            return
        hidden = np.broadcast_to(opaque, elements.shape).tolist()
        for element, number, is_hidden in zip(
            elements.tolist(), data.tolist(), hidden, strict=True
        ):
            self._over[element] = None if is_hidden else number

    def never_written(self, elements: np.ndarray) -> np.ndarray:
        """Which of these elements nothing has written so far."""
        if self._written:
            self._merged = np.unique(np.concatenate([self._merged, *self._written]))
            self._written = []
        if not self._merged.size:
            return np.ones(len(elements), dtype=bool)
        place = np.minimum(np.searchsorted(self._merged, elements), self._merged.size - 1)
        return self._merged[place] != elements

    def changed(self) -> list[tuple[int, int | float | bool | None, int | float | bool]]:
        """Elements that no longer hold their declared contents, as (element, now, before)."""
        if self.spec.contents is None or not self._over:
            return []
        elements = np.array(sorted(self._over), dtype=np.int64)
        before = np.asarray(self.spec.contents(elements)).tolist()
        now = [self._over[element] for element in elements.tolist()]
        rows = zip(elements.tolist(), now, before, strict=True)
        return [(element, new, old) for element, new, old in rows if new != old]


class Memory:
    """The tensors of an instance by name."""

    def __init__(self, tensors: Iterable[TensorSpec]):
        self._states = {spec.name: TensorState(spec) for spec in tensors}

    def __getitem__(self, name: str) -> TensorState:
        if name not in self._states:
            raise Unsupported(f"no tensor {name!r} is declared")
        return self._states[name]

    def states(self) -> tuple[TensorState, ...]:
        """All tensors, in the order of their declaration."""
        return tuple(self._states.values())


def loaded(
    shape: tuple[int, ...],
    lanes: np.ndarray,
    data: np.ndarray,
    opaque: np.ndarray,
    type: ElementType,
) -> Value:
    """A block of `shape` whose `lanes` (flat, bool) were loaded; its other lanes are opaque."""
    if isinstance(type, FloatType) and opaque.all():
        return unknown(type, shape)
    whole = np.zeros(lanes.shape, dtype=storage(type))
    hidden = np.ones(lanes.shape, dtype=bool)
    whole[lanes], hidden[lanes] = data, opaque
    mark = hidden.reshape(shape) if hidden.any() else None
    return Value(type, whole.reshape(shape), mark)
