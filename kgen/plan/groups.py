"""Cases of a regime, and the groups of them that share kernel text.

Names are resolved in three layers. *Named* constants (axes with one value, the family's constants, the device's SMs)
keep their names in the emitted file. Parameters, the values of case axes and what follows from them become numbers.
What is left is computed by the launcher.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kgen.expr import Expr, Name, evaluate, fold, is_literal, names, parse
from kgen.expr.substitute import substitute, tidy
from kgen.families.model import DTYPES, Dim, Tensor, Value
from kgen.plan.bounds import largest
from kgen.plan.domain import Domain
from kgen.plan.errors import PlanProblem
from kgen.plan.model import Argument, Case, Group, KernelPlan, ScratchPlan
from kgen.plan.variant import Derived, Kernel, Size, Variant

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Scope:
    """What is known where a regime's groups are made."""

    variant: Variant
    tensors: Mapping[str, Tensor]
    optional: frozenset[str]
    named: Mapping[str, Value]
    parameters: Mapping[str, int | bool]
    domain: Domain

    @property
    def constants(self) -> dict[str, Value]:
        return {**self.named, **self.parameters}


def groups(scope: Scope) -> tuple[Group, ...]:
    """The groups of a regime, in the order in which their first cases come. Raises PlanProblem."""
    found: dict[tuple[tuple[str, bool], ...], list[Case]] = {}
    for case in _cases(scope):
        labels = tuple(_labels(scope, case).items())
        found.setdefault(labels, []).append(case)
    return tuple(_group(scope, dict(labels), tuple(cases)) for labels, cases in found.items())


def _cases(scope: Scope) -> Iterator[Case]:
    seen = set()
    for part in scope.domain.slices(scope.named):
        missing = [axis for axis in scope.variant.cases if axis not in {**scope.named, **part.values}]
        if missing:
            raise PlanProblem(
                "KG412",
                f"variant {scope.variant.variant} takes {missing[0]} as a constant, but {missing[0]} is a range here",
                hint=f"give axis {missing[0]} a list of values, or use another variant",
            )
        axes = {axis: {**scope.named, **part.values}[axis] for axis in scope.variant.cases}
        if tuple(axes.items()) in seen:
            continue
        seen.add(tuple(axes.items()))
        yield Case(axes, _resolved(scope, axes))


def _resolved(scope: Scope, axes: Mapping[str, Value]) -> dict[str, Value]:
    """Everything that has a value once the case is chosen."""
    known = {**scope.constants, **axes}
    for name, derived in scope.variant.let.items():
        folded = fold(chosen(derived, known), known)
        if is_literal(folded):
            known[name] = evaluate(folded, {})
    return known


def chosen(derived: Derived, known: Mapping[str, Value]) -> Expr:
    """The definition of a derived value in one case."""
    if derived.when is None or evaluate(parse(derived.when), known):
        return parse(derived.value)
    return parse(derived.otherwise)


def _labels(scope: Scope, case: Case) -> dict[str, bool]:
    found = {}
    for label, text in scope.variant.labels.items():
        folded = fold(parse(text), case.constants)
        if not is_literal(folded):
            raise PlanProblem(
                "KG413", f"label {label} of variant {scope.variant.variant} needs {_listed(folded)} before launch"
            )
        found[label] = bool(evaluate(folded, {}))
    return found


def _listed(expr: Expr) -> str:
    return ", ".join(sorted(names(expr)))


def _group(scope: Scope, labels: Mapping[str, bool], cases: tuple[Case, ...]) -> Group:
    layers = _layers(scope, cases)
    scratch = tuple(_scratch(name, declared, layers) for name, declared in scope.variant.scratch.items())
    tensors = {**scope.tensors, **{plan.tensor.name: plan.tensor for plan in scratch}}
    wide = frozenset(plan.tensor.name for plan in scratch if _needs_64_bits(scope, plan, cases))
    kernels = tuple(
        _kernel(scope, role, kernel, layers, tensors, cases, wide) for role, kernel in scope.variant.kernels.items()
    )
    return Group(labels, cases, layers.derived, scratch, kernels)


@dataclass(frozen=True)
class Layers:
    """What the cases of a group share: numbers, names that stand for a single other name, and values computed at launch."""

    numbers: Mapping[str, Value]
    inlined: Mapping[str, Expr]
    derived: tuple[tuple[str, Expr, str], ...]

    def __call__(self, text: str) -> Expr:
        """An expression as the launcher computes it."""
        return tidy(fold(substitute(parse(text), self.inlined), self.numbers))


def _layers(scope: Scope, cases: tuple[Case, ...]) -> Layers:
    numbers: dict[str, Value] = dict(scope.parameters)
    for axis in scope.variant.cases:
        shared = {case.axes[axis] for case in cases}
        if len(shared) == 1 and axis not in scope.named:
            numbers[axis] = shared.pop()
    inlined: dict[str, Expr] = {}
    derived: list[tuple[str, Expr, str]] = []
    for name, declared in scope.variant.let.items():
        ways = {chosen(declared, case.constants) for case in cases}
        if len(ways) > 1:
            raise PlanProblem(
                "KG414",
                f"{name} of variant {scope.variant.variant} is computed in two ways within one kernel text",
                hint=f"add the condition of {name} to `labels`",
            )
        folded = tidy(fold(substitute(ways.pop(), inlined), numbers))
        whole = fold(folded, scope.named)
        if is_literal(whole):
            numbers[name] = evaluate(whole, {})
        elif isinstance(folded, Name):
            inlined[name] = folded
        else:
            derived.append((name, folded, declared.doc))
    return Layers(numbers, inlined, tuple(derived))


def _scratch(name: str, declared, layers: Layers) -> ScratchPlan:
    dims = tuple(Dim(dim, extent) for dim, extent in declared.dims.items())
    tensor = Tensor(name, name, declared.dtype, dims, "scratch", declared.doc)
    return ScratchPlan(tensor, tuple(layers(dim.extent) for dim in dims))


def _needs_64_bits(scope: Scope, plan: ScratchPlan, cases: tuple[Case, ...]) -> bool:
    """Whether an offset into the tensor may exceed 31 bits somewhere in the domain."""
    for case in cases:
        elements = 1
        for extent in plan.shape:
            most = largest(_unfolded(extent, scope, case), case.constants, scope.domain.ranges)
            if most is None:
                return True
            elements *= most
        if elements - 1 > INT32_MAX:
            return True
    return False


def _unfolded(expr: Expr, scope: Scope, case: Case) -> Expr:
    """`expr` with derived values that are computed at launch replaced by their definitions."""
    for name, declared in reversed(scope.variant.let.items()):
        expr = substitute(expr, {name: chosen(declared, case.constants)})
    return expr


def _kernel(
    scope: Scope,
    role: str,
    kernel: Kernel,
    layers: Layers,
    tensors: Mapping[str, Tensor],
    cases: tuple[Case, ...],
    wide: frozenset[str],
) -> KernelPlan:
    used = [tensors[name] for name in kernel.tensors if name in tensors]
    for name in kernel.tensors:
        if name not in tensors and name not in scope.optional:
            raise PlanProblem("KG415", f"kernel {role} names tensor {name}, which the family does not have")
    unit = frozenset(
        (tensor.name, dim.name) for tensor in used for dim in tensor.dims if _is_one(dim.extent, cases)
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
        num_warps=evaluate(layers(kernel.launch.num_warps), {}),
        num_stages=evaluate(layers(kernel.launch.num_stages), {}),
        writes=tuple(name for name in kernel.writes if name in tensors),
        unit=unit,
        wide=wide,
    )


def _is_one(extent: str, cases: tuple[Case, ...]) -> bool:
    folded = (fold(parse(extent), case.constants) for case in cases)
    return all(is_literal(one) and evaluate(one, {}) == 1 for one in folded)


def _aligned(scope: Scope, cases: tuple[Case, ...]) -> frozenset[str]:
    declared = scope.variant.aligned
    if declared is None or not _holds(declared.when, cases):
        return frozenset()
    return frozenset(declared.tensors)


def _holds(condition: str | None, cases: tuple[Case, ...]) -> bool:
    return condition is None or all(evaluate(parse(condition), case.constants) for case in cases)


def _pointer(tensor: Tensor, aligned: frozenset[str]) -> Argument:
    """Outputs and scratch come from the allocator, which aligns them."""
    divisible = tensor.role != "input" or tensor.name in aligned
    return Argument(f"p_{tensor.short}", "pointer", f"*{DTYPES[tensor.dtype][1]}", tensor.name, divisible=divisible)


def _strides(
    used: list[Tensor], unit: frozenset[tuple[str, str]], aligned: frozenset[str], cases: tuple[Case, ...]
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
    return tensor.role == "output" and all(_inner(tensor, position, case) % 16 == 0 for case in cases)


def _inner(tensor: Tensor, position: int, case: Case) -> int:
    """The product of those extents inside dimension `position` that are known."""
    folded = [fold(parse(dim.extent), case.constants) for dim in tensor.dims[position + 1 :]]
    return math.prod(evaluate(one, {}) for one in folded if is_literal(one))


def contiguous_stride(tensor: Tensor, case: Case) -> int | None:
    """The stride in elements of a contiguous tensor's last dimension but one, where it is known and the tensor has one."""
    if len(tensor.dims) < 2 or not is_literal(fold(parse(tensor.dims[-1].extent), case.constants)):
        return None
    return _inner(tensor, len(tensor.dims) - 2, case)


def _sizes(kernel: Kernel, layers: Layers, cases: tuple[Case, ...]) -> Iterator[Argument]:
    for entry in kernel.sizes:
        size = entry if isinstance(entry, Size) else Size(name=entry)
        if _holds(size.when, cases):
            none = None if size.none is None else layers(size.none)
            yield Argument(size.name, "size", "i32", value=layers(size.name), none=none)


def _constants(scope: Scope, kernel: Kernel, layers: Layers, cases: tuple[Case, ...]) -> Iterator[Argument]:
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
        value = Name(name, parse(name).span) if name in scope.named else layers(name)
        yield Argument(name, "constant", "constexpr", value=value)


def aligned_tensors(scope: Scope, found: tuple[Group, ...]) -> tuple[str, ...]:
    """The inputs whose alignment the launcher has to check."""
    divisible = {
        argument.tensor
        for group in found
        for kernel in group.kernels
        for argument in kernel.arguments
        if argument.divisible
    }
    return tuple(name for name, tensor in scope.tensors.items() if name in divisible and tensor.role == "input")


