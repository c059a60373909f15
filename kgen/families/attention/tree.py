"""Draft tokens that are a tree: which of them each one sees is said by bits, not by their order.

Bit j of `tree_mask` for a query token says that it sees query token j of its request; its own bit is one of them. Keys
before the query tokens are seen by all of these. A window counts them from the row's place, which is behind the draft
tokens that it sees: where these are its ancestors and itself, that is where it stands once they are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgen.expr import Number, fold
from kgen.families.attention import queries
from kgen.families.model import Tensor

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec


def tree_bits(spec: Spec) -> int:
    """Bits of a token's mask, and so the most draft tokens of a request; 0 without a tree."""
    return {"none": 0, "int32": 32, "int64": 64}[spec.document.masking.tree]


def tree_mask(spec: Spec) -> Tensor:
    """[B, Q], or [T] where queries are ragged."""
    *tokens, _ = queries.row_dims(spec)
    what = "a bit for each query token of the request that the token sees, itself included"
    return Tensor(
        "tree_mask", "tree_mask", spec.document.masking.tree, tuple(tokens), "input", what
    )


def check_tree(spec: Spec) -> Iterator[Diagnostic]:
    """A tree of one token, and one with more tokens than bits."""
    bits = tree_bits(spec)
    if not bits:
        return
    least, most = _ends(spec)
    if least == 1:
        yield spec.diagnostic(
            "KG442",
            "a request may have one query token, which is no tree",
            "masking",
            "tree",
            hint="give Q values from 2 on, and a spec without `tree` for one token",
        )
    if most > bits:
        wider = "write `tree: int64`, or " if bits == 32 and most <= 64 else ""
        yield spec.diagnostic(
            "KG443",
            f"a request may have {most} query tokens, and a tree_mask of {spec.document.masking.tree} has {bits} bits",
            "masking",
            "tree",
            hint=f"{wider}give Q at most {bits}",
        )


def _ends(spec: Spec) -> tuple[int, int]:
    """The least and the largest number of query tokens; the family's own where a bound depends on other axes."""
    axis = spec.axes["Q"]
    listed = axis.values or (axis.const,)
    if axis.low is None or axis.high is None:
        return min(listed), max(listed)
    low, high = fold(axis.low, {}), fold(axis.high, {})
    least = low.value if isinstance(low, Number) else 1
    return least, high.value if isinstance(high, Number) else queries.MOST_OF_A_REQUEST
