"""The plan: everything that is decided about an emitted file before a line of it is written.

A regime runs a variant. Where the variant wants axes as constants, each combination of their values that the regime
admits is a case; cases that need the same kernel text form a group, and a group has one launcher. Expressions in a
plan are folded as far as the constants of their place allow: a number where nothing is left to know at launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kgen.expr import Expr
from kgen.families.model import Binding, Family, Tensor, Value
from kgen.plan.domain import Domain
from kgen.plan.knobs import Knob
from kgen.plan.variant import Parameter, Variant
from kgen.spec import Spec


@dataclass(frozen=True)
class Template:
    """A variant folder: its declaration and where its files are."""

    variant: Variant
    directory: str
    file: str

    @property
    def name(self) -> str:
        return f"{self.variant.family}/{self.variant.variant}"


@dataclass(frozen=True)
class Argument:
    """One parameter of a kernel, and what a launcher passes for it.

    `type` is Triton's (`*bf16`, `i64`, `i32`, `constexpr`); `divisible` promises a multiple of 16, which the launcher
    has checked. A size or a constant is `value`; with `none`, an axis that is none is passed as that instead.
    """

    name: str
    kind: Literal["pointer", "stride", "size", "constant"]
    type: str
    tensor: str = ""
    dim: int = 0
    divisible: bool = False
    value: Expr | None = None
    none: Expr | None = None


@dataclass(frozen=True)
class KernelPlan:
    """One kernel of a group: its parameters in order, grid and options.

    `unit` names the dimensions (tensor, dim) that have one element in every case, so that their index is 0; `wide`
    the tensors whose offsets exceed 32 bits. A `dependent` one may start before the kernel before it has ended.
    """

    role: str
    doc: str
    arguments: tuple[Argument, ...]
    grid: tuple[Expr, ...]
    num_warps: int
    num_stages: int
    dependent: bool
    writes: tuple[str, ...]
    unit: frozenset[tuple[str, str]]
    wide: frozenset[str]


@dataclass(frozen=True)
class ScratchPlan:
    """A tensor that a launcher allocates."""

    tensor: Tensor
    shape: tuple[Expr, ...]


@dataclass(frozen=True)
class Case:
    """Values of the variant's case axes, and of everything that follows from them."""

    axes: Mapping[str, Value]
    constants: Mapping[str, Value]


@dataclass(frozen=True)
class Group:
    """Cases that share kernel text: they differ in constants only.

    `derived` are the values that are computed at launch, in order; `tests` what the variant's branches ask, over axes.
    """

    labels: Mapping[str, bool]
    cases: tuple[Case, ...]
    derived: tuple[tuple[str, Expr, str], ...]
    scratch: tuple[ScratchPlan, ...]
    kernels: tuple[KernelPlan, ...]
    tests: Mapping[str, Expr]


@dataclass(frozen=True)
class RegimePlan:
    """A regime with its variant, parameters and groups.

    `knobs` are the parameters that the environment sets; among `parameters` these have their defaults.
    `template` is None where the fallback calls something that is not kgen's: `call` is its `module:function` then.
    """

    name: str
    when: Expr | None
    index: int
    fallback: bool
    template: Template | None
    call: str
    parameters: Mapping[str, Value]
    knobs: Mapping[str, Knob]
    domain: Domain
    aligned: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def mentioned(self) -> Mapping[str, Value]:
        """The parameters that a person is told: not optional ones that have their default, nor what others replace."""
        declared, shown = self._shown()
        changed = {name for name, value in shown.items() if value != declared[name].default}
        replaced = {key for name in changed for key in declared[name].instead}
        return {
            name: value
            for name, value in shown.items()
            if (name in changed or not declared[name].optional)
            and declared[name].key not in replaced
        }

    @property
    def unmentioned(self) -> Mapping[str, Value]:
        """The other parameters, which have their defaults."""
        _, shown = self._shown()
        return {name: value for name, value in shown.items() if name not in self.mentioned}

    def _shown(self) -> tuple[Mapping[str, Parameter], Mapping[str, Value]]:
        """Parameters as they are declared, and their values as a spec has them."""
        declared = self.template.variant.parameters if self.template else {}
        shown = {name: declared[name].shown(value) for name, value in self.parameters.items()}
        return declared, shown


@dataclass(frozen=True)
class Plan:
    """A spec, resolved. `constants` are module-level names of the emitted file with their documentation."""

    spec: Spec
    family: Family
    tensors: tuple[Tensor, ...]
    scalars: Mapping[str, str]
    bindings: tuple[Binding, ...]
    constants: Mapping[str, tuple[Value, str]]
    regimes: tuple[RegimePlan, ...]
    judge: str
    devices: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def knobs(self) -> Mapping[str, Knob]:
        """The knobs of all regimes, by name."""
        return {one.name: one for regime in self.regimes for one in regime.knobs.values()}

    def may_be_none(self, axis: str) -> bool:
        """Whether an axis, or a knob, can be none."""
        return axis in self.spec.axes and None in (self.spec.axes[axis].values or ())

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.spec.document.interface.args

    @property
    def returns(self) -> tuple[str, ...]:
        return self.spec.document.interface.returns

    def tensor(self, name: str) -> Tensor:
        """The family's tensor called `name`. Raises KeyError where the spec has none."""
        return {tensor.name: tensor for tensor in self.tensors}[name]
