"""One kernel of a group: its arguments, which of them are multiples of 16, and its grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kgen.expr import Expr, Name, evaluate, fold, is_literal, to_python
from kgen.families.model import DTYPES, Tensor
from kgen.plan.errors import PlanProblem
from kgen.plan.model import Argument, Case, KernelPlan
from kgen.plan.scope import Layers, Scope
from kgen.plan.variant import expression, Kernel, Size


def plan_kernel(
    scope: Scope,
    role: str,
    kernel: Kernel,
    layers: Layers,
    tensors: Mapping[str, Tensor],
    cases: tuple[Case, ...],
    wide: frozenset[str],
) -> KernelPlan:
    """The kernel `role` of a group, with every argument that its variant declares. Raises PlanProblem."""
    used = [tensors[name] for name in kernel.tensors if name in tensors]
    for name in kernel.tensors:
        if name not in tensors and name not in scope.optional:
            raise PlanProblem(
                "KG415", f"kernel {role} names tensor {name}, which the family does not have"
            )
    unit = frozenset(
        (tensor.name, dim.name)
        for tensor in used
        for dim in tensor.dims
        if _is_one(dim.extent, cases)
    )
    aligned = _aligned(scope, cases)
    return KernelPlan(
        role=role,
        doc=kernel.doc,
        arguments=(
            *(_pointer(tensor, aligned) for tensor in used),
            *_strides(used, unit, aligned, cases),
            *_sizes(kernel, layers, cases),
            *_constants(scope, kernel, layers, cases),
        ),
        grid=tuple(layers(extent) for extent in kernel.grid.values()),
        num_warps=_option(role, "num_warps", layers(kernel.launch.num_warps)),
        num_stages=_option(role, "num_stages", layers(kernel.launch.num_stages)),
        dependent=bool(_option(role, "dependent", layers(kernel.launch.dependent))),
        writes=tuple(name for name in kernel.writes if name in tensors),
        unit=unit,
        wide=wide,
    )


def _option(role: str, name: str, value: Expr) -> int:
    """A launch option, which has to be a number before launch."""
    if not is_literal(value):
        raise PlanProblem(
            "KG416",
            f"{name} of kernel {role} is {to_python(value)}, which is not known before launch",
        )
    return evaluate(value, {})


def _is_one(extent: str, cases: tuple[Case, ...]) -> bool:
    folded = (fold(expression(extent), case.constants) for case in cases)
    return all(is_literal(one) and evaluate(one, {}) == 1 for one in folded)


def _aligned(scope: Scope, cases: tuple[Case, ...]) -> frozenset[str]:
    declared = scope.variant.aligned
    if declared is None or not _holds(declared.when, cases):
        return frozenset()
    return frozenset(declared.tensors)


def _holds(condition: str | None, cases: tuple[Case, ...]) -> bool:
    return condition is None or all(
        evaluate(expression(condition), case.constants) for case in cases
    )


def _pointer(tensor: Tensor, aligned: frozenset[str]) -> Argument:
    """Outputs and scratch come from the allocator, which aligns them."""
    divisible = tensor.role != "input" or tensor.name in aligned
    return Argument(
        f"p_{tensor.short}",
        "pointer",
        f"*{DTYPES[tensor.dtype][1]}",
        tensor.name,
        divisible=divisible,
    )


def _strides(
    used: list[Tensor],
    unit: frozenset[tuple[str, str]],
    aligned: frozenset[str],
    cases: tuple[Case, ...],
) -> Iterator[Argument]:
    """Strides of all dimensions but the last; 64 bits wide, so that no product with one can overflow."""
    for tensor in used:
        if tensor.role == "scratch":
            continue
        for position, dim in enumerate(tensor.dims[:-1]):
            if (tensor.name, dim.name) not in unit:
                name = f"stride_{tensor.short}_{dim.name}"
                divisible = tensor.name in aligned or _divides(tensor, position, cases)
                yield Argument(name, "stride", "i64", tensor.name, position, divisible=divisible)


def _divides(tensor: Tensor, position: int, cases: tuple[Case, ...]) -> bool:
    """Whether the stride is a multiple of 16 because the launcher makes the tensor contiguous, with known inner extents."""
    return tensor.role == "output" and all(
        _inner(tensor, position, case) % 16 == 0 for case in cases
    )


def _inner(tensor: Tensor, position: int, case: Case) -> int:
    """The product of those extents inside dimension `position` that are known."""
    folded = [fold(expression(dim.extent), case.constants) for dim in tensor.dims[position + 1 :]]
    return math.prod(evaluate(one, {}) for one in folded if is_literal(one))


def contiguous_stride(tensor: Tensor, case: Case) -> int | None:
    """The stride in elements of a contiguous tensor's last dimension but one, where it is known and the tensor has one."""
    if len(tensor.dims) < 2 or not is_literal(
        fold(expression(tensor.dims[-1].extent), case.constants)
    ):
        return None
    return _inner(tensor, len(tensor.dims) - 2, case)


def _sizes(kernel: Kernel, layers: Layers, cases: tuple[Case, ...]) -> Iterator[Argument]:
    for entry in kernel.sizes:
        size = entry if isinstance(entry, Size) else Size(name=entry)
        if _holds(size.when, cases):
            none = None if size.none is None else layers(size.none)
            yield Argument(size.name, "size", "i32", value=layers(size.name), none=none)


def _constants(
    scope: Scope, kernel: Kernel, layers: Layers, cases: tuple[Case, ...]
) -> Iterator[Argument]:
    for name in kernel.constants:
        if all(name in case.constants and case.constants[name] is None for case in cases):
            continue
        unknown = [case for case in cases if name not in case.constants]
        if unknown:
            raise PlanProblem(
                "KG416",
                f"constant {name} of variant {scope.variant.variant} is not known before launch",
                hint=f"list {name} under `sizes`, or its axes under `cases`",
            )
        value = Name(name, expression(name).span) if name in scope.named else layers(name)
        yield Argument(name, "constant", "constexpr", value=value)
