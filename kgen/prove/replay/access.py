"""Loads, stores and atomics, and the barriers between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgen.prove.replay.arithmetic import Operand, cast, lift
from kgen.prove.replay.dtypes import IntType, PointerType, ScalarType
from kgen.prove.replay.machine import Machine
from kgen.prove.replay.memory import TensorState, loaded
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.trace import (
    Access,
    AccessKind,
    Barrier,
    DependencyWait,
    OutOfRange,
    Uninitialised,
)
from kgen.prove.replay.values import Taint, Value, broadcast, spread, storage, unknown, widen

ORDERS = ("acq_rel", "acquire", "release", "relaxed")
SCOPES = ("gpu", "cta", "sys")


@dataclass(frozen=True, eq=False)
class Place:
    """Where the active lanes of an access go.

    `lanes` is flat over `shape`; `elements` has a row for each of its true lanes and a column for
    each element of the tensor that one lane covers (several where the pointer was cast to a wider
    type).
    """

    state: TensorState
    type: ScalarType
    shape: tuple[int, ...]
    lanes: np.ndarray
    elements: np.ndarray

    @property
    def is_whole(self) -> bool:
        """Whether the pointer has the type of its tensor, so that numbers pass as they are."""
        return self.type == self.state.type


def load(
    machine: Machine,
    pointer: Operand,
    mask: Operand | None = None,
    other: Operand | None = None,
    *,
    boundary_check: tuple = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> Value:
    """Masked-off lanes are `other`, and opaque without it. Cache hints change no value."""
    _no_block_pointer(boundary_check, padding_option)
    if mask is None and other is not None:
        raise Unsupported("tl.load with other but without mask: Triton refuses this")
    place = _place(machine, "load", pointer, mask, grows=True)
    _check_written(machine, place)
    type = place.type
    if place.state.is_opaque or not place.is_whole:
        return unknown(type, place.shape)
    data, opaque = place.state.read(place.elements[:, 0], type)
    value = loaded(place.shape, place.lanes, data, opaque, type)
    return value if other is None else _filled(machine, value, place, other)


def store(
    machine: Machine,
    pointer: Operand,
    value: Operand,
    mask: Operand | None = None,
    *,
    boundary_check: tuple = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Stores the active lanes."""
    _no_block_pointer(boundary_check, "")
    place = _place(machine, "store", pointer, mask, grows=False)
    stored = spread(cast(machine.recorder, value, place.type), place.shape)
    if not place.is_whole:
        stored = unknown(place.state.type, place.shape)
    opaque = stored.opaque
    if opaque is not None and opaque.ndim:
        opaque = widen(opaque, place.shape).reshape(-1)[place.lanes]
    numbers = stored.data.reshape(-1)[place.lanes]
    for column in range(place.elements.shape[1]):
        place.state.write(place.elements[:, column], numbers, opaque)


def atomic(combine: Callable[[int | float, int | float], int | float]) -> Callable[..., Value]:
    """The atomic that replaces a number by `combine(number, value)` and gives the old one."""

    def operation(
        machine: Machine,
        pointer: Operand,
        val: Operand,
        mask: Operand | None = None,
        sem: str | None = None,
        scope: str | None = None,
    ) -> Value:
        place = _place(machine, "atomic", pointer, mask, grows=False, order=sem, scope=scope)
        value = spread(cast(machine.recorder, val, place.type), place.shape)
        return _exchange(machine, place, value, combine)

    return operation


def atomic_cas(
    machine: Machine,
    pointer: Operand,
    cmp: Operand,
    val: Operand,
    sem: str | None = None,
    scope: str | None = None,
) -> Value:
    """Compare and swap."""
    place = _place(machine, "atomic", pointer, None, grows=False, order=sem, scope=scope)
    expected = cast(machine.recorder, cmp, place.type)
    value = spread(cast(machine.recorder, val, place.type), place.shape)
    if expected.data.size != 1 or expected.opaque is not None:
        raise Unsupported("tl.atomic_cas against a block, or against data that has no values here")
    wanted = expected.data.reshape(()).item()
    return _exchange(machine, place, value, lambda old, new: new if old == wanted else old)


def debug_barrier(machine: Machine) -> None:
    """All threads of the program meet."""
    machine.recorder.events.append(Barrier(machine.recorder.line))


def gdc_wait(machine: Machine) -> None:
    """Waits until the launch before has ended and its stores are visible."""
    machine.recorder.events.append(DependencyWait(machine.recorder.line))


def gdc_launch_dependents(machine: Machine) -> None:
    """Lets the next launch begin; what it may read is still what its own wait says."""


def _place(
    machine: Machine,
    kind: AccessKind,
    pointer: Operand,
    mask: Operand | None,
    *,
    grows: bool,
    order: str | None = None,
    scope: str | None = None,
) -> Place:
    """Resolves an access and records it. Only a load's pointer `grows` to the shape of its mask."""
    if not isinstance(pointer, Value) or not isinstance(pointer.type, PointerType):
        raise Unsupported(f"tl.{kind} through something that is no pointer")
    condition = None if mask is None else lift(mask)
    shape = pointer.shape
    if condition is not None:
        if not shape and condition.shape:
            raise Unsupported(f"tl.{kind} of a scalar under a block as mask: Triton refuses this")
        shape = broadcast(shape, condition.shape)
    if shape != pointer.shape and not grows:
        raise Unsupported(f"tl.{kind} through {list(pointer.shape)} pointers under a larger mask")
    lanes = np.ones(shape, dtype=bool)
    if condition is not None:
        lanes &= machine.lanes(condition)
    lanes = _with_known_address(machine, pointer, lanes)
    state = machine.memory[pointer.type.tensor]
    lanes, elements = _elements(machine, kind, pointer, lanes, state)
    recorder = machine.recorder
    names = ("", "")
    if kind == "atomic":
        names = (order or "acq_rel", scope or "gpu")
        if names[0] not in ORDERS or names[1] not in SCOPES:
            raise Unsupported(f"an atomic with sem={order!r}, scope={scope!r}: Triton refuses this")
    machine.accessed(elements.size)
    recorder.events.append(
        Access(kind, state.spec.name, recorder.line, elements.reshape(-1), *names)
    )
    return Place(state, pointer.type.element, shape, lanes.reshape(-1), elements)


def _with_known_address(machine: Machine, pointer: Value, lanes: np.ndarray) -> np.ndarray:
    """The lanes whose address is known; unknown and wrapped addresses are recorded."""
    taint = pointer.taint
    if taint is not None and (widen(taint.lanes, lanes.shape) & lanes).any():
        machine.recorder.reach(taint.wraps, "address")
    if pointer.opaque is None:
        return lanes
    hidden = widen(pointer.opaque, lanes.shape) & lanes
    if hidden.any():
        machine.recorder.depends_on_data("address")
    return lanes & ~hidden


def _elements(
    machine: Machine, kind: AccessKind, pointer: Value, lanes: np.ndarray, state: TensorState
) -> tuple[np.ndarray, np.ndarray]:
    """The lanes that stay within the tensor and the elements that they cover."""
    offsets = widen(pointer.data, lanes.shape)[lanes]
    old, new = state.type.size, pointer.type.element.size
    if new >= old:
        covered = offsets[:, None] * (new // old) + np.arange(new // old)
    elif kind == "load":
        covered = offsets[:, None] * new // old
    else:
        raise Unsupported(f"tl.{kind} to a part of an element of {state.spec.name}")
    elements, inside = state.layout.elements(covered)
    if not inside.all():
        wild = ~inside
        first = int(covered[wild][0])
        found = OutOfRange(
            kind, state.spec.name, machine.recorder.line, first, int(wild.any(axis=1).sum())
        )
        machine.recorder.out_of_range.append(found)
        kept = np.zeros_like(lanes)
        kept[lanes] = inside.all(axis=1)
        return kept, elements[inside.all(axis=1)]
    return lanes, elements


def _check_written(machine: Machine, place: Place) -> None:
    """Records a read of scratch, or of an output, that nothing has written."""
    spec = place.state.spec
    if spec.role not in ("scratch", "output") or not place.elements.size:
        return
    elements = place.elements.reshape(-1)
    missing = place.state.never_written(elements)
    if missing.any():
        first = int(elements[np.argmax(missing)])
        found = Uninitialised(spec.name, machine.recorder.line, first, int(missing.sum()))
        machine.recorder.uninitialised.append(found)


def _filled(machine: Machine, value: Value, place: Place, other: Operand) -> Value:
    """The value with `other` in the lanes that were not active."""
    fill = spread(cast(machine.recorder, other, place.type), place.shape)
    off = ~place.lanes.reshape(place.shape)
    hidden = np.zeros((), bool) if value.opaque is None else value.opaque
    other_hidden = np.zeros((), bool) if fill.opaque is None else fill.opaque
    opaque = np.where(off, other_hidden, hidden)
    data = np.where(off, fill.data, value.data).astype(storage(place.type), copy=False)
    taint = fill.taint and Taint(fill.taint.lanes & off, fill.taint.wraps)
    return Value(place.type, data, opaque if opaque.any() else None, taint)


def _exchange(
    machine: Machine,
    place: Place,
    value: Value,
    combine: Callable[[int | float, int | float], int | float],
) -> Value:
    """Lane after lane: reads the number, writes the combined one."""
    if not place.is_whole:
        raise Unsupported("an atomic through a pointer that was cast to another type")
    _check_written(machine, place)
    state, type = place.state, place.type
    elements = place.elements[:, 0]
    numbers = value.data.reshape(-1)[place.lanes]
    hidden = np.broadcast_to(False if value.opaque is None else value.opaque, value.shape)
    hidden = hidden.reshape(-1)[place.lanes]
    before = np.zeros(len(elements), dtype=storage(type))
    unseen = np.zeros(len(elements), dtype=bool)
    for lane in range(len(elements)):
        one = elements[lane : lane + 1]
        old, opaque = state.read(one, type)
        before[lane], unseen[lane] = old[0], opaque[0]
        opaque = opaque | hidden[lane]
        new = combine(old.item(), numbers[lane].item())
        if isinstance(type, IntType) and not opaque[0] and type.wrap(new) != new:
            machine.recorder.wrap("atomic", old.item(), numbers[lane].item(), type.name, new)
        state.write(one, np.array([type.wrap(new) if isinstance(type, IntType) else new]), opaque)
    return loaded(place.shape, place.lanes, before, unseen, type)


def _no_block_pointer(boundary_check: tuple, padding_option: str) -> None:
    if boundary_check or padding_option:
        raise Unsupported("block pointers are not modelled: write offsets and a mask instead")


FUNCTIONS: dict[str, Callable] = {
    "load": load,
    "store": store,
    "atomic_add": atomic(lambda old, value: old + value),
    "atomic_max": atomic(max),
    "atomic_min": atomic(min),
    "atomic_and": atomic(lambda old, value: old & value),
    "atomic_or": atomic(lambda old, value: old | value),
    "atomic_xor": atomic(lambda old, value: old ^ value),
    "atomic_xchg": atomic(lambda old, value: value),
    "atomic_cas": atomic_cas,
    "debug_barrier": debug_barrier,
    "extra.cuda.gdc_wait": gdc_wait,
    "extra.cuda.gdc_launch_dependents": gdc_launch_dependents,
}
