"""What becomes of outputs before they are stored: the norm of each head's output, and then a gate on its elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kgen.families.attention.queries import row_dims
from kgen.families.model import Dim, ReadOnce, Tensor

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec


def operands(spec: Spec, outputs: tuple[Dim, ...]) -> Iterator[Tensor]:
    """The tensors that the epilogue reads; `outputs` are the dimensions of the output."""
    document = spec.document
    if document.epilogue.norm != "none":
        what = "a factor for each column"
        yield Tensor("norm_weight", "norm_weight", document.dtypes.q, outputs[-1:], "input", what)
    if document.epilogue.gate != "none":
        what = "what the gate of each output is made from"
        yield Tensor("gate", "gate", document.dtypes.q, outputs, "input", what)


def epilogue_reads(spec: Spec, columns: str) -> Iterator[ReadOnce]:
    """Each element of a gate is read once, beside the output that it is for."""
    if spec.document.epilogue.gate != "none":
        over = {dim.name: dim.extent for dim in (*row_dims(spec), Dim("d", columns))}
        yield ReadOnce("gate", {name: ("0", extent) for name, extent in over.items()}, tuple(over))


def epilogue(spec: Spec) -> Mapping[str, Any]:
    """What a problem says of it: only where there is one, since measurements are filed under all that it says."""
    declared = spec.document.epilogue
    found: dict[str, Any] = {}
    if declared.norm != "none":
        found |= {"norm": declared.norm, "eps": float(declared.eps)}
    if declared.gate != "none":
        found["gate"] = declared.gate
    return {"epilogue": found} if found else {}


def check_epilogue(spec: Spec) -> Iterator[Diagnostic]:
    """A number that nothing would use."""
    declared = spec.document.epilogue
    if declared.norm == "none" and "eps" in declared.model_fields_set:
        yield spec.diagnostic(
            "KG441",
            "epilogue.eps belongs to a norm, and epilogue.norm is none",
            "epilogue",
            "eps",
            hint="write norm: rms, or leave eps out",
        )
