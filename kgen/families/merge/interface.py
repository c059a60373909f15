"""Merging partial states of attention: N of them for each query token and head.

A state is the output over some of the keys and the log-sum-exp of its scores. The merged output is that over all keys:
sum of exp(lse_n - LSE) * out_n, where LSE, the log-sum-exp of all, is that of the states'. A state of no keys has an LSE of
-inf, and nothing of its output is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgen.families.model import DTYPES, Accesses, Binding, Dim, Family, ReadOnce, Tensor, Value

if TYPE_CHECKING:
    from kgen.spec import Spec

ORDERS: Mapping[str, tuple[str, ...]] = {
    "states_first": ("n", "t", "h", "d"),
    "tokens_first": ("t", "n", "h", "d"),
}
"""The order of the dimensions of parts, in memory and in a call."""
EXTENTS = {"n": "N", "t": "T", "h": "H", "d": "D"}


def _dims(names: tuple[str, ...]) -> tuple[Dim, ...]:
    return tuple(Dim(name, EXTENTS[name]) for name in names)


def _tensors(spec: Spec) -> tuple[Tensor, ...]:
    document = spec.document
    order, rows = ORDERS[document.states.order], ("t", "h")
    base = {"base_2": "2", "base_e": "e"}[document.states.lse]
    told = f"logarithm to base {base} of the sum of exponentials"
    found = [
        Tensor("parts", "parts", document.dtypes.parts, _dims(order), "input", "outputs of states"),
        Tensor("lse", "lse", "fp32", _dims(order[:-1]), "input", f"{told}, of states"),
        Tensor("out", "out", document.dtypes.out, _dims((*rows, "d")), "output", "all of them"),
    ]
    if "merged_lse" in document.interface.returns:
        what = f"{told}, of all; -inf where no state has keys"
        found.append(Tensor("merged_lse", "merged_lse", "fp32", _dims(rows), "output", what))
    return tuple(found)


def _bindings(spec: Spec) -> tuple[Binding, ...]:
    order = ORDERS[spec.document.states.order]
    return tuple(Binding(EXTENTS[one], f"parts.shape[{order.index(one)}]") for one in ("n", "t"))


def _constants(spec: Spec) -> Mapping[str, tuple[Value, str]]:
    dtypes = spec.document.dtypes
    return {
        "PARTS_BYTES": (DTYPES[dtypes.parts][2], ""),
        "OUT_BYTES": (DTYPES[dtypes.out][2], ""),
    }


def _features(spec: Spec) -> Mapping[str, Value]:
    document = spec.document
    return {
        "states.order": document.states.order,
        "states.lse": document.states.lse,
        "dtypes.parts": document.dtypes.parts,
        "dtypes.out": document.dtypes.out,
    }


def _problem(spec: Spec) -> Mapping[str, Any]:
    document = spec.document
    return {
        "order": list(ORDERS[document.states.order]),
        "lse": document.states.lse,
        "dtypes": {"parts": document.dtypes.parts, "out": document.dtypes.out},
        "tolerance": document.numerics.tolerance,
    }


def _accesses(spec: Spec) -> Accesses:
    """Every state is read once, empty ones too: which these are is in what is read."""
    order = ORDERS[spec.document.states.order]
    return Accesses(
        reads=tuple(
            ReadOnce(name, {one: ("0", EXTENTS[one]) for one in dims}, dims)
            for name, dims in (("parts", order), ("lse", order[:-1]))
        )
    )


FAMILY = Family(
    name="merge",
    tensors=_tensors,
    scalars=lambda spec: {},
    choices=lambda spec: frozenset(),
    bindings=_bindings,
    constants=_constants,
    keys={"PARTS_BYTES": "dtypes.parts", "OUT_BYTES": "dtypes.out"},
    features=_features,
    check=lambda spec: [],
    context=lambda spec: {"lse": spec.document.states.lse},
    problem=_problem,
    accesses=_accesses,
    limits=lambda spec: {"T": (1, 2**31 - 1), "N": (1, 2**20)},
    optional=frozenset({"merged_lse"}),
    batch_axes=frozenset({"T"}),
)
