"""All regimes of a sweep, one after the other, on one crew and within one time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from kgen.measure.member import NoRun
from kgen.sweep.drive import Sweep
from kgen.sweep.executor import Crew
from kgen.sweep.field import Field
from kgen.sweep.state import Plan, State
from kgen.sweep.store import Store
from kgen.sweep.trial import Timing

WHOLE, SPENT = "complete", "incomplete: the time was spent"


def sweep_all(
    fields: Sequence[Field],
    store: Store,
    crew: Crew,
    timing: Timing,
    plan: Plan,
    progress: Callable[[State], None],
) -> str:
    """Sweeps each field, and says how that ended: `WHOLE` or `SPENT`. The crew is closed in any case.

    `plan.seconds` are for all of them: what one leaves is for the others. Raises `NoRun`, and KeyboardInterrupt; the
    store calls the run incomplete then.
    """
    until = time.monotonic() + plan.seconds
    run = store.begin(fields[0].spec)
    spent = False
    try:
        place = crew.executor.submit(crew.place, fields[0].present.file, timing).result()
        for number, field in enumerate(fields):
            if not field.workloads(place):
                raise NoRun(_nothing(field, [one.name for one in place.workloads]))
            seconds = (until - time.monotonic()) / (len(fields) - number)
            own = dataclasses.replace(plan, seconds=seconds)
            sweep = Sweep(field, store, crew, timing, own, progress)
            sweep.run(place)
            spent |= sweep.spent
    finally:
        crew.close()
    if spent:
        return SPENT
    store.end(run)
    return WHOLE


def _nothing(field: Field, names: Sequence[str]) -> str:
    wanted = f" whose name contains {field.shapes!r}" if field.shapes else ""
    return (
        f"no workload of `bench`{wanted} is in regime {field.regime}; there are {', '.join(names)}"
    )
