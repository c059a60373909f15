"""The calls of a turn: each input set in order, as often as makes a replay long enough to time."""

from __future__ import annotations

from collections.abc import Callable

from kgen.measure.sets import rounds_for
from kgen.measure.trial import Query, Trial
from kgen.measure.verdict import Verdict


class Calls:
    """Calls on input sets, in a captured graph or (`eager`) made one by one."""

    def __init__(self, trial: Trial, queries: list[Query], eager: bool):
        self._trial = trial
        self._queries = queries
        self._eager = eager
        self._last: object = None
        self.rounds = 1
        self._step: Callable[[], None] = self._make

    @property
    def number(self) -> int:
        """Calls of one step."""
        return self.rounds * len(self._queries)

    def warm_up(self) -> None:
        """One eager pass over the sets, so that what a file keeps for each of them is there."""
        with self._trial.device.eager():
            for query in self._queries:
                self._trial.candidate.call(query.arguments)
        self._trial.device.settle()

    def prepare(self, rounds: int) -> float:
        """Captures them; 0 `rounds` are decided by a first timing. Seconds of a step; raises `NotCapturable`."""
        self.rounds = max(rounds, 1)
        self._capture()
        seconds = min(self._trial.device.timed(self._step, 2))
        if not rounds:
            wanted = rounds_for(seconds, len(self._queries))
            if wanted > 1:
                self.rounds = wanted
                self._capture()
        return seconds

    def turn(self, replays: int) -> list[float]:
        """Seconds a call, for each of the recorded steps."""
        return [one / self.number for one in self._trial.device.timed(self._step, replays)]

    def replayed(self, fresh: Query) -> tuple[Query, Verdict] | None:
        """The last call's answer when its set holds other data, through the same graph; None if `unlike` says why not.

        Of the earlier calls nothing can be asked: a file may reuse the buffer that it returns.
        """
        query = self._trial.refill(self._queries[-1], fresh)
        if query is None:
            return None
        with self._trial.device.eager():
            self._step()
        self._trial.device.settle()
        return query, self._trial.judge(self._trial.named(self._last, query), query)

    def unlike(self, fresh: Query) -> str:
        """What keeps other data out of the last set; empty if nothing does."""
        return self._trial.unlike(self._queries[-1], fresh)

    def _capture(self) -> None:
        self._step = self._make
        if not self._eager:
            self._step = self._trial.device.capture(self._make)

    def _make(self) -> None:
        for _ in range(self.rounds):
            for query in self._queries:
                self._last = self._trial.candidate.call(query.arguments)
