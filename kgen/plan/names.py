"""Names in the expressions of variant.yaml: each has to be an axis, a constant, a parameter or a derived value."""

from __future__ import annotations

from collections.abc import Iterator, Set

from kgen.diagnostics import Diagnostic, Place
from kgen.expr import names, suggestion
from kgen.plan.model import Template
from kgen.plan.templates import DECLARATION, KERNELS
from kgen.plan.variant import Kernel, Size, Variant, expression


def unknown_names(template: Template, known: Set[str]) -> Iterator[Diagnostic]:
    """A KG514 for each name that is none of `known` and not the variant's own."""
    variant = template.variant
    every = {*known, *variant.parameters, *variant.let}
    file = template.file.replace(KERNELS, DECLARATION)
    for where, text in _expressions(variant):
        for name in sorted(names(expression(text)) - every):
            message = f"{where}: `{name}` is no axis, constant, parameter or derived value"
            yield Diagnostic("KG514", message, Place(file), suggestion(name, every, "names"))


def _expressions(variant: Variant) -> Iterator[tuple[str, str]]:
    """Every expression of the declaration with the key that it stands under."""
    for name, text in variant.labels.items():
        yield f"labels.{name}", text
    for name, text in variant.branches.items():
        yield f"branches.{name}", text
    for name, derived in variant.let.items():
        for part in (derived.value, derived.when, derived.otherwise):
            if part is not None:
                yield f"let.{name}", part
    yield from (("constraints", one.require) for one in variant.constraints)
    yield from (("lanes", text) for text in variant.lanes)
    yield from (("dots", text) for sizes in variant.dots for text in sizes)
    for name, tiling in variant.tiling.items():
        for part in (
            tiling.extent,
            tiling.tile,
            tiling.turns,
            tiling.parts,
            tiling.most_parts,
            tiling.chunk,
        ):
            if part is not None:
                yield f"tiling.{name}", part
    yield from (("int32", one.value) for one in variant.int32)
    if variant.aligned is not None and variant.aligned.when is not None:
        yield "aligned.when", variant.aligned.when
    if variant.batch_invariant is not None:
        yield "batch_invariant.when", variant.batch_invariant.when
    for name, scratch in variant.scratch.items():
        yield from ((f"scratch.{name}", text) for text in scratch.dims.values())
    for name, kernel in variant.kernels.items():
        yield from ((f"kernels.{name}.{key}", text) for key, text in _of_kernel(kernel))


def _of_kernel(kernel: Kernel) -> Iterator[tuple[str, str]]:
    yield from (("grid", text) for text in kernel.grid.values())
    for size in kernel.sizes:
        parts = (size.name, size.none, size.when) if isinstance(size, Size) else (size,)
        yield from (("sizes", part) for part in parts if part is not None)
    yield from (("constants", text) for text in kernel.constants)
    for along in kernel.repeats.values():
        yield from (("repeats", one.split()[-1]) for one in along if " " in one)
    launch = kernel.launch
    options = (launch.num_warps, launch.num_stages, launch.dependent)
    yield from (("launch", text) for text in options)
    yield from (
        ("shared", kernel.shared),
        ("bytes", kernel.bytes),
        ("operations", kernel.operations),
    )
