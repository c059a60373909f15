"""A candidate's own figures for a shape, from its variant's declaration: grid, bytes, operations, tiles, shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import EvalError, Expr, Truth, evaluate, fold, names
from kgen.families.model import Value
from kgen.plan.model import Plan, Template
from kgen.plan.scope import chosen
from kgen.plan.templates import DECLARATION, KERNELS
from kgen.plan.variant import Kernel, Variant, expression
from kgen.sweep.depends import ByKeys, keys_of, same_for_all
from kgen.sweep.model import Candidate
from kgen.sweep.shapes import Shape
from kgen.sweep.space import Axes, candidates


@dataclass(frozen=True)
class Figures:
    """What the declaration of one kernel says of one candidate at one shape.

    `programs` is the grid. Each program takes `turns` through its longest loop. `tile` is the largest operand of a
    product, or the longest vector, in elements; `multiplies` tells which. `shared_bytes` are its buffers. A kernel of
    another branch is not `launched`.
    """

    programs: int
    bytes: int
    operations: int
    turns: int
    tile: int
    multiplies: bool
    shared_bytes: int
    warps: int
    stages: int
    launched: bool


NOT_LAUNCHED = Figures(0, 0, 0, 1, 1, False, 0, 1, 1, launched=False)


class Declared:
    """The figures of the candidates of some axes."""

    def __init__(self, plan: Plan, axes: Axes, template: Template):
        self._constants = {name: value for name, (value, _) in plan.constants.items()}
        self._knobs = {name: knob.default for name, knob in plan.knobs.items()}
        self._template = template
        self._variant = template.variant
        self._first = next(candidates(axes))
        self._known = same_for_all(template.variant, axes)
        self._names = {p.key: name for name, p in self._variant.parameters.items()}

    def kernels(self) -> Iterable[str]:
        """The roles of the variant's kernels, in their order."""
        return self._variant.kernels

    def of(self, role: str, shape: Shape) -> ByKeys[Figures]:
        """The figures of one kernel at one shape, for any candidate of the axes."""
        kernel = self._variant.kernels[role]
        if self._never_launched(kernel):
            return ByKeys((), self._first, lambda candidate: NOT_LAUNCHED)
        loops = _loops(self._variant, kernel)
        products, vectors = _tiles(self._variant, kernel)
        texts = [*kernel.grid.values(), kernel.bytes, kernel.operations, kernel.shared]
        texts += [kernel.launch.num_warps, kernel.launch.num_stages, *loops, *vectors]
        texts += [text for product in products for text in product]
        branches = self._variant.branches
        only, unless = (branches.get(one) for one in (kernel.only, kernel.unless))
        texts += filter(None, (only, unless))

        def compute(candidate: Candidate) -> Figures:
            number = self._numbers(candidate, shape)
            # a size is none where the spec does not have what it is a size of
            multiplied = (tuple(map(number, product)) for product in products)
            operands = [max(m * k, k * n) for m, n, k in multiplied if None not in (m, n, k)]
            lengths = [length for length in map(number, vectors) if length is not None]
            return Figures(
                programs=math.prod(map(number, kernel.grid.values())),
                bytes=number(kernel.bytes),
                operations=number(kernel.operations),
                turns=max([1, *map(number, loops)]),
                tile=max(operands or lengths, default=1),
                multiplies=bool(operands),
                shared_bytes=number(kernel.shared),
                warps=number(kernel.launch.num_warps),
                stages=number(kernel.launch.num_stages),
                launched=not (only and not number(only)) and not (unless and number(unless)),
            )

        return ByKeys(keys_of(self._variant, map(expression, texts)), self._first, compute)

    def _never_launched(self, kernel: Kernel) -> bool:
        """Whether it is of a branch that no candidate of the axes takes."""
        for branch, wrong in ((kernel.only, False), (kernel.unless, True)):
            text = self._variant.branches.get(branch)
            asked = fold(expression(text), self._known) if text else None
            if isinstance(asked, Truth) and asked.value is wrong:
                return True
        return False

    def _numbers(self, candidate: Candidate, shape: Shape) -> Callable[[str], int | None]:
        """What gives an expression's value for a candidate at a shape. Raises KgenError (KG859).

        No more is derived than an expression needs: the candidate may stand for others that differ in the rest.
        """
        declared = self._variant.parameters
        defaults = {name: one.number(one.default) for name, one in declared.items()}
        known: dict[str, Value] = {**self._constants, **shape.axes, **defaults}
        for name, value in ((self._names.get(k), v) for k, v in candidate.settings):
            if name is not None:
                one = declared[name]
                known[name] = self._knobs[value] if one.is_knob(value) else one.number(value)

        def value(expr: Expr) -> Value:
            for name in names(expr) & self._variant.let.keys() - known.keys():
                derived = self._variant.let[name]
                if derived.when is not None:
                    value(expression(derived.when))
                known[name] = value(chosen(derived, known))
            return evaluate(expr, known)

        def number(text: str) -> int | None:
            try:
                return value(expression(text))
            except EvalError as error:
                raise KgenError([self._no_value(text, shape, error)]) from None

        return number

    def _no_value(self, text: str, shape: Shape, error: EvalError) -> Diagnostic:
        file = self._template.file.replace(KERNELS, DECLARATION)
        message = f"`{text}` has no value at {shape.name}: {error.message}"
        hint = "a figure needs one wherever the variant runs"
        return Diagnostic("KG859", message, Place(file), hint)


def _loops(variant: Variant, kernel: Kernel) -> list[str]:
    """How often a program of the kernel goes through each of its loops over tiles.

    A kernel that runs after another works on what that one left, and not on the extents of the tilings.
    """
    found = []
    for tiling in variant.tiling.values():
        own = names(expression(tiling.tile)) <= set(kernel.constants)
        if tiling.turns is None and own and not kernel.after:
            share = f"ceil_div({tiling.extent}, {tiling.parts or 1})"
            found.append(f"ceil_div({share}, {tiling.tile})")
    return found


def _tiles(variant: Variant, kernel: Kernel) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The (M, N, K) of those products, and the vectors, whose sizes are constants of the kernel."""

    def own(text: str) -> bool:
        return names(expression(text)) <= set(kernel.constants)

    products = [sizes for sizes in variant.dots if all(map(own, sizes))]
    return products, [text for text in variant.lanes if own(text)]
