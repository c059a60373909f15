"""Which tokens are read: how long a request is, and where its pages are listed, in a row of a table or in a part of one
list (CSR); or, for each query token, the tokens themselves (top-k).

An index of top-k names a token by page and place in it, page * PAGE + place. One that names no token is skipped wherever
it stands, and one that stands twice counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kgen.families.attention.queries import ragged
from kgen.families.model import Chosen, Contents, Dim, Lookup, Tensor

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec


def kind(spec: Spec) -> str:
    """`block_table`, `csr`, `topk`, or `none` where tokens lie side by side."""
    layout = spec.document.layout
    return layout.table if layout.paged else "none"


def sparse(spec: Spec) -> bool:
    """Whether each query token has tokens of its own that it sees."""
    return kind(spec) == "topk"


def table_tensors(spec: Spec) -> tuple[Tensor, ...]:
    """The integer tensors of a call."""
    requests = (Dim("b", "B"),)
    if kind(spec) == "csr":
        starts, pages = (Dim("b", "B + 1"),), (Dim("page", "CAP // PAGE"),)
        return (
            _table(
                "kv_indptr", starts, "where the pages of each request begin and those before end"
            ),
            _table(
                "kv_indices", pages, "pages of all requests; those of no request may be anything"
            ),
            _table("kv_last_page_len", requests, "live tokens in the last page of each request"),
        )
    if sparse(spec):
        tokens = (*requests, Dim("t", "Q"))
        what = "token of each entry, page * PAGE + place in it; what is no token is skipped"
        valid = "how many of a query token's indices count, from the first on"
        return (
            _table("indices", (*tokens, Dim("n", "CAP")), what),
            _table("valid_topk", tokens, valid),
        )
    lengths = _table("seq_lens", requests, "live tokens")
    if kind(spec) == "none":
        return (lengths,)
    what = "page of each run of PAGE tokens; entries past the live length may be anything"
    return (_table("block_table", (*requests, Dim("page", "CAP // PAGE")), what), lengths)


def _table(name: str, dims: tuple[Dim, ...], doc: str) -> Tensor:
    return Tensor(name, name, "int32", dims, "input", doc)


TABLES = (
    *("block_table", "seq_lens", "kv_indptr", "kv_indices", "kv_last_page_len"),
    *("indices", "valid_topk"),
)
"""Those that some spec has."""

CAPACITY: Mapping[str, str] = {
    "block_table": "block_table.shape[1] * PAGE",
    "csr": "kv_indices.shape[0] * PAGE",
    "topk": "indices.shape[2]",
}
"""Where the entry finds CAP: a list may belong to one request as a whole, and of top-k it is k."""


def values(spec: Spec) -> Mapping[str, Lookup]:
    """What is read for request b, of top-k for its query token t."""
    if sparse(spec):
        return {"LENGTH": Lookup("valid_topk", ("b", "t"))}
    if kind(spec) != "csr":
        return {"LENGTH": Lookup("seq_lens", ("b",))}
    return {
        "LIST": Lookup("kv_indptr", ("b",)),
        "LIST_END": Lookup("kv_indptr", ("b + 1",)),
        "LAST": Lookup("kv_last_page_len", ("b",)),
    }


def live(spec: Spec) -> Chosen:
    """The live tokens of a request that has queries, whatever is read."""
    when = "TOKENS > 0" if ragged(spec) else "true"
    if kind(spec) != "csr":
        return Chosen("clamp(LENGTH, 0, CAP)", when)
    return Chosen("max((LIST_END - LIST - 1) * PAGE + clamp(LAST, 0, PAGE), 0)", when)


def page_of_token(spec: Spec) -> Mapping[str, Lookup]:
    """The page that token p of request b lies in; of top-k, the token that entry p of query token t names."""
    return {
        "block_table": {"page": Lookup("block_table", ("b", "p // PAGE"))},
        "csr": {"page": Lookup("kv_indices", ("LIST + p // PAGE",))},
        "topk": {"token": Lookup("indices", ("b", "t", "p"))},
        "none": {},
    }[kind(spec)]


IS_A_TOKEN = "token >= 0 and token < PAGES * PAGE"
"""Of an entry of top-k: whether it is read. Nothing else is promised or asked of it."""


def check_sparse(spec: Spec) -> Iterator[Diagnostic]:
    """What cannot be where each query token has tokens of its own."""
    if not sparse(spec):
        return
    layout, masking = spec.document.layout, spec.document.masking
    if not layout.latent:
        yield spec.diagnostic(
            "KG468",
            f"layout.table is topk, and layout.kv is {layout.kv}: indices are of latents, which all query heads share",
            "layout",
            "table",
            hint="write kv: latent or latent_split, or table: block_table",
        )
    if ragged(spec):
        yield spec.diagnostic(
            "KG468",
            "layout.queries is ragged, and indices have a row for each of Q query tokens of a request",
            "layout",
            "queries",
            hint="leave it out, and give all query tokens as requests of one token each",
        )
    for key, value in (("window", masking.window), ("tree", masking.tree)):
        if value not in (None, "none"):
            yield spec.diagnostic(
                "KG468",
                f"masking.{key} goes by where keys stand, and indices say which tokens are seen, not where these stand",
                "masking",
                key,
                hint="leave it out, and leave out of the indices what is not to be seen",
            )


def promised(spec: Spec) -> tuple[Contents, ...]:
    """Page ids are those of pages where a live token needs them; lists lie within all that is listed."""
    if kind(spec) == "block_table":
        return (Contents("block_table", "0", "PAGES - 1", "page * PAGE < LIVE"),)
    if kind(spec) == "csr":
        within = "0 <= page * PAGE and page * PAGE < LIVE"
        return (
            Contents("kv_indptr", "0", "CAP // PAGE"),
            Contents("kv_indices", "0", "PAGES - 1", within, first="LIST"),
        )
    return ()
