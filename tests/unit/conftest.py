"""Small kernels for the tests of the replay evaluator."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

HEADER = "import triton\nimport triton.language as tl\n\n\n"


@dataclass(frozen=True)
class Subject:
    """A kernel `k` and one instance of its launch."""

    source: str
    instance: object

    def line(self, text: str) -> int:
        """The line of the only place where this text stands."""
        (found,) = [n for n, line in enumerate(self.source.splitlines(), 1) if text in line]
        return found

    def trace(self, *program: int):
        from kgen.prove.replay.run import run_program

        place = (*program, *(0,) * (3 - len(program)))
        return run_program(self.source, self.instance, self.instance.launches[0], place)

    def report(self, **options):
        from kgen.prove.replay.run import run_grid

        return run_grid(self.source, self.instance, **options)

    def findings(self, *reads, **options) -> list:
        return list(self.report(**options).findings(reads))

    def kinds(self, *reads, **options) -> set[str]:
        return {finding.kind for finding in self.findings(*reads, **options)}


@pytest.fixture
def tensor() -> Callable:
    """Makes a declared tensor: contiguous unless `strides` are given, with `values` as contents."""
    from kgen.prove.replay.host import contiguous
    from kgen.prove.replay.model import Dim, TensorSpec
    from kgen.prove.replay.scenes import entries

    def make(
        name: str,
        dtype: str,
        *extents: int,
        strides: Sequence[int] | None = None,
        role: str = "input",
        values: Sequence | None = None,
    ) -> TensorSpec:
        steps = contiguous(extents) if strides is None else strides
        dims = tuple(
            Dim("ijkl"[axis], extent, step)
            for axis, (extent, step) in enumerate(zip(extents, steps, strict=True))
        )
        contents = None if values is None else entries(values)
        return TensorSpec(name, dtype, dims, role, contents)

    return make


@pytest.fixture
def kernel() -> Callable[..., Subject]:
    """Makes a subject from a kernel's body; its parameters are the tensors, then `numbers`, then
    `constants`.

    A number is passed as int32 where it fits, or as (value, type).
    """
    from kgen.prove.replay.model import Instance, Launch, Number, Pointer

    def make(
        body: str,
        *tensors: object,
        numbers: Mapping[str, int | tuple[int, str]] | None = None,
        constants: Mapping[str, object] | None = None,
        grid: Sequence[int] = (1,),
        before: str = "",
    ) -> Subject:
        numbers, constants = numbers or {}, constants or {}
        arguments: dict[str, object] = {spec.name: Pointer(spec.name) for spec in tensors}
        for name, given in numbers.items():
            value, type = given if isinstance(given, tuple) else (given, "i32")
            arguments[name] = Number(value, type)
        arguments |= constants
        names = [*(spec.name for spec in tensors), *numbers]
        names += [f"{name}: tl.constexpr" for name in constants]
        source = HEADER + textwrap.dedent(before)
        source += f"@triton.jit\ndef k({', '.join(names)}):\n"
        source += textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
        whole = (*grid, *(1,) * (3 - len(grid)))
        return Subject(source, Instance({}, tuple(tensors), (Launch("k", arguments, whole),)))

    return make
