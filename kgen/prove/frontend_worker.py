"""Triton's front end, `python -m kgen.prove.frontend_worker`: needs Triton, but no GPU and no compiler behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from triton._C.libtriton import ir
from triton.compiler import ASTSource, make_backend

from kgen.compile.loading import load
from kgen.compile.standin import gpu_target, stand_in
from kgen.devices import target as find_target
from kgen.worker import serve


def lower(payload: dict, emit: Callable[[dict], None]) -> dict:
    """The TTIR of each of `payload["signatures"]` of the file `payload["source"]` for `payload["target"]`.

    It is the text that Triton compiles from: after inlining and the passes of its first stage. Returns `texts`, for
    each signature `{"text": ...}` or, where Triton refuses it, `{"refused": reason}`.
    """
    path = Path(payload["source"])
    target = find_target(payload["target"])
    with stand_in(target):
        module = load(path, target.name)
        backend = make_backend(gpu_target(target))
        return {
            "texts": [
                _lowered(module, backend, gpu_target(target), one) for one in payload["signatures"]
            ]
        }


def _lowered(module: object, backend: object, target: object, signature: dict) -> dict:
    try:
        return {"text": _ttir(module, backend, target, signature)}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


def _ttir(module: object, backend: object, target: object, signature: dict) -> str:
    kernel = getattr(module, signature["function"])
    names = kernel.arg_names
    source = ASTSource(
        fn=kernel,
        signature={name: signature["signature"][name] for name in names},
        constexprs=signature["constants"],
        attrs={(names.index(n),): [["tt.divisibility", 16]] for n in signature["divisible_by_16"]},
    )
    options = backend.parse_options(
        {
            "num_warps": signature["num_warps"],
            "num_stages": signature["num_stages"],
            "enable_fp_fusion": True,
        }
    )
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    implementation = backend.get_codegen_implementation(options)
    made = source.make_ir(target, options, implementation, backend.get_module_map(), context)
    stages: dict[str, Callable] = {}
    backend.add_stages(stages, options, source.language)
    return str(stages["ttir"](made, {}))


if __name__ == "__main__":
    serve({"lower": lower})
