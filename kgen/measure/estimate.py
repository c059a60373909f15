"""What can be said of a call without measuring it: what it must move, and how fast a device reads from memory at best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgen.measure.task import Task

if TYPE_CHECKING:
    from kgen.devices import Device

NOTE = "static estimate, not a measurement: compulsory bytes at the read rate of {device} ({basis}), nothing in a cache"


@dataclass(frozen=True)
class Estimate:
    """Of one workload. No call whose inputs come from memory takes less than `seconds`; one that finds them in a cache may.
    What it really takes also depends on its `launches`.
    """

    shape: str
    regime: str
    bytes: int
    operations: int
    launches: int
    seconds: float


def estimates(task: Task, device: Device) -> Iterator[Estimate]:
    """One for each workload of a bundle's own problem that tells its work. Raises `ProblemError`."""
    asker = task.asker()
    for case in asker.workloads():
        work = asker.work(case)
        if work is None:
            continue
        regime = task.form.regimes.get(case.regime)
        launches = max(map(len, regime.launches), default=0) if regime else 0
        seconds = work.bytes / device.read_bytes_per_s
        yield Estimate(case.name, case.regime, work.bytes, work.operations, launches, seconds)
