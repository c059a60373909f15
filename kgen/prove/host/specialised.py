"""The forms in which Triton compiles a kernel: pinned by its decorator and annotations, whatever a
launch passes.

Left to itself, Triton compiles anew for an integer that is 1 or a multiple of 16, for one that
needs 64 bits, and for a pointer that is a multiple of 16. What was compiled, proved and warmed up
would then not be what runs.
"""

from __future__ import annotations

import ast

from kgen.algebra import Status
from kgen.plan.model import Argument
from kgen.prove.host.answers import Answer, all_hold, refuted
from kgen.prove.host.module import Module
from kgen.render.model import RenderedKernel

_ANNOTATIONS = {
    "pointer": ("",),
    "stride": ("tl.int64",),
    # without an annotation a size is an i32 as long as it fits, which is a fact of its own
    "size": ("tl.int32", ""),
    "constant": ("tl.constexpr",),
}


def specialised(kernel: RenderedKernel, module: Module) -> Answer:
    """Whether a kernel of the file takes its arguments as the plan's signature has them."""
    definition = module.kernels.get(kernel.function)
    if definition is None:
        return refuted(f"the file has no kernel {kernel.function}")
    keywords = module.specialised[kernel.function]
    names = module.parameters(kernel.function)
    pinned = _listed(keywords.get("do_not_specialize"), names)
    aligned = _listed(keywords.get("do_not_specialize_on_alignment"), names)
    if pinned is None or aligned is None:
        return Answer(Status.UNKNOWN, f"the decorator of {kernel.function} lists no plain names")
    annotations = {one.arg: one.annotation for one in definition.args.args}
    answers = []
    for one in kernel.arguments:
        held = one.name in pinned or (one.kind == "pointer" and one.name in aligned)
        answers.append(_annotated(one, kernel, annotations.get(one.name)))
        if one.kind != "constant" and held is one.divisible:
            answers.append(_mismatch(one, kernel, held))
    return all_hold(answers, "do_not_specialize names every other run-time argument")


def _annotated(argument: Argument, kernel: RenderedKernel, annotation: ast.expr | None) -> Answer:
    written = "" if annotation is None else ast.unparse(annotation)
    if written in _ANNOTATIONS[argument.kind]:
        return Answer(Status.PROVED, written)
    what = f"is annotated {written}" if written else "has no annotation"
    wanted = _ANNOTATIONS[argument.kind][0] or "none"
    return refuted(f"{argument.name} of {kernel.function} {what}; the plan has {wanted}")


def _mismatch(argument: Argument, kernel: RenderedKernel, held: bool) -> Answer:
    here = "is not specialised" if held else "is specialised by its value"
    plan = "divisible by 16" if argument.divisible else "any value"
    return refuted(f"{argument.name} of {kernel.function} {here}; the plan has it as {plan}")


def _listed(node: ast.expr | None, names: tuple[str, ...]) -> set[str] | None:
    """Parameters listed by name or position; None for what is no literal."""
    if node is None:
        return set()
    try:
        listed = ast.literal_eval(node)
    except ValueError:
        return None
    return {names[one] if isinstance(one, int) else one for one in listed}
