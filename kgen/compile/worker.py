"""The compiling end, `python -m kgen.compile.worker`: needs Triton, but no GPU."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel, make_backend
from triton.runtime.jit import JITFunction

from kgen.compile.amdgcn import read_amdgcn
from kgen.compile.cubin import read_cubin, read_ptxas_log
from kgen.compile.instructions import count_amdgcn, count_ptx
from kgen.compile.job import Constant, Job
from kgen.compile.loading import defer_torch, load
from kgen.compile.refusal import explain
from kgen.compile.resources import Resources
from kgen.compile.standin import gpu_target, stand_in
from kgen.compile.versions import ask_version
from kgen.devices import target as find_target
from kgen.worker import serve

_REGISTER_BYTES = 4


def compile_job(payload: dict, emit: Callable[[dict], None]) -> dict:
    """Compiles `payload["job"]`; what Triton's passes and tools print goes to the file
    `payload["log"]`.

    Returns `resources`, as `Resources.as_json` gives them, `compiled` or, if importing the file or
    compiling the kernel raised, `refused`; and whether they are `recordable`: the same compiler
    would find the same in the text of this kernel alone. The failure of an import may be another
    kernel's fault, or the environment's.
    """
    job, log = Job.from_json(payload["job"]), Path(payload["log"])
    path = job.source.resolve()
    target = find_target(job.target)
    with stand_in(target), _descriptors_to(log):
        try:
            functions = _functions(load(path, job.target))
        except Exception as error:
            reason, line = explain(error, path, {}, log.read_text(errors="replace"))
            message = f"the file can't be imported: {reason}"
            return {
                "resources": Resources("refused", message=message, line=line).as_json(),
                "recordable": False,
            }
        found = _attempt(job, path, functions, gpu_target(target), log)
    versions = _versions(gpu_target(target))
    return {
        "resources": dataclasses.replace(found, versions=versions).as_json(),
        "recordable": True,
    }


def _attempt(
    job: Job, path: Path, functions: dict[str, JITFunction], target: GPUTarget, log: Path
) -> Resources:
    """Compiles within a stand-in's block, and takes the time."""
    printed = io.StringIO()
    started = time.monotonic()
    try:
        with contextlib.redirect_stdout(printed):
            kernel = _compile(_kernel(functions, job), job, target)
    except Exception as error:
        said = printed.getvalue() + log.read_text(errors="replace")
        reason, line = explain(error, path, functions, said)
        found = Resources("refused", message=reason, line=line)
    else:
        found = _measure(kernel, printed.getvalue(), target)
    return dataclasses.replace(found, seconds=round(time.monotonic() - started, 3))


def _functions(module: ModuleType) -> dict[str, JITFunction]:
    """The kernels and helpers that a file defines."""
    return {name: f for name, f in vars(module).items() if isinstance(f, JITFunction)}


def _kernel(functions: dict[str, JITFunction], job: Job) -> JITFunction:
    """The job's kernel, whose parameters are those of its signature."""
    if job.function not in functions:
        known = ", ".join(functions) or "none"
        raise LookupError(f"the file has no kernel {job.function}; its kernels are {known}")
    kernel = functions[job.function]
    constants = {name for name, kind in job.signature.items() if kind == "constexpr"}
    if set(kernel.arg_names) != set(job.signature) or constants != set(job.constants):
        given, fixed = ", ".join(job.signature), ", ".join(job.constants)
        raise ValueError(
            f"the signature ({given}) with constants ({fixed}) doesn't fit "
            f"{job.function}({', '.join(kernel.arg_names)})"
        )
    if not set(job.divisible_by_16) <= set(job.signature) - constants:
        raise ValueError(f"divisible_by_16 names no run-time argument: {job.divisible_by_16}")
    return kernel


def _compile(kernel: JITFunction, job: Job, target: GPUTarget) -> CompiledKernel:
    """Compiles, whatever Triton's own cache has, so that ptxas's log is printed."""
    names = kernel.arg_names
    source = ASTSource(
        fn=kernel,
        signature={name: job.signature[name] for name in names},
        constexprs={name: _constant(value) for name, value in job.constants.items()},
        attrs={(names.index(n),): [["tt.divisibility", 16]] for n in job.divisible_by_16},
    )
    with triton.knobs.nvidia.scope(), triton.knobs.compilation.scope():
        triton.knobs.nvidia.dump_ptxas_log = True
        triton.knobs.compilation.always_compile = True
        return triton.compile(source, target=target, options=_options(job, target))


def _options(job: Job, target: GPUTarget) -> dict[str, Constant]:
    """Compile options; Triton ignores those that it doesn't know, this refuses them."""
    # Fusing multiply and add is Triton's default up to 3.9, which warns that 3.10 changes it: so it
    # is said.
    options = {"num_warps": job.num_warps, "num_stages": job.num_stages, "enable_fp_fusion": True}
    options |= job.options
    known = {field.name for field in dataclasses.fields(make_backend(target).parse_options({}))}
    if unknown := sorted(set(options) - known):
        raise ValueError(f"Triton has no compile option {', '.join(unknown)} for {job.target}")
    return options


def _constant(value: Constant) -> object:
    """The value that the kernel sees: `tl.float16` for the string of that name."""
    if isinstance(value, str) and value.startswith("tl."):
        return getattr(tl, value.removeprefix("tl."))
    return value


def _measure(kernel: CompiledKernel, printed: str, target: GPUTarget) -> Resources:
    return _measure_amd(kernel) if target.backend == "hip" else _measure_cuda(kernel, printed)


def _measure_cuda(kernel: CompiledKernel, printed: str) -> Resources:
    """From ptxas's log; from the cubin if there is none, where spills stay unknown."""
    numbers = read_ptxas_log(printed)
    if numbers is None:
        numbers = read_cubin(kernel.asm["cubin"], kernel.metadata.name)
    spills = {k: numbers[k] for k in ("spill_store_bytes", "spill_load_bytes") if k in numbers}
    return Resources(
        "compiled",
        registers=numbers["registers"],
        stack_bytes=numbers["stack_bytes"],
        spill_bytes=sum(spills.values()) if spills else None,
        shared_bytes=kernel.metadata.shared,
        tmem_columns=kernel.metadata.tmem_size,
        details=spills,
        instructions=count_ptx(kernel.asm["ptx"]),
    )


def _measure_amd(kernel: CompiledKernel) -> Resources:
    assembly = kernel.asm["amdgcn"]
    numbers = read_amdgcn(assembly)
    return Resources(
        "compiled",
        registers=numbers["registers"],
        stack_bytes=numbers["stack_bytes"],
        spill_bytes=_REGISTER_BYTES * numbers["vgpr_spills"],
        shared_bytes=kernel.metadata.shared,
        tmem_columns=0,
        details={k: numbers[k] for k in ("agprs", "sgprs", "vgpr_spills", "sgpr_spills")},
        instructions=count_amdgcn(assembly),
    )


@functools.cache
def _versions(target: GPUTarget) -> dict[str, str]:
    """Of Triton, and of the ptxas that it takes for the target."""
    versions = {"triton": triton.__version__}
    if target.backend == "cuda":
        from triton.backends.nvidia.compiler import get_ptxas

        versions["ptxas"] = ask_version(Path(get_ptxas(target.arch).path))
    return versions


@contextlib.contextmanager
def _descriptors_to(log: Path) -> Iterator[None]:
    """Sends what C++ and subprocesses print to a file, which outlives a crash."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        for descriptor, copy in zip((1, 2), saved):
            os.dup2(copy, descriptor)
            os.close(copy)


if __name__ == "__main__":
    defer_torch()
    serve({"compile": compile_job})
