"""What Triton's JIT would specialise a launch to, found without compiling or launching anything.

A generated file declares the finite set of signatures that its launchers can ever compile; this is
how the claim is checked against Triton itself. Needs Triton, outside the interpreter.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import triton
from triton.runtime.jit import JITFunction

from kgen.compile.job import Constant
from kgen.compile.standin import stand_in
from kgen.devices import target as find_target

_DIVISIBLE = ["tt.divisibility", 16]


@dataclass(frozen=True)
class Launch:
    """One specialisation that Triton's JIT asked for.

    `constants` holds the constexprs and what the JIT made constant by itself (an unannotated
    integer 1, None); `other_attributes` the attributes beside divisibility by 16 (on AMD
    `tt.pointer_range`), by parameter.
    """

    function: str
    signature: Mapping[str, str]
    constants: Mapping[str, Constant]
    divisible_by_16: tuple[str, ...]
    other_attributes: Mapping[str, tuple]
    num_warps: int
    num_stages: int


@contextlib.contextmanager
def recorded_launches(target: str) -> Iterator[list[Launch]]:
    """Within the block, kernels launched in this process are neither compiled nor run, but listed.

    So a whole launcher can be called with CPU tensors. Raises `UnknownName` for an unknown target.
    A launch of a kernel that was launched before in the same block is listed again.
    """
    launches: list[Launch] = []

    def note(*, fn, compile, **_) -> bool:
        launches.append(_launch(fn.jit_function, compile))
        return True  # tells Triton that it has been dealt with

    with stand_in(find_target(target)), triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_cache_hook = note
        yield launches


@contextlib.contextmanager
def recorded_compiles() -> Iterator[list[Launch]]:
    """Within the block, each form in which a kernel is compiled in this process is listed as well.

    Needs the GPU that Triton finds. What a kernel was launched with before the block is not
    compiled again, and so not listed.
    """
    launches: list[Launch] = []

    def note(*, fn, compile, **_) -> None:
        launches.append(_launch(fn.jit_function, compile))

    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_cache_hook = note
        yield launches


def is_pinned(launch: Launch, manifest: Mapping) -> bool:
    """Whether a manifest declares this specialisation among its `signatures`."""
    return not launch.other_attributes and any(
        launch.function == one["function"]
        and launch.signature == one["signature"]
        and launch.constants == one["constants"]
        and launch.divisible_by_16 == tuple(one["divisible_by_16"])
        and launch.num_warps == one["num_warps"]
        and launch.num_stages == one["num_stages"]
        for one in manifest["signatures"]
    )


def jit_signature(
    kernel: JITFunction, *arguments: object, target: str, **options: object
) -> Launch:
    """The specialisation of `kernel[grid](*arguments, **options)`; tensors may lie on the CPU."""
    with recorded_launches(target) as launches:
        kernel[(1,)](*arguments, **options)
    return launches[0]


def _launch(kernel: JITFunction, request: Mapping) -> Launch:
    names = kernel.arg_names
    (attributes,) = request["configs"]
    by_name = {names[path[0]]: values for path, values in attributes.items()}
    others = {
        n: tuple(map(tuple, (v for v in values if v != _DIVISIBLE)))
        for n, values in by_name.items()
    }
    return Launch(
        function=kernel.__name__,
        signature=dict(request["signature"]),
        constants={names[path[0]]: value for path, value in request["constants"].items()},
        divisible_by_16=tuple(n for n in names if _DIVISIBLE in by_name.get(n, ())),
        other_attributes={name: values for name, values in others.items() if values},
        num_warps=request["num_warps"],
        num_stages=request["num_stages"],
    )
