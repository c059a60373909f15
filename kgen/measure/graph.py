"""The calls of a turn: each input set in order, as often as makes a replay long enough to time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import torch

from kgen.measure.probes import listed
from kgen.measure.sets import rounds_for
from kgen.measure.trial import Query, Trial
from kgen.measure.verdict import Verdict

DISTINCT = 16
"""How many input sets have values of their own, so that no answer is that of the call before; more are copies of those."""

NOVEL_TRIALS = 5
NOVEL_LONGER = 1.1
"""How much longer the fastest step on new data takes than the slowest on the same again before it counts."""
NOVEL_TIMES = 2


class Calls:
    """Calls on input sets, in a captured graph or (`eager`) made one by one."""

    def __init__(self, trial: Trial, queries: list[Query], eager: bool):
        self._trial = trial
        self._queries = queries
        self._eager = eager
        self._last: object = None
        self._kept: object = None
        self._chosen = 0
        self._overwritten = False
        self._watched: Sequence[str] | None = None
        self._spans: list[tuple[int, int]] = []
        self.other_launches = ""
        """How the launches of a captured call differ from those of the eager one before; empty if none does."""
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
        """The answers of the last call and of a chosen one when their sets hold other data, through the same graph, as
        the worse verdict; None if `unlike` says why not.

        Which call is chosen, no file can know. Where a file returns a buffer of its own, only the last call can be asked.
        """
        last, chosen = (self._trial.refill(one, fresh) for one in self._asked())
        if last is None or chosen is None:
            return None
        with self._trial.device.eager():
            self._step()
        self._trial.device.settle()
        answers = [(last, self._last)]
        if not self._overwritten:
            answers.append((chosen, self._kept))
        found = [
            (query, self._trial.judge(self._trial.named(result, query), query))
            for query, result in answers
        ]
        return next((one for one in found if one[1].flag), found[0])

    def novelty(self, seed: int) -> tuple[str, str]:
        """A flag and its message where steps take longer on data that was never there than on the same data again:
        then answers are kept by the values of the inputs. The flag is empty where they do not.

        It is asked again, of other data, before it counts: what else runs on the machine may do so once.
        """
        longer = NOVEL_LONGER
        for time in range(NOVEL_TIMES):
            longer = self._longer_on_new(seed + (time << 40))
            if longer <= NOVEL_LONGER:
                return "", ""
        message = f"calls take {longer:.2f} times as long on data that they have not seen before"
        return "depends_on_previous_call", message

    def _longer_on_new(self, seed: int) -> float:
        """How much longer a step takes on new data than on the same data again. Before both the memory is written anew,
        so that caches hold alike.
        """
        new, again = [], []
        for trial in range(NOVEL_TRIALS + 1):
            for kept in (new, again):
                self._refill(seed + ((trial + 1) << 48))
                kept += self._trial.device.timed(self._step, 1, warm=False)
        # In the first trial the memory of the generator and its like was new too. Of the rest one may be an outlier on
        # either side, as where two kept answers clash.
        return sorted(new[1:])[1] / sorted(again[1:])[-2]

    def _refill(self, seed: int) -> None:
        """The values that a seed gives, in all sets; sets beside each other get others."""
        for first in range(min(DISTINCT, len(self._queries))):
            inputs = self._trial.inputs(seed + (first << 32))
            fresh = Query(seed, inputs, self._trial.candidate.prepared(inputs), {})
            for query in self._queries[first::DISTINCT]:
                self._trial.refill(query, fresh)

    def unlike(self, fresh: Query) -> str:
        """What keeps other data out of the sets that are asked; empty if nothing does."""
        return next(filter(None, (self._trial.unlike(one, fresh) for one in self._asked())), "")

    def _asked(self) -> tuple[Query, Query]:
        """The sets of the last and of the chosen call."""
        return self._queries[-1], self._queries[self._chosen % len(self._queries)]

    def _capture(self) -> None:
        self._step = self._make
        if self._eager:
            return
        device, operators = self._trial.device, not self._trial.compiles.graphs
        self._chosen = secrets.randbelow(self.number)
        with device.launches(operators) as eager:
            self._trial.call(self._queries[0])
        with device.launches(operators) as captured:
            self._watched, self._spans = captured, []
            self._step = device.capture(self._make)
        self._watched = None
        self.other_launches = _unlike(tuple(eager), captured, self._spans)

    def _make(self) -> None:
        """The calls; while they are captured, also where the launches of each begin and end: a capture has its own."""
        chosen = self._queries[self._chosen % len(self._queries)]
        self._overwritten = False
        for number in range(self.number):
            query = self._queries[number % len(self._queries)]
            start = len(self._watched or ())
            self._last = self._trial.candidate.call(query.arguments)
            if self._watched is not None:
                self._spans.append((start, len(self._watched)))
            if number == self._chosen:
                self._kept = self._last
            elif number > self._chosen and query is not chosen:
                self._overwritten |= bool(_storages(self._last) & _storages(self._kept))


def _unlike(
    eager: tuple[str, ...], captured: Sequence[str], spans: Sequence[tuple[int, int]]
) -> str:
    """How the launches of one of the captured calls, which lie at these places, are not those of the eager one."""
    for number, (start, end) in enumerate(spans):
        found = tuple(captured[start:end])
        if found != eager:
            return (
                f"call {number + 1} of {len(spans)} in the graph launched {listed(found)}, "
                f"an eager one {listed(eager)}"
            )
    return ""


def _storages(result: object) -> set[int]:
    """Where the tensors that a call returned lie."""
    every = result if isinstance(result, (tuple, list)) else (result,)
    return {one.untyped_storage().data_ptr() for one in every if isinstance(one, torch.Tensor)}
