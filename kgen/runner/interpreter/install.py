"""Puts the parts of this package into Triton's interpreter, and gives each case a fresh memory."""

from __future__ import annotations

import importlib
import types
from collections.abc import Mapping

import triton.language as tl
from triton.runtime import interpreter as it

from kgen.runner.interpreter.builder import CheckedBuilder, CheckedSemantic
from kgen.runner.interpreter.formats import np_dtype
from kgen.runner.interpreter.launch import launcher
from kgen.runner.interpreter.memory import Memory
from kgen.runner.interpreter.reductions import Reduce, Scan


def install() -> CheckedBuilder:
    """Replaces the interpreter's parts in this process, for good; returns the builder that all
    kernels use.
    """
    builder = CheckedBuilder()
    builder.options = it.InterpreterOptions(debug=True, sanitize_overflow=False)
    it.TritonSemantic = CheckedSemantic
    it.interpreter_builder = builder
    it.interpreter_semantic = CheckedSemantic(builder)
    it.ReduceOps, it.ScanOps = Reduce, Scan
    it._get_np_dtype = np_dtype
    _patch_language_once()
    it.GridExecutor.__call__ = launcher(builder)
    it.InterpretedFunction.__call__ = _call_function
    _order_dependent_launches(builder)
    use_memory(builder, {}, {})
    return builder


def use_memory(
    builder: CheckedBuilder, read_only: Mapping[int, str], poison: Mapping[int, int]
) -> Memory:
    """A fresh memory for one case, see `Memory`; it knows nothing of what ran before."""
    builder.memory = Memory(read_only, poison)
    return builder.memory


def _patch_language_once() -> None:
    """Binds `tl` to the interpreter and leaves it so.

    The interpreter does this at each launch and at each call of a jit'd function, `tl.sum` and
    `tl.cdiv` too, which takes 1.2 ms. The scope that would undo it is dropped.
    """
    it._patch_lang(types.SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    # numpy 2.4 refuses int() of an array with one element, as triton 3.6 writes it.
    tl.core.tensor.__index__ = lambda self: int(self.handle.data.reshape(()))


def _order_dependent_launches(builder: CheckedBuilder) -> None:
    """`gdc_wait` tells the clock. Triton has two copies of the module that an import may find."""
    for cuda in (tl.extra.cuda, importlib.import_module("triton.language.extra.cuda")):
        cuda.gdc_wait = lambda **_: builder.memory.clock.wait()
        cuda.gdc_launch_dependents = lambda **_: None


def _call_function(function: it.InterpretedFunction, *args: object, **options: object) -> object:
    """A jit'd function called from a kernel. What it raises keeps its own traceback."""
    return function.rewrite()(*args, **options)
