"""What proofs about kernels assume of a call, and the tests in the emitted file that enforce it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kgen.algebra import Certificate, Status
from kgen.expr import Expr, parse, to_python
from kgen.families.model import DTYPES, Tensor, Value
from kgen.plan.model import Argument, Case, Plan
from kgen.prove.host.answers import Answer, all_hold
from kgen.prove.host.closing import Closing
from kgen.prove.host.entail import follows
from kgen.prove.host.terms import (
    NONE,
    all_of,
    any_of,
    binary,
    compare,
    equal,
    name,
    negation,
    number,
    product,
    rank_name,
    shape_name,
    stride_name,
)
from kgen.prove.host.trace import Trace
from kgen.render.model import Launcher

INT32 = (-(2**31), 2**31 - 1)


@dataclass(frozen=True)
class Fact:
    """One assumption: `says` as a person reads it, `condition` over the entry's arguments."""

    subject: str
    says: str
    condition: Expr


@dataclass(frozen=True)
class Enforced:
    """A fact with what became of it where a launcher's first kernel starts.

    `line` is that of the entry's statement that enforces it, 0 where none does or none has to.
    """

    fact: Fact
    status: Status
    line: int
    evidence: str
    certificates: tuple[Certificate, ...] = field(default=(), compare=False)


def facts(plan: Plan, launcher: Launcher, closing: Closing) -> tuple[Fact, ...]:
    """Everything that proofs about a launcher's kernels assume of the entry's arguments."""
    arguments = [one for kernel in launcher.kernels for one in kernel.arguments]
    used = {one.tensor for one in arguments if one.kind == "pointer"}
    inputs = [one for one in plan.tensors if one.role == "input" and one.name in used]
    found = [fact for one in inputs for fact in _tensor(one, plan, closing)]
    found += _scalars(plan, closing)
    found += _domain(plan, launcher, closing)
    found += _alignment(plan, launcher, arguments, closing)
    found += _sizes(launcher, arguments, closing)
    return tuple(dict.fromkeys(found))


def enforced(
    plan: Plan, launcher: Launcher, closing: Closing, trace: Trace
) -> tuple[Enforced, ...]:
    """Each fact with the test that enforces it, wherever the entry calls the launcher."""
    found = []
    for fact in facts(plan, launcher, closing):
        calls = trace.calls(launcher.function)
        answers = [follows(fact.condition, call[0].path, closing.scalars) for call in calls]
        found.append(_worst(fact, answers))
    return tuple(found)


def _worst(fact: Fact, answers: list[Answer]) -> Enforced:
    """A fact is enforced only where each call of the launcher enforces it."""
    if not answers:
        return Enforced(fact, Status.UNKNOWN, 0, "the entry never gets there")
    answer = all_hold(answers, answers[0].evidence)
    proved = answer.status is Status.PROVED
    line = max((lines[0] for lines in answers[0].lines), default=0) if proved else 0
    return Enforced(fact, answer.status, line, answer.evidence, answer.certificates)


# ---------------------------------------------------------------- tensors and scalars


def _tensor(tensor: Tensor, plan: Plan, closing: Closing) -> Iterator[Fact]:
    own = tensor.name
    dtype = f"torch.{DTYPES[tensor.dtype][0]}"
    yield Fact(own, f"{own} is {dtype}", equal(name(f"{own}.dtype"), name(dtype)))
    first = plan.arguments[0]
    if own != first:
        same = equal(name(f"{own}.device"), name(f"{first}.device"))
        yield Fact(own, f"{own} is on the device of {first}", same)
    if not tensor.dims:
        yield Fact(own, f"{own} has one element", equal(name(f"{own}.numel()"), number(1)))
        return
    rank = len(tensor.dims)
    yield Fact(
        own, f"{own} has {rank} dimension{'s' * (rank > 1)}", equal(rank_name(own), number(rank))
    )
    extents = [closing(parse(dim.extent)) for dim in tensor.dims]
    shape = all_of(equal(shape_name(own, i), extent) for i, extent in enumerate(extents))
    shown = ", ".join(dim.extent for dim in tensor.dims)
    yield Fact(own, f"{own} has shape [{shown}]", shape)
    last = rank - 1
    short = compare("<=", shape_name(own, last), number(1))
    unit = equal(stride_name(own, last), number(1))
    yield Fact(own, f"the last dimension of {own} has stride 1", any_of((short, unit)))


def _scalars(plan: Plan, closing: Closing) -> Iterator[Fact]:
    for own, axis in plan.scalars.items():
        integer = equal(name(f"type({own})"), name("int"))
        optional = plan.may_be_none(axis)
        absent = equal(name(own), NONE)
        says = f"{own} is a Python integer" + (", or None" if optional else "")
        yield Fact(own, says, any_of((absent, integer)) if optional else integer)


# ---------------------------------------------------------------- axes


def _domain(plan: Plan, launcher: Launcher, closing: Closing) -> Iterator[Fact]:
    """Where the launcher's regime runs, and the cases of its group."""
    domain = launcher.regime.domain
    for axis, span in domain.ranges.items():
        if axis in closing.axes:
            value = closing.axes[axis]
            low, high = compare("<=", closing(span.low), value), compare(
                "<=", value, closing(span.high)
            )
            says = f"{to_python(span.low)} <= {axis} <= {to_python(span.high)}"
            if plan.may_be_none(axis):
                absent = equal(value, NONE)
                yield Fact(
                    axis, f"{axis} is None, or {says}", any_of((absent, all_of((low, high))))
                )
            else:
                yield Fact(axis, says, all_of((low, high)))
    for axis, values in domain.values.items():
        if axis in closing.axes:
            listed = ", ".join(map(str, values))
            one_of = any_of(equal(closing.axes[axis], number(value)) for value in values)
            yield Fact(axis, f"{axis} is one of {listed}", one_of)
    for condition in domain.conditions:
        says = f"regime {launcher.regime.name}: {to_python(condition)}"
        yield Fact("regime", says, closing(condition))
    yield from _cases(launcher, closing)


def _cases(launcher: Launcher, closing: Closing) -> Iterator[Fact]:
    cases = [_case(case, closing) for case in launcher.group.cases]
    if any(cases):
        says = " or ".join(
            dict.fromkeys(", ".join(f"{axis} = {value}" for axis, value in case) for case in cases)
        )
        condition = any_of(
            all_of(equal(closing.axes[axis], number(value)) for axis, value in case)
            for case in cases
        )
        yield Fact("constants", f"the kernel's constants are those of {says}", condition)


def _case(case: Case, closing: Closing) -> tuple[tuple[str, Value], ...]:
    return tuple((axis, value) for axis, value in case.axes.items() if axis in closing.axes)


# ---------------------------------------------------------------- alignment and widths


def _alignment(
    plan: Plan, launcher: Launcher, arguments: list[Argument], closing: Closing
) -> Iterator[Fact]:
    """Multiples of 16 that a signature promises; for bases of fresh tensors torch promises them."""
    roles = {tensor.name: tensor for tensor in plan.tensors}
    for argument in arguments:
        tensor = roles.get(argument.tensor)
        if not argument.divisible or tensor is None:
            continue
        own = tensor.name
        if argument.kind == "pointer" and tensor.role == "input":
            base = equal(binary("%", name(f"{own}.data_ptr()"), number(16)), number(0))
            yield Fact(own, f"{own} starts at a multiple of 16 bytes", base)
        elif argument.kind == "stride":
            stride: Expr = stride_name(own, argument.dim)
            if tensor.role == "output":
                inner = tensor.dims[argument.dim + 1 :]
                stride = product(closing(parse(dim.extent)) for dim in inner)
            dim = tensor.dims[argument.dim].name
            divides = equal(binary("%", stride, number(16)), number(0))
            says = f"the stride of {own} along {dim} is a multiple of 16"
            yield Fact(own, says, divides)


def _sizes(launcher: Launcher, arguments: list[Argument], closing: Closing) -> Iterator[Fact]:
    """Sizes are 32 bits wide in the kernel's signature."""
    derived = closing.derived(launcher)
    for argument in arguments:
        if argument.kind != "size":
            continue
        value = closing(argument.value, derived)
        fits = _fits(value)
        if argument.none is not None:
            absent = equal(value, NONE)
            instead = any_of((negation(absent), _fits(closing(argument.none, derived))))
            fits = all_of((any_of((absent, fits)), instead))
        yield Fact(argument.name, f"{argument.name} fits 32 bits", fits)


def _fits(value: Expr) -> Expr:
    low, high = map(number, INT32)
    return all_of((compare("<=", low, value), compare("<=", value, high)))
