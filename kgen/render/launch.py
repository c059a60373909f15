"""Host code of one launcher, as the pieces that the submission template prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kgen.expr import Expr, helpers, names, to_python
from kgen.families.model import DTYPES
from kgen.plan.model import Argument, Case, Plan
from kgen.render.model import Launcher, RenderedKernel


@dataclass(frozen=True)
class Allocation:
    """`name = torch.empty(shape, dtype=...)`."""

    name: str
    shape: str
    dtype: str
    doc: str


@dataclass(frozen=True)
class Call:
    """`function[grid](arguments)`: positional ones first, constants by name."""

    function: str
    grid: str
    positional: tuple[str, ...]
    constants: tuple[str, ...]
    num_warps: int
    num_stages: int
    dependent: bool


@dataclass(frozen=True)
class LauncherText:
    """A launcher's signature and body. `axes` are the sizes that it is given, in the spec's order."""

    function: str
    doc: str
    tensors: tuple[str, ...]
    axes: tuple[str, ...]
    derived: tuple[tuple[str, str, str], ...]
    allocations: tuple[Allocation, ...]
    calls: tuple[Call, ...]
    helpers: frozenset[str]
    named: frozenset[str]


def launcher_text(plan: Plan, launcher: Launcher) -> LauncherText:
    """The printable form of a launcher, with nothing computed, allocated or passed that its kernels do not use."""
    kernels = launcher.kernels
    pointers = {argument.tensor for kernel in kernels for argument in kernel.arguments}
    scratch = [one for one in launcher.group.scratch if one.tensor.name in pointers]
    direct = [e for one in scratch for e in one.shape] + [
        e for kernel in kernels for e in _expressions(kernel)
    ]
    derived = _needed(launcher.group.derived, direct)
    every = [*direct, *(expr for _, expr, _ in derived)]
    free = frozenset().union(*map(names, every)) - {name for name, _, _ in derived}
    return LauncherText(
        function=launcher.function,
        doc=_doc(launcher),
        tensors=tuple(tensor.name for tensor in plan.tensors if tensor.name in pointers),
        axes=tuple(name for name in plan.spec.axes if name in free and name not in plan.constants),
        derived=tuple((name, to_python(expr), doc) for name, expr, doc in derived),
        allocations=tuple(_allocation(one.tensor, one.shape) for one in scratch),
        calls=tuple(_call(kernel) for kernel in kernels),
        helpers=frozenset().union(*map(helpers, every)),
        named=frozenset(name for name in free if name in plan.constants),
    )


def _doc(launcher: Launcher) -> str:
    variant = launcher.regime.template.variant.variant
    own = [label for label, value in launcher.group.labels.items() if value]
    return f"Regime {launcher.regime.name}: {variant}" + (f" ({', '.join(own)})" if own else "")


def _expressions(kernel: RenderedKernel) -> Iterable[Expr]:
    yield from kernel.plan.grid
    for argument in kernel.arguments:
        yield from (expr for expr in (argument.value, argument.none) if expr is not None)


def _needed(
    derived: Iterable[tuple[str, Expr, str]], direct: Iterable[Expr]
) -> tuple[tuple[str, Expr, str], ...]:
    """The derived values that `direct` needs, themselves or through others, in their order."""
    wanted = frozenset().union(*map(names, direct))
    kept = []
    for name, expr, doc in reversed(tuple(derived)):
        if name in wanted:
            kept.append((name, expr, doc))
            wanted |= names(expr)
    return tuple(reversed(kept))


def _allocation(tensor, shape: tuple[Expr, ...]) -> Allocation:
    return Allocation(
        tensor.name, tuple_text(shape), f"torch.{DTYPES[tensor.dtype][0]}", tensor.doc
    )


def tuple_text(parts: Iterable[Expr]) -> str:
    """A tuple in Python."""
    printed = [to_python(part) for part in parts]
    return f"({', '.join(printed)}{',' if len(printed) == 1 else ''})"


def _call(kernel: RenderedKernel) -> Call:
    return Call(
        function=kernel.function,
        grid=tuple_text(kernel.plan.grid),
        positional=tuple(_passed(a) for a in kernel.arguments if a.kind != "constant"),
        constants=tuple(
            f"{a.name}={to_python(a.value)}" for a in kernel.arguments if a.kind == "constant"
        ),
        num_warps=kernel.plan.num_warps,
        num_stages=kernel.plan.num_stages,
        dependent=kernel.plan.dependent,
    )


def _passed(argument: Argument) -> str:
    if argument.kind == "pointer":
        return argument.tensor
    if argument.kind == "stride":
        return f"{argument.tensor}.stride({argument.dim})"
    value = to_python(argument.value)
    if argument.none is not None:
        return f"{to_python(argument.none)} if {value} is None else {value}"
    return value


# ---------------------------------------------------------------- signatures


@dataclass(frozen=True)
class Signature:
    """One compiled form of a kernel: the types of its arguments and the values of its constants."""

    function: str
    types: Mapping[str, str]
    constants: Mapping[str, int | float | bool]
    divisible: tuple[str, ...]
    num_warps: int
    num_stages: int
    regimes: tuple[str, ...]

    @property
    def key(self) -> tuple:
        return (
            self.function,
            tuple(self.constants.items()),
            self.num_warps,
            self.num_stages,
            self.divisible,
        )


def signatures(launchers: Iterable[Launcher]) -> tuple[Signature, ...]:
    """Every form in which a kernel can ever be compiled, each once."""
    found: dict[tuple, Signature] = {}
    for launcher in launchers:
        for case in launcher.group.cases:
            for kernel in launcher.kernels:
                made = _signature(launcher.regime.name, kernel, case)
                known = found.get(made.key)
                regimes = (*(known.regimes if known else ()), *made.regimes)
                found[made.key] = Signature(
                    **{**made.__dict__, "regimes": tuple(dict.fromkeys(regimes))}
                )
    return tuple(found.values())


def _signature(regime: str, kernel: RenderedKernel, case: Case) -> Signature:
    constants = {a.name: constant_value(a, case) for a in kernel.arguments if a.kind == "constant"}
    return Signature(
        function=kernel.function,
        types={a.name: a.type for a in kernel.arguments},
        constants=constants,
        divisible=tuple(a.name for a in kernel.arguments if a.divisible),
        num_warps=kernel.plan.num_warps,
        num_stages=kernel.plan.num_stages,
        regimes=(regime,),
    )


def constant_value(argument: Argument, case: Case) -> int | float | bool:
    """The value of a constant argument in one case."""
    return case.constants[argument.name]


def warm_up_arguments(kernel: RenderedKernel) -> tuple[str, ...]:
    """What stands for each run-time argument when a kernel is compiled without data: a dtype or an integer."""
    return tuple(
        _stand_in(argument) for argument in kernel.arguments if argument.kind != "constant"
    )


_TORCH_OF = {triton: torch for torch, triton, _ in DTYPES.values()}


def _stand_in(argument: Argument) -> str:
    if argument.kind == "pointer":
        return f"torch.{_TORCH_OF[argument.type[1:]]}"
    return "16" if argument.divisible else "1"
