"""Which keys of the spec stand behind each name that a rendered file uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kgen.expr import names
from kgen.plan.model import Plan, RegimePlan
from kgen.plan.variant import Derived, Variant, expression

DEVICES = "devices"


def constants(plan: Plan) -> dict[str, str]:
    """The key of each name that is the same in every regime: axes, tensors, and what the family makes of its own keys."""
    axes = {name: f"axes.{name}" for name in plan.spec.axes}
    knobs = {name: f"knobs.{name}" for name in plan.knobs}
    return {**plan.family.keys, "SMS": DEVICES, **axes, **knobs, **dict(_of_tensors(plan))}


def _of_tensors(plan: Plan) -> Iterator[tuple[str, str]]:
    """The key of each name by which a file speaks of a tensor that is there for one: its own, its strides, its tile."""
    for tensor in plan.tensors:
        reason = plan.family.reasons.get(tensor.name)
        if reason is not None:
            strides = (f"stride_{tensor.short}_{dim.name}" for dim in tensor.dims)
            own = (tensor.name, f"p_{tensor.short}", reason.tile, *strides)
            yield from ((name, reason.key) for name in own if name)


def of_regime(plan: Plan, regime: RegimePlan) -> dict[str, list[str]]:
    """The keys of each parameter and derived value of a regime, and of `ROLE.num_warps`, `ROLE.num_stages` and
    `ROLE.launch_pdl`.

    A regime's own keys begin with `regimes.NAME`. Nothing stands behind a fallback that is not kgen's.
    """
    if regime.template is None:
        return {}
    variant = regime.template.variant
    own = {
        name: f"regimes.{regime.name}.{parameter.key}"
        for name, parameter in variant.parameters.items()
    }
    # the greatest value of a knob is written with the knob
    most = {
        variant.parameters[name].most: Derived(value=knob.name, doc=knob.doc)
        for name, knob in regime.knobs.items()
    }
    known = _Known({**constants(plan), **own}, {**variant.let, **most})
    found = {name: [key] for name, key in own.items()}
    found |= {name: known.of([name]) for name in variant.let}
    found |= {name: known.of(used) for name, used in _options(variant)}
    return {name: keys for name, keys in found.items() if keys}


def _options(variant: Variant) -> Iterator[tuple[str, Iterable[str]]]:
    """Launch options of each kernel with the names in them."""
    for role, kernel in variant.kernels.items():
        for option in ("num_warps", "num_stages"):
            yield f"{role}.{option}", names(expression(getattr(kernel.launch, option)))
        yield f"{role}.launch_pdl", names(expression(kernel.launch.dependent))


class _Known:
    """Follows derived values down to keys."""

    def __init__(self, keys: Mapping[str, str], derived: Mapping[str, Derived]):
        self._keys = keys
        self._derived = derived

    def of(self, used: Iterable[str]) -> list[str]:
        """The keys behind names, sorted; a name that no key stands behind adds none."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = list(used)
        while waiting:
            name = waiting.pop()
            if name in self._derived and name not in seen:
                value = self._derived[name]
                texts = filter(None, (value.value, value.when, value.otherwise))
                waiting += [one for text in texts for one in names(expression(text))]
            elif name in self._keys:
                found.add(self._keys[name])
            seen.add(name)
        return sorted(found)
