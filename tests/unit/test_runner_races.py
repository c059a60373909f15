"""Which accesses of different programs race, on hand-made histories of one launch."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.runner.interpreter.clock import Clock
from kgen.runner.interpreter.races import Conflict, Shadow

STORAGE, COUNTER = 4096, 64
DATA = np.array([3])


class Launch:
    """One launch on a storage of 64 units of a byte each; conflicts come back from each access."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.shadow = Shadow(64, 1)
        self.begin()

    def begin(self, dependent: bool = False) -> None:
        self.clock.begin_launch("k", dependent)

    def program(self, number: int) -> None:
        self.clock.begin_program((number, 0, 0))

    def store(self, unit: int = 3) -> Conflict | None:
        return self.shadow.store(np.array([unit]), self.clock, np.zeros(1, bool))

    def load(self, unit: int = 3) -> Conflict | None:
        return self.shadow.load(np.array([unit]), self.clock, np.zeros(1, bool))

    def atomic(self, release: bool = True, acquire: bool = True, at: int = COUNTER) -> None:
        self.clock.synchronise(STORAGE, at, release, acquire)


@pytest.fixture
def launch() -> Launch:
    return Launch()


def test_two_stores_race(launch):
    launch.program(0)
    assert launch.store() is None
    launch.program(1)
    conflict = launch.store()
    assert (conflict.did, launch.clock.where(conflict.segment).program) == ("stored", (0, 0, 0))
    assert launch.clock.why_unordered(conflict.segment) == "nothing orders the two programs"


def test_a_load_races_with_a_store_of_another(launch):
    launch.program(0)
    launch.store()
    launch.program(1)
    assert launch.load().did == "stored"


def test_a_store_races_with_a_load_of_another(launch):
    launch.program(0)
    launch.load()
    launch.program(1)
    assert launch.store().did == "loaded"


def test_a_store_races_with_the_load_of_another_before_its_own(launch):
    launch.program(0)
    launch.load()
    launch.program(1)
    launch.load()
    assert launch.store().did == "loaded"


def test_loads_do_not_race(launch):
    launch.program(0)
    launch.load()
    launch.program(1)
    assert launch.load() is None


def test_different_elements_do_not_race(launch):
    launch.program(0)
    launch.store(3)
    launch.program(1)
    assert launch.store(4) is None


def test_a_later_launch_is_ordered(launch):
    launch.program(0)
    launch.store()
    launch.begin()
    launch.program(0)
    assert launch.load() is None
    assert launch.store() is None


def test_a_dependent_launch_is_ordered_from_its_wait_on(launch):
    launch.program(0)
    launch.store()
    launch.begin(dependent=True)
    launch.program(0)
    conflict = launch.load()
    assert "gdc_wait() comes too late" in launch.clock.why_unordered(conflict.segment)
    launch.clock.wait()
    assert launch.load() is None


def test_each_program_of_a_dependent_launch_must_wait(launch):
    launch.program(0)
    launch.store()
    launch.begin(dependent=True)
    launch.program(0)
    launch.clock.wait()
    launch.program(1)
    assert launch.load() is not None


def test_barrier_release_acquire_orders(launch):
    launch.program(0)
    launch.store()
    launch.clock.barrier()
    launch.atomic()
    launch.program(1)
    launch.atomic()
    assert launch.load() is None
    assert launch.store() is None


def test_a_store_after_the_last_barrier_is_not_published(launch):
    launch.program(0)
    launch.clock.barrier()
    launch.store()
    launch.atomic()
    launch.program(1)
    launch.atomic()
    conflict = launch.load()
    assert "no tl.debug_barrier() is between" in launch.clock.why_unordered(conflict.segment)


@pytest.mark.parametrize(("release", "acquire"), [(True, False), (False, True), (False, False)])
def test_half_a_synchronisation_orders_nothing(launch, release, acquire):
    launch.program(0)
    launch.store()
    launch.clock.barrier()
    launch.atomic(release=release)
    launch.program(1)
    launch.atomic(acquire=acquire)
    conflict = launch.load()
    assert "relaxed or of CTA scope" in launch.clock.why_unordered(conflict.segment)


def test_atomics_at_different_places_order_nothing(launch):
    launch.program(0)
    launch.store()
    launch.clock.barrier()
    launch.atomic(at=COUNTER)
    launch.program(1)
    launch.atomic(at=COUNTER + 4)
    assert launch.load() is not None


def test_what_a_program_acquired_it_passes_on(launch):
    launch.program(0)
    launch.store()
    launch.clock.barrier()
    launch.atomic(at=COUNTER)
    launch.program(1)
    launch.atomic(at=COUNTER)
    launch.atomic(at=COUNTER + 4)
    launch.program(2)
    launch.atomic(at=COUNTER + 4)
    assert launch.load() is None


def test_a_relaxed_atomic_between_does_not_break_the_chain(launch):
    launch.program(0)
    launch.store()
    launch.clock.barrier()
    launch.atomic()
    launch.program(1)
    launch.atomic(release=False, acquire=False)
    launch.program(2)
    launch.atomic()
    assert launch.load() is None


def test_a_plain_store_to_the_counter_breaks_the_chain(launch):
    launch.program(0)
    launch.store()
    launch.clock.barrier()
    launch.atomic()
    launch.program(1)
    launch.clock.overwritten(STORAGE, np.array([COUNTER]))
    launch.atomic()
    assert launch.load() is not None


def test_one_program_of_many_that_did_not_release_is_found(launch):
    for number in range(3):
        launch.program(number)
        launch.store(number)
        launch.clock.barrier()
        if number != 1:
            launch.atomic()
    launch.program(3)
    launch.atomic()
    assert [launch.load(number) is None for number in range(3)] == [True, False, True]


def test_reading_back_needs_a_barrier(launch):
    launch.program(0)
    launch.store()
    assert launch.load().segment == launch.clock.now
    launch.clock.barrier()
    assert launch.load() is None


def test_a_counter_that_was_acquired_may_be_reset_by_a_plain_store(launch):
    units = np.array([7])
    launch.program(0)
    launch.shadow.update(units, launch.clock)
    launch.atomic(at=7)
    launch.program(1)
    launch.shadow.update(units, launch.clock)
    launch.atomic(at=7)
    acquired = launch.clock.acquired(STORAGE, units)
    assert acquired.all()
    assert launch.shadow.store(units, launch.clock, acquired) is None


def test_a_counter_that_was_not_acquired_may_not(launch):
    units = np.array([7])
    launch.program(0)
    launch.shadow.update(units, launch.clock)
    launch.program(1)
    acquired = launch.clock.acquired(STORAGE, units)
    assert launch.shadow.store(units, launch.clock, acquired).did == "updated"


def test_atomics_do_not_race_with_each_other(launch):
    units = np.array([7])
    launch.program(0)
    launch.shadow.update(units, launch.clock)
    launch.program(1)
    assert launch.shadow.update(units, launch.clock) is None


def test_smaller_accesses_divide_the_units():
    clock, shadow = Clock(), Shadow(16, 4)
    clock.begin_launch("k")
    clock.begin_program((0, 0, 0))
    shadow.store(np.array([1]), clock, np.zeros(1, bool))
    shadow.refine(1)
    assert [bool(shadow.writer(unit)) for unit in range(10)] == [False] * 4 + [True] * 4 + [
        False
    ] * 2
