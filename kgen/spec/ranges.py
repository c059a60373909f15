"""What the ranges of axes have to be, taken together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kgen.diagnostics import Diagnostic
from kgen.expr import EvalError, Expr, evaluate, names
from kgen.spec.nodes import Key
from kgen.spec.origin import Origin


def check_ranges(
    trees: Mapping[Key, Expr], constants: Mapping[str, int], origin: Origin
) -> Iterator[Diagnostic]:
    """No range depends on itself, and none whose ends are known is empty."""
    bounds = {key[1:]: tree for key, tree in trees.items() if key[0] == "axes"}
    uses: dict[str, set[str]] = {}
    for (name, *_), tree in bounds.items():
        uses.setdefault(name, set()).update(names(tree))
    for name in uses:
        reached = _reachable(name, uses)
        if name in reached:
            yield _cycle(name, reached - {name}, origin)
        low, high = (_known(bounds.get((name, "range", end)), constants) for end in (0, 1))
        if low is not None and high is not None and low > high:
            yield origin.diagnostic(
                "KG212",
                f"the range of `{name}` is empty: {low} is above {high}",
                "axes",
                name,
                "range",
                hint=f"write `[{high}, {low}]`",
            )


def _cycle(name: str, others: set[str], origin: Origin) -> Diagnostic:
    way = ", ".join(f"`{other}`" for other in sorted(others))
    return origin.diagnostic(
        "KG311",
        f"the range of `{name}` depends on itself" + (f", by way of {way}" if way else ""),
        "axes",
        name,
        "range",
        hint="bound one of these axes by integers",
    )


def _known(tree: Expr | None, constants: Mapping[str, int]) -> int | None:
    """The value of a bound, where constant axes decide it."""
    if tree is None:
        return None
    try:
        return evaluate(tree, constants)
    except EvalError:
        return None


def _reachable(start: str, uses: Mapping[str, set[str]]) -> set[str]:
    """The names that the range of `start` leads to."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in uses.get(waiting.pop(), set()) - reached:
            reached.add(name)
            waiting.append(name)
    return reached
