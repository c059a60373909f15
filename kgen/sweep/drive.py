"""A sweep of one regime: trials are handed out, what they find is kept, and the race goes on until it is decided."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from kgen.measure.member import NoRun
from kgen.sweep.executor import Crew
from kgen.sweep.field import Entrant, Field
from kgen.sweep.race import Standing, next_rung, standing
from kgen.sweep.records import Key, Measured, Result, Trial
from kgen.sweep.search import Option, strategy
from kgen.sweep.state import Plan, State, Task
from kgen.sweep.store import Store
from kgen.sweep.trial import Answer, File, Job, Place, Timing, Workload

EXPLORING = 0.7
"""Of the time, what may go into a first look at candidates; the rest is for telling the best apart."""

LOOK_SECONDS = 0.5
AGAIN = 2
"""How often a trial is tried again whose anchor, and not itself, gave no time."""


class Sweep:
    """One regime on one crew. `progress` is called whenever something was found."""

    def __init__(
        self,
        field: Field,
        store: Store,
        crew: Crew,
        timing: Timing,
        plan: Plan = Plan(),
        progress: Callable[[State], None] = lambda state: None,
    ):
        self._field = field
        self._store = store
        self._crew = crew
        self._timing = timing
        self._plan = plan
        self._progress = progress
        self._deadline = time.monotonic() + plan.seconds
        self._under_way: dict[Future, Task] = {}
        self._results: dict[Key, Result] = {}
        self._standings: dict[Entrant, Standing] = {}
        self._failures: set[Entrant] = set()
        self._racing = 0
        self.spent = False
        """Whether the time was spent before the race was decided."""

    def run(self, place: Place) -> None:
        """Measures until the race is decided or the time is spent. What is found is in the store.

        On Ctrl-C the trials that have ended are kept, and those under way are marked `incomplete`. Raises `NoRun` where
        the anchor gives no time.
        """
        self._place = place
        self._workloads = self._field.workloads(place)
        self._store.describe(self._field.entries(), self._measured())
        self._results = self._store.results(place.device, place.versions)
        for one in self._field.entrants:
            self._update(one)
        self._anchors = {one: self._anchor(one) for one in self._workloads}
        try:
            self._explore()
            self._race()
        except KeyboardInterrupt:
            for future, task in self._under_way.items():
                self._keep(task, _answer_so_far(future))
            raise

    def standings(self) -> dict[Entrant, Standing]:
        """The entrants that have a time at every shape."""
        return dict(self._standings)

    def _update(self, entrant: Entrant) -> None:
        """Draws anew what follows from an entrant's results."""
        known = [self._results.get(entrant.key(one, self._place)) for one in self._workloads]
        logs = [one.logs for one in known if one is not None]
        if any(one is not None and one.status != "measured" for one in known):
            self._failures.add(entrant)
            self._standings.pop(entrant, None)
        elif logs and len(logs) == len(known):
            self._standings[entrant] = standing(logs)

    def _measured(self) -> Iterator[Measured]:
        for one in self._workloads:
            yield Measured(self._field.spec, one.name, one.text, self._field.regime)

    def _anchor(self, workload: Workload) -> tuple[str, File]:
        present = self._field.present
        return self._store.anchor(present.key(workload, self._place), present.file)

    def _explore(self) -> None:
        """A first look at each candidate that the strategy proposes, and at what the spec has now before them all."""
        entrants, plan = self._field.entrants, self._plan
        options = [Option(one.settings, one.estimate) for one in entrants]
        searching = strategy(plan.strategy, options, plan.seed, plan.storage)
        until = time.monotonic() + EXPLORING * plan.seconds
        waiting: dict[Entrant, int] = {}
        for index, one in enumerate(entrants):
            if self._settled(one):
                searching.know(index, self._log(one))

        def told(entrant: Entrant) -> None:
            if entrant in waiting and self._settled(entrant):
                searching.tell(waiting.pop(entrant), self._log(entrant))

        def proposals() -> Iterator[Task]:
            present = self._field.present
            left = len(entrants) if plan.trials is None else plan.trials
            if not self._settled(present):
                left -= 1
                # not to be asked for once more while it is under way
                waiting[present] = entrants.index(present)
                searching.know(waiting[present], None)
                yield from self._first(present)
            for _ in range(left):
                index = searching.ask()
                if index is None:
                    return
                waiting[entrants[index]] = index
                tasks = list(self._first(entrants[index]))
                if not tasks:
                    told(entrants[index])
                yield from tasks

        self._work(proposals(), until, told)

    def _first(self, entrant: Entrant) -> Iterator[Task]:
        """The trials of a first look that have not been made; that it did not compile is one of them."""
        for workload in self._workloads:
            if self._failed(entrant):
                return
            missing = self._plan.rules.first - self._rounds(entrant, workload)
            if entrant.refused:
                self._keep(Task(entrant, workload, 0), Answer("refused", message=entrant.refused))
            elif missing > 0:
                yield Task(entrant, workload, missing)

    def _race(self) -> None:
        """More rounds for those in question, rung by rung."""
        made = self._plan.rules.first
        while True:
            left, rounds = next_rung(self._standings, made, self._plan.rules)
            self._racing = len(left)
            tasks = (
                Task(one, workload, missing)
                for one in left
                for workload in self._workloads
                if (missing := rounds - self._rounds(one, workload)) > 0
            )
            if not left or not self._work(tasks, self._deadline):
                return
            made = rounds

    def _work(
        self,
        tasks: Iterable[Task],
        until: float,
        told: Callable[[Entrant], None] = lambda entrant: None,
    ) -> bool:
        """Runs trials until there are no more, or the time is up: then False, when those under way have ended."""
        coming = iter(tasks)
        more = in_time = True
        tries: Counter[Task] = Counter()
        while more or self._under_way:
            while more and len(self._under_way) < self._crew.slots:
                if time.monotonic() >= until:
                    more = in_time = False
                    break
                task = next(coming, None)
                more = task is not None
                if more and not self._failed(task.entrant):
                    self._submit(task)
            self._tell()
            for future in wait(self._under_way, LOOK_SECONDS, FIRST_COMPLETED).done:
                task = self._under_way.pop(future)
                if self._ended(task, future, tries):
                    told(task.entrant)
        self.spent |= not in_time
        return in_time

    def _submit(self, task: Task) -> None:
        core, anchor = self._anchors[task.workload]
        job = Job(
            problem=self._field.present.file,
            anchor=anchor,
            candidate=task.entrant.file,
            shape=task.workload.name,
            rounds=task.rounds,
            timing=self._timing,
        )
        self._under_way[self._crew.executor.submit(self._crew.measure, job)] = task

    def _ended(self, task: Task, future: Future, tries: Counter[Task]) -> bool:
        """Keeps what came of a trial; False for one that is tried again."""
        try:
            self._keep(task, future.result())
            return True
        except NoRun:
            tries[task] += 1
            if tries[task] > AGAIN:
                raise
            self._submit(task)
            return False

    def _keep(self, task: Task, answer: Answer) -> None:
        key = task.entrant.key(task.workload, self._place)
        self._store.add(
            Trial(
                key=key,
                status=answer.status,
                seconds=answer.seconds,
                anchor_seconds=answer.anchor_seconds,
                anchor=self._anchors[task.workload][0] if answer.seconds else "",
                # a candidate may say what is no text, and a store that holds it could not be read
                message=answer.message.encode(errors="backslashreplace").decode(),
                finished=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            )
        )
        found = self._store.result(key)
        if found is not None:
            self._results[key] = found
            self._update(task.entrant)

    def _rounds(self, entrant: Entrant, workload: Workload) -> int:
        found = self._results.get(entrant.key(workload, self._place))
        return len(found.logs) if found is not None else 0

    def _failed(self, entrant: Entrant) -> bool:
        """Whether it has no time at one of the shapes; the others need no trial then."""
        return entrant in self._failures

    def _log(self, entrant: Entrant) -> float | None:
        found = self._standings.get(entrant)
        return None if found is None else found.log

    def _settled(self, entrant: Entrant) -> bool:
        return entrant in self._failures or entrant in self._standings

    def _tell(self) -> None:
        best = max(self._standings, key=lambda one: self._standings[one].log, default=None)
        self._progress(
            State(
                regime=self._field.regime,
                total=len(self._field.entrants),
                measured=len(self._standings),
                failed=len(self._failures),
                racing=self._racing,
                best=best,
                log=self._standings[best].log if best else 0.0,
                seconds_left=max(0.0, self._deadline - time.monotonic()),
            )
        )


def _answer_so_far(future: Future) -> Answer:
    """What a trial gave by now."""
    if future.done() and not future.cancelled() and future.exception() is None:
        return future.result()
    return Answer("incomplete", message="interrupted")
