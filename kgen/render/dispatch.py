"""Host code of the entry: what it checks, and how it chooses a launcher."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgen.expr import Expr, fold, helpers, names, to_python
from kgen.expr.substitute import negated, substitute
from kgen.families.model import DTYPES, Tensor
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.scope import chosen
from kgen.plan.variant import expression
from kgen.render.launch import LauncherText, tuple_text
from kgen.render.model import Launcher


@dataclass(frozen=True)
class Branch:
    """One arm of the dispatch: `condition` is empty for what is left. Either `choices` or `call` (another's function)."""

    condition: str
    choices: tuple[tuple[str, LauncherText], ...]
    call: str
    regime: str


@dataclass(frozen=True)
class Check:
    """A tensor argument with its dtype and shape."""

    name: str
    dtype: str
    rank: int
    shape: str


@dataclass(frozen=True)
class Bound:
    """An axis with the least and greatest value that the file can serve, and the name of the function that checks it."""

    name: str
    low: str
    high: str
    check: str


@dataclass(frozen=True)
class Entry:
    """Everything that the entry function prints.

    `declared` is the condition that all axes lie where the spec declares them, needed where a fallback serves the rest.
    """

    arguments: tuple[str, ...]
    checks: tuple[Check, ...]
    bindings: tuple[tuple[str, str], ...]
    bounds: tuple[Bound, ...]
    choices: tuple[tuple[str, str], ...]
    declared: str
    aligned: tuple[str, ...]
    outputs: tuple[tuple[str, str, str], ...]
    branches: tuple[Branch, ...]
    refusal: str
    helpers: frozenset[str]
    named: frozenset[str]


def entry(plan: Plan, launchers: Iterable[tuple[Launcher, LauncherText]]) -> Entry:
    """The entry of the file that a plan makes."""
    pairs = tuple(launchers)
    aligned = tuple(dict.fromkeys(name for regime in plan.regimes for name in regime.aligned))
    serves_outside = (
        plan.spec.document.interface.outside == "fallback" and plan.regimes[-1].fallback
    )
    custom = any(not regime.fallback for regime in plan.regimes)
    declared = _declared(plan) if serves_outside and custom else ""
    branches = tuple(_branch(regime, pairs, bool(declared)) for regime in plan.regimes)
    expressions = [regime.when for regime in plan.regimes if regime.when is not None]
    expressions += [
        label_condition(launcher, label) for launcher, _ in pairs for label in _varying(launcher)
    ]
    outputs = [tensor for tensor in plan.tensors if tensor.role == "output"]
    shapes = [expression(dim.extent) for tensor in plan.tensors for dim in tensor.dims]
    used = frozenset().union(*map(names, [*expressions, *shapes]))
    return Entry(
        arguments=plan.arguments,
        checks=tuple(
            _check(tensor)
            for name in plan.arguments
            for tensor in plan.tensors
            if tensor.name == name
        ),
        bindings=tuple((b.axis, b.python) for b in plan.bindings if b.axis not in plan.constants),
        bounds=tuple(_bounds(plan)),
        choices=tuple(_choices(plan)),
        declared=declared,
        aligned=aligned,
        outputs=tuple(_output(tensor) for tensor in outputs),
        branches=branches,
        refusal=_refusal(plan, aligned) if plan.regimes[-1].aligned else "",
        helpers=frozenset().union(*map(helpers, [*expressions, *shapes])),
        named=frozenset(name for name in used if name in plan.constants),
    )


def _check(tensor: Tensor) -> Check:
    shape = tuple_text(expression(dim.extent) for dim in tensor.dims)
    return Check(tensor.name, f"torch.{DTYPES[tensor.dtype][0]}", len(tensor.dims), shape)


def _output(tensor: Tensor) -> tuple[str, str, str]:
    return (
        tensor.name,
        tuple_text(expression(dim.extent) for dim in tensor.dims),
        f"torch.{DTYPES[tensor.dtype][0]}",
    )


def _bounds(plan: Plan) -> Iterator[Bound]:
    """Range axes, with the bounds over which the last regime is proved."""
    for axis, span in plan.regimes[-1].domain.ranges.items():
        if axis in plan.knobs:
            continue
        low, high = (
            fold(bound, {name: value for name, (value, _) in plan.constants.items()})
            for bound in (span.low, span.high)
        )
        yield Bound(axis, to_python(low), to_python(high), _checked_by(plan, axis))


def _checked_by(plan: Plan, axis: str) -> str:
    """Shapes are integers, and what the caller passes may be anything."""
    if plan.may_be_none(axis):
        return "check_optional"
    return "check_integer" if axis in plan.scalars.values() else "check_range"


def _choices(plan: Plan) -> Iterator[tuple[str, str]]:
    """Axes with listed values of which the last regime serves no other: all, or a single one where there is a fallback."""
    for axis, values in plan.regimes[-1].domain.values.items():
        if axis not in plan.constants and any(b.axis == axis for b in plan.bindings):
            yield axis, _values(values)


def _values(values: Iterable[int | None]) -> str:
    printed = [repr(value) for value in values]
    return f"({', '.join(printed)}{',' if len(printed) == 1 else ''})"


def _declared(plan: Plan) -> str:
    """The condition that every axis has a declared value."""
    parts = []
    for axis in plan.spec.axes.values():
        if (
            axis.runtime
            or axis.name in plan.constants
            or not any(b.axis == axis.name for b in plan.bindings)
        ):
            continue
        if axis.values is not None:
            parts.append(f"{axis.name} in {_values(axis.values)}")
        else:
            parts.append(f"{to_python(axis.low)} <= {axis.name} <= {to_python(axis.high)}")
    return " and ".join(parts)


def _branch(
    regime: RegimePlan, pairs: tuple[tuple[Launcher, LauncherText], ...], declared: bool
) -> Branch:
    parts = []
    if declared and not regime.fallback:
        parts.append("declared")
    if regime.aligned:
        parts.append("aligned")
    if regime.when is not None:
        parts.append(_grouped(regime.when))
    own = [(launcher, text) for launcher, text in pairs if launcher.regime is regime]
    return Branch(" and ".join(parts), tuple(_chosen(own)), regime.call, regime.name)


def _grouped(condition: Expr) -> str:
    """A condition that may stand in an `and`."""
    text = to_python(condition)
    return f"({text})" if getattr(condition, "op", "") == "or" else text


def _chosen(own: list[tuple[Launcher, LauncherText]]) -> Iterator[tuple[str, LauncherText]]:
    """Each launcher of a regime with the condition on its labels; the last has none."""
    for position, (launcher, text) in enumerate(own):
        parts = [_label(launcher, label) for label in _varying(launcher)]
        yield "" if position == len(own) - 1 else " and ".join(parts), text


def _varying(launcher: Launcher) -> list[str]:
    """The labels that tell the groups of the launcher's regime apart."""
    groups = launcher.regime.groups
    return [
        label
        for label in launcher.group.labels
        if len({group.labels[label] for group in groups}) > 1
    ]


def _label(launcher: Launcher, label: str) -> str:
    condition = label_condition(launcher, label)
    return _grouped(condition if launcher.group.labels[label] else negated(condition))


def label_condition(launcher: Launcher, label: str) -> Expr:
    """What a label means, over axes alone."""
    if label in launcher.group.tests:
        return launcher.group.tests[label]
    variant = launcher.regime.template.variant
    condition = expression(variant.labels[label])
    for name, derived in reversed(variant.let.items()):
        condition = substitute(
            condition, {name: chosen(derived, launcher.group.cases[0].constants)}
        )
    return fold(condition, launcher.regime.parameters)


def _refusal(plan: Plan, aligned: tuple[str, ...]) -> str:
    return (
        f"{', '.join(aligned)}: bases have to be multiples of 16 bytes and strides of 16 elements; "
        "no regime of this file serves others"
    )
