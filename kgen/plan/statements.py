"""What has to be true of a regime before its kernels can be right: statements over axes, for the proof engine.

A statement is over the axes of a spec and variables of its own. Derived values are put in by their definitions, except
the number of parts of a tiling, which stands for any number that it may be: what is proved of the parts then holds for
every rule that chooses how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from kgen.devices import device
from kgen.expr import Expr, Nothing, evaluate, names
from kgen.families.model import Value
from kgen.plan.groups import INT32_MAX
from kgen.plan.model import Group, Plan, RegimePlan
from kgen.plan.scope import chosen
from kgen.plan.variant import expression, Tiling, Variant

MOST_LANES = 2**20
LEAST_DOT = 16


@dataclass(frozen=True)
class Variable:
    """An integer variable of a statement, from `low` to `high`; it has the form of an axis."""

    name: str
    low: Expr
    high: Expr
    const: None = None
    values: None = None


@dataclass(frozen=True)
class Statement:
    """`goal`, for every value of the axes and of `variables`, in their order.

    `subject` groups what belongs together in reports, `says` is the statement in words, `why` what breaks without it.
    An `exact` statement is about the rule that chooses the number of parts, so that it stands for nothing else there.
    """

    subject: str
    says: str
    goal: Expr
    variables: tuple[Variable, ...] = ()
    given: tuple[Expr, ...] = ()
    why: str = ""
    exact: bool = False


def statements(plan: Plan, regime: RegimePlan) -> Iterator[Statement]:
    """Everything to be proved of a regime, apart from its place among the others."""
    variant = regime.template.variant
    yield from _constraints(variant)
    absent = _absent(regime)
    yield from _shapes(variant, absent)
    for name, tiling in variant.tiling.items():
        if tiling.tile not in absent:
            yield from _tiling(name, tiling, regime.parameters)
    yield from _widths(variant)
    yield from _grids(plan, variant)
    yield from _shared_memory(plan, variant)
    yield from _scratch(regime, variant)


def _constraints(variant: Variant) -> Iterator[Statement]:
    for constraint in variant.constraints:
        yield Statement(
            "constraint", constraint.require, expression(constraint.require), why=constraint.why
        )


def _absent(regime: RegimePlan) -> frozenset[str]:
    """Derived values that are `none` in every case: sizes of what the spec does not have."""
    cases = [case.constants for group in regime.groups for case in group.cases]
    return frozenset(
        name
        for name, derived in regime.template.variant.let.items()
        if all(isinstance(chosen(derived, constants), Nothing) for constants in cases)
    )


def _shapes(variant: Variant, absent: Set[str]) -> Iterator[Statement]:
    for lane in variant.lanes:
        if lane in absent:
            continue
        goal = expression(f"is_pow2({lane}) and ({lane}) <= {MOST_LANES}")
        yield Statement(
            "tile shapes",
            f"{lane} is a power of two, at most {MOST_LANES}",
            goal,
            why="tl.arange takes no other length",
        )
    for m, n, k in variant.dots:
        if not absent.isdisjoint((m, n, k)):
            continue
        goal = expression(" and ".join(f"({size}) >= {LEAST_DOT}" for size in (m, n, k)))
        yield Statement(
            "tile shapes",
            f"{m} x {n} x {k} is at least 16 each way",
            goal,
            why="tl.dot takes no smaller tile",
        )


def _is_number(text: str | None, numbers: Mapping[str, Value]) -> bool:
    """Whether a regime gives an expression over its parameters a value."""
    if text is None or not names(expression(text)) <= numbers.keys():
        return False
    return evaluate(expression(text), numbers) is not None


def _tiling(name: str, tiling: Tiling, numbers: Mapping[str, Value]) -> Iterator[Statement]:
    subject = f"{name} are covered"
    extent, tile = f"({tiling.extent})", f"({tiling.tile})"
    if _is_number(tiling.chunk, numbers):
        yield from _chunks(name, tiling)
    elif tiling.parts is not None:
        yield from _parts(name, tiling)
    elif tiling.turns is not None:
        goal = expression(f"({tiling.turns}) * {tile} >= {extent}")
        yield Statement(
            subject,
            f"{tiling.turns} tiles of {tiling.tile} reach {tiling.extent}",
            goal,
            why="the last ones would be left out",
        )
    else:
        live = Variable("live", expression("0"), expression(extent))
        turn = Variable("turn", expression("0"), expression(f"ceil_div(live, {tile}) - 1"))
        yield Statement(
            subject,
            f"the turns over any number of {name} reach the last",
            expression(f"ceil_div(live, {tile}) * {tile} >= live"),
            (live,),
        )
        yield Statement(
            subject,
            "every turn begins inside",
            expression(f"turn * {tile} < live"),
            (live, turn),
            why="a turn would do nothing",
        )


def _parts(name: str, tiling: Tiling) -> Iterator[Statement]:
    """Parts of whole tiles: of `live` elements, part s holds those from s * chunk on."""
    subject = f"{name} are divided into parts"
    most, tile = f"({tiling.most_parts})", f"({tiling.tile})"
    live = Variable("live", expression("0"), expression(f"({tiling.extent})"))
    parts = Variable("parts", expression("1"), expression(most))
    part = Variable("part", expression("0"), expression("parts - 1"))
    later = Variable("later", expression("0"), expression("parts - 1"))
    chunk = f"(ceil_div(ceil_div(live, parts), {tile}) * {tile})"
    used = f"ceil_div(live, max({chunk}, {tile}))"
    yield Statement(
        subject,
        f"there is at least one part and at most {tiling.most_parts}",
        expression(f"({tiling.parts}) >= 1 and ({tiling.parts}) <= {most}"),
        why="what follows is proved for these numbers of parts",
        exact=True,
    )
    yield Statement(
        subject,
        f"any number of parts holds every one of the {name}",
        expression(f"parts * {chunk} >= live"),
        (live, parts),
    )
    yield Statement(
        subject,
        "no two parts overlap",
        expression(f"part * {chunk} + {chunk} <= later * {chunk}"),
        (live, parts, part, later),
        given=(expression("part < later"),),
        why="something would be counted twice",
    )
    yield Statement(
        subject,
        "the parts that are combined are there",
        expression(f"{used} <= parts"),
        (live, parts),
        why="the combine would read a part that no program writes",
    )
    yield Statement(
        subject,
        "a part that is combined holds something, so it was written",
        expression(f"part * {chunk} < live"),
        (live, parts, part),
        given=(expression(f"part < {used}"),),
        why="the combine would read what was never written",
    )
    # Where nothing is live, nothing is lost. The last three rest each on the one before: at once they are a long search.
    some = replace(live, low=expression("1"))
    whole, reached = expression(f"{chunk} >= {tile}"), expression(f"{used} * {chunk} >= live")
    yield Statement(
        subject,
        "a part of anything takes a whole tile at least",
        whole,
        (some, parts),
        why="the number of parts that are combined rests on it",
    )
    yield Statement(
        subject,
        f"the parts that are combined hold every one of the {name}",
        reached,
        (some, parts),
        given=(whole,),
        why="the rest would be lost",
    )
    yield Statement(
        subject,
        "a part that is not combined is empty",
        expression(f"part * {chunk} >= live"),
        (some, parts, part),
        given=(reached, expression(f"part >= {used}")),
        why="its elements would be lost",
    )


def _chunks(name: str, tiling: Tiling) -> Iterator[Statement]:
    """Parts of `chunk` elements, whatever else is there: of `live` elements, part s holds those from s * chunk on."""
    subject = f"{name} are divided into parts"
    chunk, parts, extent = (f"({one})" for one in (tiling.chunk, tiling.parts, tiling.extent))
    live = Variable("live", expression("0"), expression(extent))
    part = Variable("part", expression("0"), expression(f"{parts} - 1"))
    used = f"ceil_div(live, {chunk})"
    for says, goal, variables, given, why in (
        (
            f"there is at least one part and at most {tiling.most_parts}",
            f"{parts} >= 1 and {parts} <= ({tiling.most_parts})",
            *((), (), "no more can be told apart"),
        ),
        (
            "a part is whole turns of the loop",
            f"{chunk} % ({tiling.tile}) == 0",
            *((), (), "the turns of one part would reach into the next"),
        ),
        (
            f"the parts hold every one of the {name}",
            f"{parts} * {chunk} >= {extent}",
            *((), (), "the rest would be lost"),
        ),
        (
            "the parts that are combined are there",
            f"{used} <= {parts}",
            *((live,), (), "the combine would read a part that no program writes"),
        ),
        (
            "a part that is combined holds something, so it was written",
            f"part * {chunk} < live",
            *((live, part), (f"part < {used}",), "the combine would read what was never written"),
        ),
        (
            "a part that is not combined is empty",
            f"part * {chunk} >= live",
            *((live, part), (f"part >= {used}",), "its elements would be lost"),
        ),
    ):
        conditions = tuple(map(expression, given))
        yield Statement(subject, says, expression(goal), variables, conditions, why, exact=True)


def _widths(variant: Variant) -> Iterator[Statement]:
    for width in variant.int32:
        goal = expression(f"({width.value}) <= {INT32_MAX}")
        yield Statement("32 bits suffice", f"{width.value} < 2^31", goal, why=width.why)


def _grids(plan: Plan, variant: Variant) -> Iterator[Statement]:
    for name in plan.devices:
        limits = device(name).max_grid
        for role, kernel in variant.kernels.items():
            for extent, most, axis in zip(kernel.grid.values(), limits, "xyz"):
                goal = expression(f"({extent}) <= {most}")
                yield Statement(
                    f"the grid fits {name}", f"{role}: {extent} <= {most} along {axis}", goal
                )


def _shared_memory(plan: Plan, variant: Variant) -> Iterator[Statement]:
    for name in plan.devices:
        limit = device(name).shared_bytes
        for role, kernel in variant.kernels.items():
            if kernel.shared == "0":
                continue
            goal = expression(f"({kernel.shared}) <= {limit}")
            yield Statement(
                f"shared memory fits {name}",
                f"{role}: {kernel.shared} <= {limit} bytes, before the compiler's own needs",
                goal,
                why="the kernel could not be launched; `kgen compile` has the exact figure",
            )


def _scratch(regime: RegimePlan, variant: Variant) -> Iterator[Statement]:
    for name, scratch in variant.scratch.items():
        for role, kernel in variant.kernels.items():
            shared = [index for index in kernel.grid if index in scratch.dims]
            if name in kernel.tensors and shared:
                goal = expression(
                    " and ".join(
                        f"({kernel.grid[index]}) <= ({scratch.dims[index]})" for index in shared
                    )
                )
                says = f"{name} has room for every program of {role}, along {', '.join(shared)}"
                yield Statement(
                    "scratch is large enough", says, goal, why="a program would write outside of it"
                )
        if not any(_is_wide(group, name) for group in regime.groups):
            elements = " * ".join(f"({extent})" for extent in scratch.dims.values())
            goal = expression(f"{elements} <= {INT32_MAX}")
            yield Statement(
                "32 bits suffice",
                f"{name} has fewer than 2^31 elements",
                goal,
                why="its offsets would wrap around",
            )


def _is_wide(group: Group, name: str) -> bool:
    return any(name in kernel.wide for kernel in group.kernels)
