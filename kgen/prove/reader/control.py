"""Control flow: the function's blocks, `scf.if`, `scf.while`; counted loops are in `loops`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kgen.algebra import TRUE, Formula, negate, opened
from kgen.prove.reader.loops import read_for
from kgen.prove.reader.machine import Environment, Reader, merged
from kgen.prove.reader.record import Loop
from kgen.prove.reader.values import NONE, Condition, Value
from kgen.prove.ttir import Block, Function, Operation

MOST_WAYS = 64
"""Ways through a function's blocks; where they meet again, what follows is read once for each."""


def read_function(reader: Reader, function: Function, environment: Environment) -> None:
    """Runs the whole body."""
    _Blocks(reader, function.body).go(function.body[0], environment, ())


class _Blocks:
    """Blocks that branch to each other, as an early `return` leaves them."""

    def __init__(self, reader: Reader, region: Sequence[Block]):
        self._reader = reader
        self._blocks = {block.label: block for block in region}
        self._ways = 1

    def go(self, block: Block, environment: Environment, seen: tuple[str, ...]) -> None:
        last = self._reader.block(block, environment)
        if last is None or last.name == "tt.return":
            return
        seen = (*seen, block.label)
        if last.name == "cf.br" and len(last.successors) == 1:
            self._enter(last, 0, environment, seen)
        elif last.name == "cf.cond_br" and len(last.successors) == 2:
            self._ways += 1
            condition = environment[last.operands[0]]
            if not isinstance(condition, Condition) or self._ways > MOST_WAYS:
                self._reader.obstacle(last, "the branch is not understood", True)
                return
            ways = _ways(self._reader, condition)
            for number, formula in enumerate(ways):
                with self._reader.where(formula, condition.needs):
                    self._enter(last, number, dict(environment), seen)
        else:
            self._reader.obstacle(last, f"a block ends with {last.name}", True)

    def _enter(
        self, last: Operation, number: int, environment: Environment, seen: tuple[str, ...]
    ) -> None:
        label, passed = last.successors[number]
        block = self._blocks[label]
        if label in seen:
            self._reader.obstacle(last, "the blocks of the function form a loop", True)
            return
        names = [name for name, _ in block.arguments]
        values = [environment[value] for value in passed]
        environment.update(zip(names, values, strict=True))
        self.go(block, environment, seen)


def read_if(reader: Reader, operation: Operation, environment: Environment) -> Sequence[Value]:
    """`scf.if`: both branches, each where its condition holds."""
    condition = environment[operation.operands[0]]
    if not isinstance(condition, Condition):
        reader.obstacle(operation, "the condition is not known", True)
        return reader.unknowns(operation)
    ways = _ways(reader, condition)
    outcomes: list[list[Value]] = []
    for formula, region in zip(ways, operation.regions):
        inner = dict(environment)
        with reader.where(formula, condition.needs):
            outcomes.append(reader.passed(region[0], inner))
    if not operation.results:
        return ()
    return [
        merged(reader, condition, then, otherwise, kind.shape)
        for then, otherwise, kind in zip(*outcomes, operation.result_types, strict=True)
    ]


def _ways(reader: Reader, condition: Condition) -> tuple[Formula, Formula]:
    """Where each of two branches runs."""
    return opened(reader.space, condition.formula), opened(reader.space, negate(condition.formula))


def read_while(reader: Reader, operation: Operation, environment: Environment) -> Sequence[Value]:
    """`scf.while`: nothing is known of what it carries but the types, nor of how often it turns."""
    (test,), (body,) = operation.regions
    kinds = operation.operand_types
    turn = reader.once("turn", operation.number, make=reader.space.iteration)
    inner = dict(environment)
    with reader.inside(Loop(turn, TRUE, operation.line), NONE):
        carried = [reader.unknown(operation, kind, n) for n, kind in enumerate(kinds)]
        inner.update(zip((name for name, _ in test.arguments), carried))
        condition, *passed = reader.passed(test, inner)
        inner.update(zip((name for name, _ in body.arguments), passed))
        if not isinstance(condition, Condition):
            condition = Condition(TRUE, ())
        with reader.where(condition.formula, condition.needs):
            reader.block(body, inner)
    after = len(kinds)
    return [
        reader.unknown(operation, kind, after + n) for n, kind in enumerate(operation.result_types)
    ]


CONTROL: Mapping[str, Callable[[Reader, Operation, Environment], Sequence[Value]]] = {
    "scf.for": read_for,
    "scf.if": read_if,
    "scf.while": read_while,
}
