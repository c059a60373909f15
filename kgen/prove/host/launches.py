"""The launches of an emitted file beside those of its plan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping

from kgen.algebra import Status
from kgen.expr import Expr, evaluate, names, parse, to_python
from kgen.families.model import DTYPES
from kgen.plan.model import Argument, Plan
from kgen.plan.obligation import Obligation
from kgen.prove.host.answers import Answer, all_hold, refuted, trusted
from kgen.prove.host.closing import Closing
from kgen.prove.host.corners import corner
from kgen.prove.host.entail import follows
from kgen.prove.host.sameness import said, same
from kgen.prove.host.specialised import specialised
from kgen.prove.host.terms import FALSE, NONE, any_of, equal, name, number, product, stride_name
from kgen.prove.host.trace import Launch, Path, Return, Trace
from kgen.prove.host.values import (
    Allocation,
    Choice,
    Derived,
    Sequence,
    Static,
    Tensor,
    Unknown,
    Value,
)
from kgen.render.model import Launcher, RenderedKernel

SUBJECT = "launches"

Check = Callable[[list[Launch], Trace], Answer]


def launches(
    plan: Plan, launcher: Launcher, closing: Closing, trace: Trace
) -> Iterator[Obligation]:
    """That a launcher launches what the plan says, wherever the entry calls it."""
    calls = trace.calls(launcher.function)
    checks = _Checks(plan, launcher, closing)
    for says, check in (
        ("the plan's kernels are launched, in their order", checks.kernels),
        ("every grid is the plan's", checks.grids),
        (
            "every kernel takes the declared parameters, and gets what they stand for",
            checks.arguments,
        ),
        ("every launch has the plan's options", checks.options),
        ("scratch and outputs are fresh, with the plan's shape and dtype", checks.tensors),
    ):
        answers = [_answer(check, checks, call, trace) for call in calls]
        yield _obligation(launcher.function, says, answers, "the entry never calls it")
    says = "some call of the entry gets here"
    reached = [_reached(call[0].path, closing) for call in calls]
    yield _obligation(launcher.function, says, reached, "the entry never calls it")
    says = "only what is declared divisible by 16 is specialised by value"
    pinned = [specialised(kernel, trace.module) for kernel in launcher.kernels]
    yield _obligation(launcher.function, says, pinned, "")


def _answer(check: Check, checks: _Checks, call: list[Launch], trace: Trace) -> Answer:
    """What cannot be paired with the plan's kernels is not compared with them."""
    paired = checks.kernels(call, trace)
    if paired.status is not Status.PROVED:
        return paired if check == checks.kernels else Answer(Status.UNKNOWN, paired.evidence)
    return trusted(check(call, trace), call[0].path)


def _reached(path: Path, closing: Closing) -> Answer:
    """Against proofs from tests that no call passes."""
    conditions = [one.condition for one in path.known]
    call = corner(FALSE, conditions, closing.scalars)
    if call is None:
        call = corner(FALSE, conditions, closing.scalars, far=True)
    if call is None:
        return Answer(Status.UNKNOWN, "no call was found that passes all tests before")
    shown = [
        f"{axis} = {evaluate(value, call)}"
        for axis, value in closing.axes.items()
        if names(value) <= call.keys()
    ]
    return trusted(Answer(Status.PROVED, f"for example with {', '.join(shown)}"), path)


def returns(
    plan: Plan, launchers: Iterable[Launcher], closing: Closing, trace: Trace
) -> Iterator[Obligation]:
    """What the entry gives back, and that it launched one launcher's kernels before."""
    outputs = {tensor.name: tensor for tensor in plan.tensors if tensor.role == "output"}
    ways = {tuple(kernel.function for kernel in one.kernels) for one in launchers}
    empty = [product(closing(parse(dim.extent)) for dim in one.dims) for one in outputs.values()]
    answers = [_returned(plan, one, trace) for one in trace.returns]
    says = f"the entry returns {', '.join(plan.returns)}, made in this call"
    yield _obligation("", says, answers, "the entry never returns")
    answers = [_launched(one, ways, empty, closing) for one in trace.returns]
    says = (
        "every call that returns has launched exactly one launcher's kernels, or had nothing to do"
    )
    yield _obligation("", says, answers, "the entry never returns")


def _obligation(regime: str, says: str, answers: list[Answer], absent: str) -> Obligation:
    if not answers:
        return Obligation(regime, SUBJECT, says, Status.REFUTED, absent)
    for status in (Status.REFUTED, Status.UNKNOWN):
        for answer in answers:
            if answer.status is status:
                return Obligation(regime, SUBJECT, says, status, answer.evidence)
    proved = all_hold(answers, answers[0].evidence)
    return Obligation(
        regime, SUBJECT, says, Status.PROVED, proved.evidence, certificates=proved.certificates
    )


class _Checks:
    """The checks of one launcher; each takes the launches of one call."""

    def __init__(self, plan: Plan, launcher: Launcher, closing: Closing):
        self.plan = plan
        self.launcher = launcher
        self.closing = closing
        self.same = functools.partial(same, scalars=closing.scalars)
        self.derived = closing.derived(launcher)
        self.scratch = {one.tensor.name: one for one in launcher.group.scratch}
        self.inputs = {one.name for one in plan.tensors if one.role == "input"}
        self.outputs = {one.name: one for one in plan.tensors if one.role == "output"}

    def _pairs(self, call: list[Launch]) -> Iterator[tuple[Launch, RenderedKernel]]:
        return zip(call, self.launcher.kernels)

    def kernels(self, call: list[Launch], trace: Trace) -> Answer:
        found = [one.kernel for one in call]
        wanted = [one.function for one in self.launcher.kernels]
        where = f"line {call[0].lines[-1]}"
        if found != wanted:
            return refuted(f"{where}: {', '.join(found)}; the plan has {', '.join(wanted)}")
        return Answer(Status.PROVED, f"{where}: {', '.join(found)}")

    def grids(self, call: list[Launch], trace: Trace) -> Answer:
        answers, shown = [], []
        for launch, kernel in self._pairs(call):
            wanted = [self.closing(one, self.derived) for one in kernel.plan.grid]
            printed = ", ".join(map(to_python, kernel.plan.grid))
            shown.append(f"{kernel.function} ({printed})")
            what = f"line {launch.lines[-1]}: the grid of {kernel.function}"
            if not isinstance(launch.grid, Sequence) or launch.grid.kind == "generator":
                answers.append(Answer(Status.UNKNOWN, f"{what} is no tuple"))
                continue
            items = launch.grid.items
            if len(items) != len(wanted):
                here, there = len(items), len(wanted)
                answers.append(refuted(f"{what} has {here} dimensions; the plan has {there}"))
                continue
            answers += [
                self.same(*pair, launch.path, f"{what}: dimension {dim}")
                for dim, pair in enumerate(zip(items, wanted))
            ]
        return all_hold(answers, "; ".join(shown))

    def arguments(self, call: list[Launch], trace: Trace) -> Answer:
        answers, count = [], 0
        for launch, kernel in self._pairs(call):
            names = tuple(one.name for one in kernel.arguments)
            found = trace.module.parameters(kernel.function)
            if found != names:
                here, there = ", ".join(found), ", ".join(names)
                answers.append(refuted(f"{kernel.function} takes ({here}); the plan has ({there})"))
                continue
            passed = _passed(launch, names)
            if passed is None:
                what = f"line {launch.lines[-1]}: these are not the arguments of {kernel.function}"
                answers.append(refuted(what))
                continue
            answers += [
                self._argument(passed[one.name], one, launch, kernel) for one in kernel.arguments
            ]
            count += len(names)
        return all_hold(answers, f"{count} arguments of {len(call)} kernels")

    def _argument(
        self, value: Value, argument: Argument, launch: Launch, kernel: RenderedKernel
    ) -> Answer:
        what = f"line {launch.lines[-1]}: {argument.name} of {kernel.function}"
        if argument.kind == "pointer":
            if argument.tensor in kernel.plan.writes and argument.tensor in self.inputs:
                return refuted(f"{kernel.function} writes the input {argument.tensor}")
            if isinstance(value, Tensor) and value.name == argument.tensor:
                return Answer(Status.PROVED, what)
            given = value.name if isinstance(value, Tensor) else said(value)
            return refuted(f"{what} stands for {argument.tensor}, and gets {given}")
        if argument.kind == "stride":
            return self.same(value, stride_name(argument.tensor, argument.dim), launch.path, what)
        wanted: Expr | Choice = self.closing(argument.value, self.derived)
        if argument.none is not None:
            absent = equal(wanted, NONE)
            instead = Static(self.closing(argument.none, self.derived))
            wanted = Choice(absent, instead, Static(wanted))
        return self.same(value, wanted, launch.path, what)

    def options(self, call: list[Launch], trace: Trace) -> Answer:
        answers, shown = [], []
        for launch, kernel in self._pairs(call):
            wanted = {"num_warps": kernel.plan.num_warps, "num_stages": kernel.plan.num_stages}
            if kernel.plan.dependent:
                wanted["launch_pdl"] = True
            own = {one.name for one in kernel.arguments}
            extra = {key: value for key, value in launch.keywords.items() if key not in own}
            what = f"line {launch.lines[-1]}: {kernel.function}"
            if set(extra) != set(wanted):
                answers.append(
                    refuted(f"{what} is launched with {', '.join(sorted(extra)) or 'no options'}")
                )
                continue
            begins = ", may start early" if kernel.plan.dependent else ""
            shown.append(f"{kernel.plan.num_warps} warps, {kernel.plan.num_stages} stages{begins}")
            answers += [
                self.same(extra[key], number(value), launch.path, f"{what}: {key}")
                for key, value in wanted.items()
            ]
        return all_hold(answers, "; ".join(shown))

    def tensors(self, call: list[Launch], trace: Trace) -> Answer:
        answers, lines = [], []
        made: dict[str, Allocation | None] = {}
        for launch in call:
            for value in _tensors(launch):
                if made.setdefault(value.name, value.allocation) != value.allocation:
                    answers.append(refuted(f"{value.name} is allocated between the launches"))
                wanted = value.name in self.scratch or value.name in self.outputs
                if wanted is not (value.allocation is not None):
                    origin = "an input" if value.allocation is None else "made here"
                    answers.append(refuted(f"{value.name} is {origin}"))
                elif wanted:
                    answers.append(self._fresh(value, launch.path))
                    lines.append(f"{value.name} at line {value.allocation.lines[-1]}")
        shown = ", ".join(dict.fromkeys(lines))
        return all_hold(answers, f"torch.empty, which starts at a multiple of 16 bytes: {shown}")

    def _fresh(self, tensor: Tensor, path: Path) -> Answer:
        made = tensor.allocation
        if tensor.name in self.scratch:
            plan = self.scratch[tensor.name]
            declared, shape = plan.tensor, [self.closing(one, self.derived) for one in plan.shape]
        else:
            declared = self.outputs[tensor.name]
            shape = [self.closing(parse(dim.extent)) for dim in declared.dims]
        what = f"line {made.lines[-1]}: {tensor.name}"
        if len(made.shape) != len(shape):
            return refuted(f"{what} has {len(made.shape)} dimensions; the plan has {len(shape)}")
        answers = [
            self.same(*pair, path, f"{what}: dimension {dim}")
            for dim, pair in enumerate(zip(made.shape, shape))
        ]
        dtype = name(f"torch.{DTYPES[declared.dtype][0]}")
        answers.append(self.same(made.dtype, dtype, path, f"{what}: the dtype"))
        device = name(f"{self.plan.arguments[0]}.device")
        answers.append(self.same(made.device, device, path, f"{what}: the device"))
        return all_hold(answers, what)


def _tensors(launch: Launch) -> Iterator[Tensor]:
    values = (*launch.positional, *launch.keywords.values())
    return (one for one in values if isinstance(one, Tensor))


def _passed(launch: Launch, names: tuple[str, ...]) -> Mapping[str, Value] | None:
    """Arguments by parameter; None where Python would refuse the call."""
    if len(launch.positional) > len(names):
        return None
    passed = dict(zip(names, launch.positional))
    by_name = {key: value for key, value in launch.keywords.items() if key in names}
    if passed.keys() & by_name.keys():
        return None
    passed |= by_name
    return passed if set(passed) == set(names) else None


# ---------------------------------------------------------------- the entry's ends


def _returned(plan: Plan, end: Return, trace: Trace) -> Answer:
    several = isinstance(end.value, Sequence)
    values = end.value.items if several else (end.value,)
    fresh = [one for one in values if isinstance(one, Tensor) and one.allocation is not None]
    if len(fresh) != len(values) or tuple(one.name for one in fresh) != plan.returns:
        shown = ", ".join(one.name if isinstance(one, Tensor) else said(one) for one in values)
        vague = any(isinstance(one, (Unknown, Derived)) for one in values)
        status = Status.UNKNOWN if vague else Status.REFUTED
        return Answer(status, f"line {end.line} returns {shown}")
    kind = end.value.kind if several else ""
    if kind != ("tuple" if len(plan.returns) > 1 else ""):
        wanted = "a tuple" if len(plan.returns) > 1 else "the tensor itself"
        return refuted(f"line {end.line} returns {kind and f'a {kind}'}, not {wanted}")
    written = {one for launch in trace.launches for one in _tensors(launch)}
    for one in fresh:
        if any(end.path.launched) and one not in written:
            return refuted(f"line {end.line} returns a {one.name} that no kernel was given")
    return trusted(Answer(Status.PROVED, "made by torch.empty in the same call"), end.path)


def _launched(
    end: Return, ways: set[tuple[str, ...]], empty: list[Expr], closing: Closing
) -> Answer:
    wrong = [one for one in sorted(end.path.launched) if one and one not in ways]
    if wrong:
        return refuted(f"line {end.line} is reached after {', '.join(wrong[0])}")
    if () in end.path.launched:
        nothing = any_of(equal(elements, number(0)) for elements in empty)
        answer = follows(nothing, end.path, closing.scalars)
        if answer.status is not Status.PROVED:
            return Answer(answer.status, f"line {end.line} is reached with nothing launched")
    return trusted(Answer(Status.PROVED, f"{len(ways)} launchers"), end.path)
