"""Triton's front end, `python -m kgen.prove.frontend_worker`: needs Triton, but no GPU and no compiler behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import triton
from triton._C.libtriton import ir
from triton.compiler import ASTSource, make_backend

from kgen.compile.loading import defer_torch, load
from kgen.compile.standin import gpu_target, stand_in
from kgen.devices import target as find_target
from kgen.worker import serve


def lower(payload: dict, emit: Callable[[dict], None]) -> dict:
    """The TTIR of each of `payload["signatures"]` of the file `payload["source"]` for `payload["target"]`.

    It is the text that Triton compiles from: after inlining and the passes of its first stage. Returns `texts`, for
    each signature `{"text": ...}` or, where Triton refuses it, `{"refused": reason}`.
    """
    return _texts(payload, _ttir)


def assemble(payload: dict, emit: Callable[[dict], None]) -> dict:
    """The same with PTX, or with assembly where the target has no PTX."""
    return _texts(payload, _assembly)


def _texts(payload: dict, make: Callable[..., str]) -> dict:
    path = Path(payload["source"])
    target = find_target(payload["target"])
    with stand_in(target):
        module = load(path, target.name)
        found = (_made(make, module, gpu_target(target), one) for one in payload["signatures"])
        return {"texts": list(found)}


def _made(make: Callable[..., str], module: object, target: object, signature: dict) -> dict:
    try:
        return {"text": make(module, target, signature)}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


def _ttir(module: object, target: object, signature: dict) -> str:
    backend = make_backend(target)
    source = _source(module, signature)
    options = backend.parse_options(_options(signature))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    implementation = backend.get_codegen_implementation(options)
    made = source.make_ir(target, options, implementation, backend.get_module_map(), context)
    stages: dict[str, Callable] = {}
    backend.add_stages(stages, options, source.language)
    return str(stages["ttir"](made, {}))


def _assembly(module: object, target: object, signature: dict) -> str:
    options = _options(signature)
    if signature.get("dependent"):
        options["launch_pdl"] = True
    compiled = triton.compile(_source(module, signature), target=target, options=options)
    return compiled.asm["ptx" if "ptx" in compiled.asm else "amdgcn"]


def _source(module: object, signature: dict) -> ASTSource:
    kernel = getattr(module, signature["function"])
    names = kernel.arg_names
    return ASTSource(
        fn=kernel,
        signature={name: signature["signature"][name] for name in names},
        constexprs=signature["constants"],
        attrs={(names.index(n),): [["tt.divisibility", 16]] for n in signature["divisible_by_16"]},
    )


def _options(signature: dict) -> dict[str, object]:
    return {
        "num_warps": signature["num_warps"],
        "num_stages": signature["num_stages"],
        "enable_fp_fusion": True,
    }


if __name__ == "__main__":
    defer_torch()
    serve({"lower": lower, "assemble": assemble})
