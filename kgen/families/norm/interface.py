"""Operations on rows: T rows of H elements, each row on its own.

`norm.op: rms` is built in. Any other operation states what it computes as a formula over the row `x`, `weight`, `EPS`
and `H`, with row reductions (`sum`, `mean`, `max`, `min`) and elementwise functions; the formula, evaluated in fp64,
is what tests compare with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgen.families.model import DTYPES, Accesses, Binding, Dim, Family, ReadOnce, Tensor, Value

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec

WHOLE_ROWS = ReadOnce("x", {"t": ("0", "T"), "h": ("0", "H")}, ("t", "h"), passes=True)
FORMULAS = {"rms": "x * rsqrt(mean(x * x) + EPS) * weight"}


def formula(spec: Spec) -> str:
    """What the operation computes for a row; a missing weight counts as 1."""
    return spec.document.norm.formula or FORMULAS[spec.document.norm.op]


def _tensors(spec: Spec) -> tuple[Tensor, ...]:
    dtypes = spec.document.dtypes
    rows = (Dim("t", "T"), Dim("h", "H"))
    found = [Tensor("x", "x", dtypes.x, rows, "input", "rows")]
    if dtypes.weight != "none":
        found.append(
            Tensor("weight", "weight", dtypes.weight, rows[1:], "input", "a factor for each column")
        )
    found.append(Tensor("out", "out", dtypes.out, rows, "output", "rows, each normalised"))
    return tuple(found)


def _scalars(spec: Spec) -> Mapping[str, str]:
    return {}


def _bindings(spec: Spec) -> tuple[Binding, ...]:
    return (Binding("T", "x.shape[0]"), Binding("H", "x.shape[1]"))


def _constants(spec: Spec) -> Mapping[str, tuple[Value, str]]:
    dtypes = spec.document.dtypes
    return {
        "EPS": (float(spec.document.norm.eps), "added to the mean square before the root"),
        "X_BYTES": (DTYPES[dtypes.x][2], ""),
        "OUT_BYTES": (DTYPES[dtypes.out][2], ""),
    }


def _features(spec: Spec) -> Mapping[str, Value]:
    dtypes = spec.document.dtypes
    return {
        "norm.op": spec.document.norm.op,
        "dtypes.x": dtypes.x,
        "dtypes.weight": dtypes.weight,
        "dtypes.out": dtypes.out,
    }


def _check(spec: Spec) -> list[Diagnostic]:
    return []


def _context(spec: Spec) -> Mapping[str, Any]:
    return {}


def _problem(spec: Spec) -> Mapping[str, Any]:
    dtypes = spec.document.dtypes
    return {
        "formula": formula(spec),
        "eps": float(spec.document.norm.eps),
        "dtypes": {"x": dtypes.x, "weight": dtypes.weight, "out": dtypes.out},
        "tolerance": spec.document.numerics.tolerance,
    }


FAMILY = Family(
    name="norm",
    tensors=_tensors,
    scalars=_scalars,
    choices=lambda spec: frozenset(),
    bindings=_bindings,
    constants=_constants,
    keys={"EPS": "norm.eps", "X_BYTES": "dtypes.x", "OUT_BYTES": "dtypes.out"},
    features=_features,
    check=_check,
    context=_context,
    problem=_problem,
    accesses=lambda spec: Accesses(reads=(WHOLE_ROWS,)),
    limits=lambda spec: {"T": (1, 2**31 - 1), "H": (1, 2**30)},
    optional=frozenset({"weight"}),
)
