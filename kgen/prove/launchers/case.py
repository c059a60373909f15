"""One launcher, for one case of its regime: the world in which its kernels run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from kgen.algebra import Poly, Space
from kgen.algebra.lower import Meaning
from kgen.families.model import DTYPES
from kgen.plan.model import Case, KernelPlan, Plan
from kgen.prove.facts import (
    Fact,
    IntegerArgument,
    KernelArgument,
    Launch,
    OtherArgument,
    PointerArgument,
    Repeat,
    World,
)
from kgen.prove.launchers.axes import declare, optional
from kgen.prove.launchers.errors import LauncherError
from kgen.prove.launchers.expressions import integer, integers
from kgen.prove.launchers.module import Module, is_kernel
from kgen.prove.launchers.tensors import Tensors
from kgen.render.model import Launcher

OPTIONS = ("num_warps", "num_stages", "launch_pdl")


@dataclass(frozen=True)
class LauncherCase:
    """A launcher's world in one case of its group, the axes in `absent` being none.

    `meanings` tell what the names of axes stand for in the world's space.
    """

    launcher: Launcher
    case: Case
    absent: frozenset[str]
    world: World
    meanings: Mapping[str, Meaning]

    def __str__(self) -> str:
        """The values of the axes that are no variables."""
        values = {**self.case.axes, **dict.fromkeys(sorted(self.absent))}
        return ", ".join(
            f"{name} = {'none' if value is None else value}" for name, value in values.items()
        )


def cases(plan: Plan, launchers: Sequence[Launcher], module: Module) -> Iterator[LauncherCase]:
    """The world of every launcher and case. Raises LauncherError at what the prover does not follow."""
    for launcher in launchers:
        for case in launcher.group.cases:
            names = optional(plan, launcher.regime, case)
            for absent in map(frozenset, _subsets(names)):
                walk = _Walk(plan, launcher, case, absent, module)
                yield LauncherCase(launcher, case, absent, walk.world(), walk.axes)


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(names) + 1):
        yield from combinations(names, size)


class _Walk:
    """Walks the statements of a launcher once."""

    def __init__(
        self, plan: Plan, launcher: Launcher, case: Case, absent: frozenset[str], module: Module
    ):
        self._plan, self._launcher, self._case, self._module = plan, launcher, case, module
        self._space = Space()
        axes = declare(self._space, plan, launcher.regime, case, absent)
        self._facts: list[Fact] = list(axes.facts)
        self._names: dict[str, Meaning] = {}
        self.axes = axes.meanings
        accesses = plan.family.accesses(plan.spec)
        self._claims = accesses.reads
        self._tensors = Tensors(self._space, axes.meanings, accesses)
        for tensor in plan.tensors:
            self._tensors.add(tensor)
        self._launches: list[Launch] = []

    def world(self) -> World:
        function = self._module.function(self._launcher.function)
        self._bind_parameters(function)
        for statement in function.body:
            self._statement(statement)
        facts = (*self._facts, *self._tensors.facts)
        reads = tuple(map(self._tensors.reads, self._claims))
        return World(self._space, facts, self._tensors.found, tuple(self._launches), reads)

    def _bind_parameters(self, function: ast.FunctionDef) -> None:
        """Parameters are called like the tensors and axes that the entry passes; knobs are read where they stand."""
        for name, value in self._module.constants.items():
            if isinstance(value, int):
                self._names[name] = value
        for knob in self._launcher.regime.knobs.values():
            self._names[knob.name] = self.axes[knob.name]
        for argument in function.args.args:
            name = argument.arg
            if name in self.axes:
                self._names[name] = self.axes[name]
            elif name not in self._tensors.found:
                raise LauncherError(
                    f"the launcher's parameter {name} is no tensor and no axis", function.lineno
                )

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant(str())):
                return
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Attribute(ast.Name("torch"), "empty")) as call
            ):
                self._allocate(name, call)
            case ast.Assign([ast.Name(name)], value):
                self._names[name] = self._named(name, integer(value, self._space, self._names))
            case ast.Expr(ast.Call(ast.Subscript(ast.Name(kernel), grid)) as call):
                self._launch(kernel, grid, call)
            case _:
                raise LauncherError(
                    f"`{ast.unparse(node).splitlines()[0]}` is not followed", node.lineno
                )

    def _named(self, name: str, value: Poly) -> Poly:
        """A size that happens to be a number here keeps its name, so that strides made of it can be told apart."""
        return value if value.constant is None else self._space.fixed(name, value.constant)

    def _allocate(self, name: str, call: ast.Call) -> None:
        """`torch.empty(shape, dtype=torch.float32, device=...)`."""
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        dtypes = {f"torch.{torch}": dtype for dtype, (torch, _, _) in DTYPES.items()}
        dtype = dtypes.get(options.get("dtype", ""))
        if len(call.args) != 1 or dtype is None or not set(options) <= {"dtype", "device"}:
            raise LauncherError(f"the allocation of {name} is not followed", call.lineno)
        extents = integers(call.args[0], self._space, self._names)
        planned = {one.tensor.name: one.tensor for one in self._launcher.group.scratch}
        dims = tuple(dim.name for dim in planned[name].dims) if name in planned else ()
        if len(dims) != len(extents):
            dims = tuple(f"dim {n}" for n in range(len(extents)))
        self._tensors.add_scratch(name, dtype, dims, extents)

    def _launch(self, kernel: str, grid: ast.expr, call: ast.Call) -> None:
        """`kernel[grid](arguments, CONSTANT=value, num_warps=...)`."""
        function = self._module.function(kernel)
        if not is_kernel(function):
            raise LauncherError(f"{kernel} is no kernel", call.lineno)
        parameters = [argument.arg for argument in function.args.args]
        plan = self._plan_of(kernel)
        extents = integers(grid, self._space, self._names)
        dims = self._grid_names(plan, len(extents))
        passed: dict[str, ast.expr] = dict(zip(parameters, call.args))
        passed |= {k.arg: k.value for k in call.keywords if k.arg not in OPTIONS}
        if set(passed) != set(parameters) or len(call.args) > len(parameters):
            raise LauncherError(
                f"the arguments of {kernel} are not those of its parameters", call.lineno
            )
        annotations = {a.arg: ast.unparse(a.annotation) for a in function.args.args if a.annotation}
        constant = {name for name, text in annotations.items() if "constexpr" in text}
        self._launches.append(
            Launch(
                function=kernel,
                grid=dict(zip(dims, extents)),
                arguments={n: self._argument(passed[n]) for n in parameters if n not in constant},
                constants={n: self._constant(passed[n]) for n in parameters if n in constant},
                repeats={} if plan is None else self._repeats(plan),
                line=call.lineno,
                dependent=_starts_early(call),
                annotations=annotations,
            )
        )

    def _plan_of(self, kernel: str) -> KernelPlan | None:
        return next((k.plan for k in self._launcher.kernels if k.function == kernel), None)

    def _grid_names(self, plan: KernelPlan | None, count: int) -> list[str]:
        variant = self._launcher.regime.template.variant
        names = list(variant.kernels[plan.role].grid) if plan else []
        return names if len(names) == count else [f"axis {n}" for n in range(count)]

    def _repeats(self, plan: KernelPlan) -> Mapping[str, tuple[Repeat, ...]]:
        declared = self._launcher.regime.template.variant.kernels[plan.role].repeats
        return {name: tuple(map(self._repeat, along)) for name, along in declared.items()}

    def _repeat(self, declared: str) -> Repeat:
        """`m`, or `m % N` or `m * N` with the value that N has in this case; `m` where that of `m % N` is none."""
        dim, *counted = declared.split()
        if not counted:
            return Repeat(dim)
        sign, name = counted
        count = self._case.constants.get(name, name)
        if not isinstance(count, int) and (sign == "*" or count is not None):
            raise LauncherError(f"{name} is no constant here, and `repeats` has `{declared}`", 0)
        return Repeat(dim, count) if sign == "%" else Repeat(dim, rows=count)

    def _argument(self, node: ast.expr) -> KernelArgument:
        match node:
            case ast.Name(name) if name in self._tensors.found:
                return PointerArgument(name)
            case ast.Call(ast.Attribute(ast.Name(name), "stride"), [ast.Constant(int(dim))], []):
                return IntegerArgument(self._stride(name, dim, node))
            case ast.Constant(float()):
                return OtherArgument()
        return IntegerArgument(integer(node, self._space, self._names))

    def _stride(self, name: str, dim: int, node: ast.expr) -> Poly:
        tensor = self._tensors.found.get(name)
        if tensor is None or not 0 <= dim < len(tensor.strides):
            raise LauncherError(f"`{ast.unparse(node)}` is no stride of a tensor", node.lineno)
        return tensor.strides[dim]

    def _constant(self, node: ast.expr) -> object:
        """The value of a constant argument."""
        match node:
            case ast.Name(name) if name in self._module.constants:
                return self._module.constants[name]
            case ast.Constant(value):
                return value
        value = self._space.concrete(integer(node, self._space, self._names)).constant
        if value is None:
            raise LauncherError(f"`{ast.unparse(node)}` is no constant here", node.lineno)
        return value


def _starts_early(call: ast.Call) -> bool:
    """Whether a launch may start before the one before it has ended."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    match given.get("launch_pdl", ast.Constant(False)):
        case ast.Constant(bool(value)):
            return value
    raise LauncherError("launch_pdl is no constant", call.lineno)
