"""What holds between the parts of a spec, whatever its family."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kgen.diagnostics import Diagnostic
from kgen.expr import nearest, suggestion
from kgen.spec.common import SpecModel
from kgen.spec.origin import Origin
from kgen.spec.regime import OTHERWISE


def check_axes(
    model: type[SpecModel], document: Mapping[str, object], origin: Origin
) -> Iterator[Diagnostic]:
    """The axes that the family needs are declared."""
    declared = document.get("axes")
    if not isinstance(declared, dict):
        return
    for name, meaning in model.REQUIRED_AXES.items():
        if name not in declared:
            yield missing_axis(name, meaning, declared.keys() - model.REQUIRED_AXES.keys(), origin)


def missing_axis(name: str, meaning: str, others: Collection[str], origin: Origin) -> Diagnostic:
    """That an axis is missing; one of `others` may be what it was meant to be."""
    close = nearest(name, others)
    return origin.diagnostic(
        "KG211",
        f"the axis `{name}` ({meaning}) is missing",
        "axes",
        hint=f"rename `{close}`" if close else f"add `{name}` to `axes`",
        on_key=True,
    )


def check_regimes(document: Mapping[str, object], origin: Origin) -> Iterator[Diagnostic]:
    """Names are unique, and `otherwise` stands in the last regime and only there."""
    regimes = document.get("regimes")
    if not isinstance(regimes, tuple) or not regimes:
        return
    regimes = [regime if isinstance(regime, dict) else {} for regime in regimes]
    seen: dict[str, int] = {}
    for index, regime in enumerate(regimes):
        name = regime.get("name")
        if isinstance(name, str) and seen.setdefault(name, index) != index:
            yield origin.diagnostic(
                "KG207",
                f"two regimes have the name `{name}`",
                "regimes",
                index,
                "name",
                hint="rename one",
            )
        if regime.get("when") == OTHERWISE and index < len(regimes) - 1:
            yield origin.diagnostic(
                "KG213",
                "`otherwise` hides every regime behind it",
                "regimes",
                index,
                "when",
                hint="move this regime to the end",
            )
    last = regimes[-1].get("when")
    if isinstance(last, str) and last != OTHERWISE:
        yield origin.diagnostic(
            "KG213",
            "the last regime takes what no other did, so its condition is `otherwise`",
            "regimes",
            len(regimes) - 1,
            "when",
            hint="add `{name: rest, when: otherwise, fallback: generic}` behind it",
        )


def check_sweep(document: Mapping[str, object], origin: Origin) -> Iterator[Diagnostic]:
    """What is swept are regimes with a variant."""
    swept, regimes = document.get("sweep"), document.get("regimes")
    if not isinstance(swept, dict) or not isinstance(regimes, tuple) or not regimes:
        return
    by_name = {
        regime["name"]: regime
        for regime in regimes
        if isinstance(regime, dict) and isinstance(regime.get("name"), str)
    }
    for name in swept:
        if name not in by_name:
            yield origin.diagnostic(
                "KG214",
                f"there is no regime `{name}` to sweep",
                "sweep",
                name,
                on_key=True,
                hint=suggestion(name, by_name, "regimes"),
            )
        elif "fallback" in by_name[name] and "variant" not in by_name[name]:
            yield origin.diagnostic(
                "KG214",
                f"the regime `{name}` is a fallback and has nothing to sweep",
                "sweep",
                name,
                on_key=True,
                hint="remove it from `sweep`",
            )
