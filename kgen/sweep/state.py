"""What a sweep is told, what it tells, and what it does next."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.sweep.field import Entrant
from kgen.sweep.race import Rules
from kgen.sweep.trial import Workload


@dataclass(frozen=True)
class Plan:
    """How to go about it: at most `trials` candidates in `seconds`, proposed by `strategy`; see `search`."""

    strategy: str = "auto"
    seed: int = 0
    trials: int | None = None
    seconds: float = 600.0
    storage: str | None = None
    rules: Rules = Rules()


@dataclass(frozen=True)
class State:
    """How far a sweep is: candidates by what became of them, and the best so far with its log over the anchor."""

    regime: str
    total: int
    measured: int
    failed: int
    racing: int
    best: Entrant | None
    log: float
    seconds_left: float


@dataclass(frozen=True)
class Task:
    """A trial to come: an entrant at a workload, for so many rounds more."""

    entrant: Entrant
    workload: Workload
    rounds: int
