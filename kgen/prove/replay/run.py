"""Runs programs of an instance: one alone, or the whole grids of its launches in sequence."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from kgen.prove.replay.dtypes import FloatType, IntType, PointerType, short
from kgen.prove.replay.evaluator import Evaluator
from kgen.prove.replay.machine import Machine, Policy
from kgen.prove.replay.memory import Memory
from kgen.prove.replay.model import Instance, Launch, Number, Pointer, Program, Unsupported
from kgen.prove.replay.report import Change, Report
from kgen.prove.replay.source import Function, Source, parse
from kgen.prove.replay.trace import Trace
from kgen.prove.replay.values import Value, constant, unknown


def run_program(
    source: str,
    instance: Instance,
    launch: Launch,
    program: Program,
    *,
    memory: Memory | None = None,
    policy: Policy = "refuse",
    most_steps: int | None = None,
) -> Trace:
    """Runs one program of one launch and gives what it did.

    `source` is the text of the emitted file. Without `memory` the program finds every tensor as
    declared, scratch unwritten. Raises Unsupported for what has no meaning here, and where data
    without values decides a branch (`policy` lets it count as true or false instead).
    """
    parsed = parse(source)
    function = parsed.function(launch.function)
    found = memory or Memory(instance.tensors)
    machine = Machine(found, program, launch.grid, policy, most_steps=most_steps)
    _run(parsed, function, launch, machine)
    return machine.recorder.finish(launch.function, program)


def run_grid(
    source: str,
    instance: Instance,
    *,
    policy: Policy = "refuse",
    backwards: bool = False,
) -> Report:
    """Runs all programs of all launches, one after another, and counts what they did.

    Programs of a launch run in the order of their ids, or `backwards`: a kernel that is right gives
    the same either way. Raises Unsupported as `run_program` does.
    """
    memory = Memory(instance.tensors)
    launches = []
    for launch in instance.launches:
        order: Iterable[Program] = programs_of(launch)
        if backwards:
            order = reversed(tuple(order))
        traces = [
            run_program(source, instance, launch, program, memory=memory, policy=policy)
            for program in order
        ]
        launches.append(tuple(traces))
    return Report(instance, tuple(launches), tuple(_changed(memory)))


def programs_of(launch: Launch) -> Iterator[Program]:
    """The grid's programs, x slowest."""
    yield from itertools.product(*(range(extent) for extent in launch.grid))


def _run(source: Source, function: Function, launch: Launch, machine: Machine) -> None:
    arguments = {
        parameter.name: _argument(machine, parameter.name, parameter.annotation, launch)
        for parameter in function.parameters
    }
    strange = set(launch.arguments) - set(arguments)
    if strange:
        raise Unsupported(f"{function.name} has no parameter {sorted(strange)[0]}", function.line)
    Evaluator(source, machine).run(function, arguments)


def _argument(machine: Machine, name: str, annotation: str, launch: Launch) -> object:
    """The value of a kernel's argument."""
    if name not in launch.arguments:
        raise Unsupported(f"the launch of {launch.function} gives no {name}")
    given = launch.arguments[name]
    if isinstance(given, Pointer):
        kind = PointerType(given.tensor, machine.memory[given.tensor].type)
        return Value(kind, np.zeros((), dtype=np.int64))
    if not isinstance(given, Number):
        return given
    if annotation == "constexpr":
        raise Unsupported(
            f"{name} of {launch.function} is constexpr, but a run-time number is given"
        )
    type = short(given.type)
    if given.value is None:
        return unknown(type, ())
    if isinstance(type, IntType) and not type.low <= given.value <= type.high:
        raise Unsupported(f"{name} is {given.value}, which {given.type} does not hold")
    assert isinstance(type, (IntType, FloatType))
    return constant(type, given.value)


def _changed(memory: Memory) -> Iterator[Change]:
    for state in memory.states():
        if state.spec.role == "state":
            for element, now, before in state.changed():
                yield Change(state.spec.name, element, now, before)
