"""Every name that a variant declares has to be used: what is silently ignored is never found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.plan.model import Plan, Template
from kgen.plan.variant import Size
from kgen.render.environment import Workshop
from kgen.render.model import Launcher


def check(plan: Plan, launchers: Sequence[Launcher], shop: Workshop) -> None:
    """Raises KgenError for what is declared and never used.

    KG506: names of variant.yaml that neither it nor its templates use. KG513: inputs that a launcher's kernels do not read.
    """
    templates = {
        regime.template.name: regime.template for regime in plan.regimes if regime.template
    }
    found = [
        problem for template in templates.values() for problem in _unused(plan, template, shop)
    ]
    found += [problem for launcher in launchers for problem in _unread(plan, launcher)]
    if found:
        raise KgenError(dict.fromkeys(found))


def _unread(plan: Plan, launcher: Launcher) -> Iterator[Diagnostic]:
    """Inputs of the entry that no kernel of a launcher takes: what they say would be ignored."""
    taken = {argument.tensor for kernel in launcher.kernels for argument in kernel.arguments}
    for tensor in plan.tensors:
        if tensor.role == "input" and tensor.name not in taken:
            name = launcher.regime.template.name
            file = launcher.regime.template.file.replace("kernel.py.j2", "variant.yaml")
            message = f"no kernel of {name} reads {tensor.name}, which the entry takes"
            hint = f"list {tensor.name} under `tensors` and use it, or leave what needs it out of `covers`"
            yield Diagnostic("KG513", message, Place(file), hint)


def _unused(plan: Plan, template: Template, shop: Workshop) -> list[Diagnostic]:
    variant = template.variant
    device = "\n".join(shop.sources(template.file).values())
    words = set(re.findall(r"\w+", device))
    file = template.file.replace("kernel.py.j2", "variant.yaml")
    found = []
    for name in [*variant.parameters, *variant.let]:
        if name not in words and not _mentioned(name, variant.model_dump(mode="json")):
            found.append(_problem(file, f"it declares {name}, and nothing uses it"))
    shorts = {tensor.name: tensor.short for tensor in plan.tensors}
    for name in variant.scratch:
        if not any(name in kernel.tensors for kernel in variant.kernels.values()):
            found.append(
                _problem(file, f"it declares the scratch tensor {name}, and no kernel takes it")
            )
    for role, kernel in variant.kernels.items():
        sizes = [size.name if isinstance(size, Size) else size for size in kernel.sizes]
        for name in [*kernel.constants, *sizes]:
            if name not in words:
                found.append(
                    _problem(file, f"kernel {role} declares {name}, and its template never uses it")
                )
        for name in kernel.tensors:
            pointer = f"p_{shorts.get(name, name)}"
            known = name in shorts or name in variant.scratch
            if known and pointer not in words:
                found.append(
                    _problem(
                        file,
                        f"kernel {role} declares {name}, and its template never uses {pointer}",
                    )
                )
        for name in kernel.writes:
            if name not in kernel.tensors:
                found.append(
                    _problem(file, f"kernel {role} writes {name}, which is none of its tensors")
                )
    return found


def _mentioned(name: str, value: object, inside: bool = False) -> bool:
    """Whether an expression somewhere in the declaration mentions `name`; its own key does not count."""
    if isinstance(value, dict):
        return any(
            _mentioned(name, one, True) for key, one in value.items() if key not in ("doc", "key")
        )
    if isinstance(value, (list, tuple)):
        return any(_mentioned(name, one, True) for one in value)
    return inside and isinstance(value, str) and re.search(rf"\b{name}\b", value) is not None


def _problem(file: str, message: str) -> Diagnostic:
    return Diagnostic(
        "KG506", message, Place(file), "use it in the template, or remove the declaration"
    )
