"""How queries and results lie in memory: a row of tokens for each request, or all requests' tokens one behind the other.

Ragged queries are [T, query heads, D]: request b has those from `cu_q[b]` on, up to `cu_q[b + 1]`, at most Q of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgen.families.attention.latents import ROTARY, key_columns, split
from kgen.families.model import Binding, Chosen, Contents, Dim, Lookup, Tensor

if TYPE_CHECKING:
    from kgen.spec import Spec

MOST_TOKENS = 2**30
"""Offsets of tokens are 32 bits wide, with room for a tile more."""

MOST_OF_A_REQUEST = 4096

OFFSETS = Tensor(
    "cu_q",
    "cu_q",
    "int32",
    (Dim("b", "B + 1"),),
    "input",
    "first query token of each request, and T; none is less than the one before it",
)


def ragged(spec: Spec) -> bool:
    return spec.document.layout.queries == "ragged"


def row_dims(spec: Spec) -> tuple[Dim, ...]:
    """The dimensions of q and of results, all but the columns."""
    heads = Dim("h", "HK * G")
    return (Dim("t", "T"), heads) if ragged(spec) else (Dim("b", "B"), Dim("t", "Q"), heads)


def query_tensors(spec: Spec) -> tuple[Tensor, ...]:
    """The queries, in a tensor or two: like keys, whose columns they have."""
    parts = (("q", key_columns(spec), "queries"),)
    if split(spec):
        parts = (
            ("q_nope", "D", "latent columns of queries"),
            ("q_pe", ROTARY, "rotary columns of queries"),
        )
    kind, rows = spec.document.dtypes.q, row_dims(spec)
    return tuple(
        Tensor(name, name, kind, (*rows, Dim("d", columns)), "input", doc)
        for name, columns, doc in parts
    )


def bindings(spec: Spec) -> tuple[Binding, ...]:
    """Where the entry finds how many requests and tokens there are."""
    q = query_tensors(spec)[0].name
    if not ragged(spec):
        return Binding("B", f"{q}.shape[0]"), Binding("Q", f"{q}.shape[1]")
    requests = "kv_last_page_len" if spec.document.layout.table == "csr" else "seq_lens"
    found = (Binding("B", f"{requests}.shape[0]"), Binding("T", f"{q}.shape[0]"))
    return (*found, Binding("Q", "max_q")) if "max_q" in spec.document.interface.args else found


def values(spec: Spec) -> Mapping[str, Lookup]:
    """What is read from tensors to know a request's tokens."""
    if not ragged(spec):
        return {}
    return {"START": Lookup("cu_q", ("b",)), "END": Lookup("cu_q", ("b + 1",))}


def tokens(spec: Spec) -> Mapping[str, Chosen]:
    """TOKENS of a request, as kernels count them: offsets are held within T, and no request has more than Q."""
    if not ragged(spec):
        return {"TOKENS": Chosen("Q")}
    held = "max(min(END, T) - clamp(START, 0, T), 0)"
    return {"TOKENS": Chosen(f"min({held}, Q)")}


def seen_by_rows(spec: Spec) -> Mapping[str, Chosen]:
    """The keys that some of a program's query rows see, where it has ROWS of its own from ROW on: row r is of token r // G,
    and the last token sees all live keys. Tiles cover rows that a ragged request may not have; such a tile sees nothing.
    """
    first, has_rows = "ROW // G", "true"
    if ragged(spec):
        first, has_rows = "min(ROW // G, TOKENS - 1)", "ROW < TOKENS * G"
    return {
        "TOKEN": Chosen(first),
        "TOKEN_END": Chosen("min(ceil_div(ROW + ROWS, G), TOKENS)"),
        "SEEN_FROM": Chosen("max(LIVE - TOKENS + TOKEN + 1 - WINDOW, 0)", when="WINDOW != none"),
        "SEEN_TO": Chosen("max(LIVE - TOKENS + TOKEN_END, 0)", when=has_rows),
    }


def promises(spec: Spec) -> tuple[Contents, ...]:
    return (Contents("cu_q", "0", "T", rising=True, steps="Q"),) if ragged(spec) else ()
