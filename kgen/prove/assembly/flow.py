"""Control flow of machine code, as far as the order of its memory accesses needs it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


class Kind(enum.Enum):
    """What a step does. Fences order global memory at the scope of the GPU or wider."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    BARRIER = "barrier of all threads of a CTA"
    FENCE = "fence"
    RELEASE = "write-back"
    ACQUIRE = "invalidation"
    DRAIN = "wait for this wave's own accesses"
    WAIT = "wait for the grid before"
    CALL = "call"
    JUMP = "jump"
    END = "end"


@dataclass(frozen=True)
class Step:
    """One instruction that matters, at its line of the text.

    `parameter` is the position of the pointer argument that its address starts from, None where
    that is not known; `address` and `value` are equal for two steps only where these are the same,
    0 where they are not known. `certain` is false for a step that some threads may skip.
    """

    kind: Kind
    line: int
    text: str
    parameter: int | None = None
    address: int = 0
    value: str = ""
    semantics: frozenset[str] = frozenset()
    certain: bool = True


Test = Callable[[Step], bool]


@dataclass(frozen=True)
class Flow:
    """Steps with those that may come next, by position.

    `completes` says whether a thread arrives at a barrier only after its own accesses are done.
    `problem` says what could not be followed.
    """

    kernel: str
    steps: tuple[Step, ...]
    next: tuple[tuple[int, ...], ...]
    completes: bool
    problem: str = ""

    def reaching(self, source: Test, *stops: Test) -> Mapping[int, frozenset[int]]:
        """For each position the sources from which some way leads there without passing all stops,
        in their order.

        With no stops that is every source with a way there. A step is no stop for itself, and the
        position's own step does not count.
        """
        arriving: list[set[tuple[int, int]]] = [set() for _ in self.steps]
        waiting = list(range(len(self.steps)))
        while waiting:
            here = waiting.pop()
            step = self.steps[here]
            leaving = {_passed(step, one, stage, stops) for one, stage in arriving[here]}
            if source(step):
                leaving.add((here, 0))
            leaving = {(one, stage) for one, stage in leaving if not stops or stage < len(stops)}
            for there in self.next[here]:
                if not leaving <= arriving[there]:
                    arriving[there] |= leaving
                    waiting.append(there)
        return {
            here: frozenset(one for one, _ in arriving[here]) for here in range(len(self.steps))
        }

    def entered(self, stop: Test) -> frozenset[int]:
        """The positions to which some way leads from the start that passes no stop."""
        seen: set[int] = set()
        waiting = [0] if self.steps else []
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                if not stop(self.steps[here]):
                    waiting += self.next[here]
        return frozenset(seen)


def _passed(step: Step, source: int, stage: int, stops: Sequence[Test]) -> tuple[int, int]:
    """A source with the number of stops that the way from it has passed."""
    return source, stage + (stage < len(stops) and stops[stage](step))


@dataclass
class Builder:
    """Collects steps in the order of the text, and joins jumps to their labels at the end."""

    kernel: str
    completes: bool
    steps: list[Step] = field(default_factory=list)
    jumps: dict[int, tuple[tuple[str, ...], bool]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    def add(self, step: Step) -> None:
        """A step that the next one follows."""
        self.steps.append(step)

    def jump(self, line: int, text: str, targets: Sequence[str], conditional: bool) -> None:
        """A jump to labels; a conditional one may also fall through."""
        self.jumps[len(self.steps)] = (tuple(targets), conditional)
        self.add(Step(Kind.JUMP, line, text))

    def label(self, name: str) -> None:
        """The place of the next step."""
        self.labels[name] = len(self.steps)

    def flow(self) -> Flow:
        """The finished flow, with a last step that all ends lead to."""
        self.add(Step(Kind.END, self.steps[-1].line if self.steps else 0, "end"))
        return Flow(
            self.kernel,
            tuple(self.steps),
            tuple(self._next(position) for position in range(len(self.steps))),
            self.completes,
            self.problem,
        )

    def _next(self, position: int) -> tuple[int, ...]:
        step = self.steps[position]
        if step.kind is Kind.END and step.certain:
            return ()
        following = (position + 1,)
        if position not in self.jumps:
            return following
        targets, conditional = self.jumps[position]
        missing = [target for target in targets if target not in self.labels]
        if missing:
            self.problem = (
                self.problem or f"line {step.line} jumps to {missing[0]}, which is not there"
            )
        found = tuple(self.labels[target] for target in targets if target in self.labels)
        return (*found, *following) if conditional else found
