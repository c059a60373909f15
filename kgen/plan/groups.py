"""Cases of a regime, and the groups of them that share kernel text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from kgen.expr import Compare, Expr, evaluate, fold, is_literal, names
from kgen.expr.substitute import substitute
from kgen.families.model import Dim, Tensor
from kgen.plan.bounds import interval, largest
from kgen.plan.errors import PlanProblem
from kgen.plan.kernels import plan_kernel
from kgen.plan.model import Case, Group, ScratchPlan
from kgen.plan.scope import Layers, Scope, chosen, layers_of, resolved
from kgen.plan.variant import Kernel, Scratch, expression

INT32_MAX = 2**31 - 1


def groups(scope: Scope) -> tuple[Group, ...]:
    """The groups of a regime, in the order in which their first cases come. Raises PlanProblem."""
    found: dict[tuple[tuple[str, bool], ...], list[Case]] = {}
    for case in _cases(scope):
        for answers in _answers(scope, case):
            labels = tuple({**_labels(scope, case), **answers}.items())
            found.setdefault(labels, []).append(case)
    return tuple(_group(scope, dict(labels), tuple(cases)) for labels, cases in found.items())


def _cases(scope: Scope) -> Iterator[Case]:
    seen = set()
    for part in scope.domain.slices(scope.named):
        missing = [
            axis for axis in scope.variant.cases if axis not in {**scope.named, **part.values}
        ]
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
        yield Case(axes, resolved(scope, axes))


def _labels(scope: Scope, case: Case) -> dict[str, bool]:
    found = {}
    for label, text in scope.variant.labels.items():
        folded = fold(expression(text), case.constants)
        if not is_literal(folded):
            raise PlanProblem(
                "KG413",
                f"label {label} of variant {scope.variant.variant} needs {_listed(folded)} before launch",
            )
        found[label] = bool(evaluate(folded, {}))
    return found


def _answers(scope: Scope, case: Case) -> Iterator[dict[str, bool]]:
    """Every way in which the variant's branches may be answered in a case, those first that need the test."""
    ways = []
    for branch, text in scope.variant.branches.items():
        asked = fold(_unfolded(expression(text), scope, case), case.constants)
        answer = _settled(asked, scope, case)
        ways.append([(branch, one) for one in ([True, False] if answer is None else [answer])])
    return map(dict, itertools.product(*ways))


def _settled(expr: Expr, scope: Scope, case: Case) -> bool | None:
    """What a condition is all over a regime, as far as constants and the ends of ranges tell."""
    if is_literal(expr):
        return bool(evaluate(expr, {}))
    if isinstance(expr, Compare) and expr.op == "==":
        ends = [interval(e, case.constants, scope.domain.ranges) for e in (expr.left, expr.right)]
        if None not in ends:
            (low, high), (least, most) = ends
            apart = high < least or most < low
            return False if apart else True if low == high == least == most else None
    return None


def _launched(kernel: Kernel, labels: Mapping[str, bool]) -> bool:
    """Whether a kernel runs on these branches."""
    wanted = kernel.only is None or labels[kernel.only]
    return wanted and not (kernel.unless is not None and labels[kernel.unless])


def _listed(expr: Expr) -> str:
    return ", ".join(sorted(names(expr)))


def _group(scope: Scope, labels: Mapping[str, bool], cases: tuple[Case, ...]) -> Group:
    layers = layers_of(scope, cases)
    scratch = tuple(
        _scratch(scope, name, declared, layers) for name, declared in scope.variant.scratch.items()
    )
    tensors = {**scope.tensors, **{plan.tensor.name: plan.tensor for plan in scratch}}
    wide = frozenset(plan.tensor.name for plan in scratch if _needs_64_bits(scope, plan, cases))
    kernels = tuple(
        plan_kernel(scope, role, kernel, layers, tensors, cases, wide)
        for role, kernel in scope.variant.kernels.items()
        if _launched(kernel, labels)
    )
    tests = {name: _asked(text, layers) for name, text in scope.variant.branches.items()}
    return Group(labels, cases, layers.derived, scratch, kernels, tests)


def _asked(text: str, layers: Layers) -> Expr:
    """The condition of a branch over what a call knows: values that a launcher computes by their definitions."""
    asked = layers(text)
    for name, value, _ in reversed(layers.derived):
        asked = substitute(asked, {name: value})
    return asked


def _scratch(scope: Scope, name: str, declared: Scratch, layers: Layers) -> ScratchPlan:
    parameter = scope.variant.parameters.get(declared.dtype)
    dtype = parameter.shown(scope.parameters[declared.dtype]) if parameter else declared.dtype
    dims = tuple(Dim(dim, extent) for dim, extent in declared.dims.items())
    tensor = Tensor(name, name, dtype, dims, "scratch", declared.doc)
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


def aligned_tensors(scope: Scope, found: tuple[Group, ...]) -> tuple[str, ...]:
    """The inputs whose alignment the launcher has to check."""
    divisible = {
        argument.tensor
        for group in found
        for kernel in group.kernels
        for argument in kernel.arguments
        if argument.divisible
    }
    return tuple(
        name
        for name, tensor in scope.tensors.items()
        if name in divisible and tensor.role == "input"
    )
