"""Attention over a cache: tensors, axes, and what a variant may cover.

Sizes: B requests, Q query tokens of each, HK KV heads of G query heads, head dimension D (DV of values and outputs,
where the spec has that axis; DR more of queries and keys over latents), PAGES pages of PAGE tokens in a paged cache, CAP
tokens at most in a request, S live tokens of a request (read on the GPU), the last Q of which are the query tokens
themselves; of top-k, CAP indices of a query token, of which S count. WINDOW keys, the token's own included, are visible
where a window is set. Of ragged queries there are T, and Q at most for a request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgen.expr import evaluate, parse
from kgen.families.attention import queries
from kgen.families.attention.cache import (
    TRITON,
    cache_tensors,
    departures,
    operand,
    operand_of_tile,
    reads,
    scale_tensors,
    shape_of,
    value_columns,
)
from kgen.families.attention.epilogue import check_epilogue, epilogue, epilogue_reads, operands
from kgen.families.attention.latents import ROTARY, check_latents
from kgen.families.attention.tables import (
    CAPACITY,
    TABLES,
    check_sparse,
    kind,
    live,
    promised,
    sparse,
    table_tensors,
    values,
)
from kgen.families.attention.scores import check_scores, modifications
from kgen.families.attention.tree import check_tree, tree_bits, tree_mask
from kgen.families.model import (
    DTYPES,
    Accesses,
    Binding,
    Chosen,
    Dim,
    Family,
    Reason,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec


MOST_KEYS = 2**30
"""Positions are 32 bits wide, with room for a window and a tile more."""


def _tensors(spec: Spec) -> tuple[Tensor, ...]:
    document = spec.document
    dtypes = document.dtypes
    rows = queries.row_dims(spec)
    columns = Dim("d", value_columns(spec))
    found = [
        *queries.query_tensors(spec),
        *cache_tensors(spec),
    ]
    found += table_tensors(spec)
    found += [queries.OFFSETS] if queries.ragged(spec) else []
    found += [tree_mask(spec)] if tree_bits(spec) else []
    found += scale_tensors(spec)
    if document.masking.sinks:
        heads = (Dim("h", "HK * G"),)
        found.append(Tensor("sinks", "sinks", "fp32", heads, "input", "a logit beside the scores"))
    found += operands(spec, (*rows, columns))
    found.append(Tensor("out", "out", dtypes.out, (*rows, columns), "output", "attention"))
    if document.interface.lse != "none":
        base = {"base_2": "2", "base_e": "e"}[document.interface.lse]
        empty = "the sink's" if document.masking.sinks else "-inf"
        what = f"logarithm to base {base} of the sum of exponentials, {empty} for an empty row"
        found.append(Tensor("lse", "lse", "fp32", rows, "output", what))
    return tuple(found)


def _scalars(spec: Spec) -> Mapping[str, str]:
    axes = {"window": "WINDOW", "max_q": "Q"}
    return {name: axes[name] for name in spec.document.interface.args if name in axes}


def _choices(spec: Spec) -> frozenset[str]:
    may = {
        "window": "WINDOW" in spec.axes,
        "max_q": queries.ragged(spec) and spec.axes["Q"].const is None,
    }
    return frozenset(name for name, allowed in may.items() if allowed)


def _bindings(spec: Spec) -> tuple[Binding, ...]:
    found = [*queries.bindings(spec)]
    if spec.document.layout.paged:
        found.append(Binding("PAGES", shape_of(spec, "page")))
    found.append(Binding("CAP", CAPACITY.get(kind(spec)) or shape_of(spec, "slot")))
    if "window" in _scalars(spec):
        found.append(Binding("WINDOW", "window"))
    return tuple(found)


def _constants(spec: Spec) -> Mapping[str, tuple[Value, str]]:
    document = spec.document
    axes = spec.axes
    softmax = softmax_scale(spec)
    most = axes["Q"]
    single = most.const == 1 or most.values == (1,)
    found: dict[str, tuple[Value, str]] = {
        "PAGE": (document.layout.page_size, "tokens of a page"),
        "SM_SCALE_LOG2": (softmax * math.log2(math.e), "softmax scale times log2 e"),
        "SOFTCAP": (document.masking.softcap, "bound of scores"),
        "EPS": (float(document.epilogue.eps), "added to the mean square before the root"),
        "HAS_WINDOW": (int(document.masking.window is not None), "a sliding window may be set"),
        "MANY_TOKENS": (int(not single), "a request may have more than one query token"),
        "RAGGED": (int(queries.ragged(spec)), "requests may differ in their query tokens"),
        "SPARSE": (int(sparse(spec)), "each query token has tokens of its own that it sees"),
    }
    if document.masking.window is None:
        found["WINDOW"] = (None, "no sliding window")
    if not queries.ragged(spec):
        found["T"] = (None, "tokens are counted by request")
    if not document.layout.paged:
        found["PAGES"] = (None, "tokens lie side by side")
    if "DV" not in axes:
        found["DV"] = (None, "values are as wide as keys")
    if ROTARY not in axes:
        found[ROTARY] = (None, "no rotary columns behind latents")
    for name, dtype in (("KV", document.dtypes.kv), ("OUT", document.dtypes.out)):
        found[f"{name}_BYTES"] = (DTYPES[dtype][2], "")
    gated = document.epilogue.gate != "none"
    found["GATE_BYTES"] = (DTYPES[document.dtypes.q][2] if gated else 0, "")
    return found


def _features(spec: Spec) -> Mapping[str, Value]:
    document = spec.document
    return {
        "layout.cache": document.layout.cache,
        "layout.kv": document.layout.kv,
        "layout.table": kind(spec),
        "layout.storage": document.layout.storage,
        "layout.queries": document.layout.queries,
        "dtypes.q": document.dtypes.q,
        "dtypes.kv": document.dtypes.kv,
        "dtypes.out": document.dtypes.out,
        "masking.causal": document.masking.causal,
        "masking.sinks": document.masking.sinks,
        "masking.softcap": "none" if document.masking.softcap is None else "number",
        "masking.tree": document.masking.tree,
        "scales.k": document.scales.k,
        "scales.v": document.scales.v,
        "interface.lse": document.interface.lse,
        "epilogue.norm": document.epilogue.norm,
        "epilogue.gate": document.epilogue.gate,
    }


def _check(spec: Spec) -> list[Diagnostic]:
    document = spec.document
    found = []
    window = document.masking.window
    if window not in (None, "WINDOW"):
        found.append(
            spec.diagnostic(
                "KG401",
                f"the window axis is called {window!r}, but kernels know it as WINDOW",
                "masking",
                "window",
                hint="rename the axis to WINDOW",
            )
        )
    elif window == "WINDOW" and "window" not in document.interface.args:
        axis = spec.axes["WINDOW"]
        if axis.values is not None and len(axis.values) != 1:
            found.append(
                spec.diagnostic(
                    "KG402",
                    "WINDOW has several values, but the interface takes no argument to choose one",
                    "interface",
                    "args",
                    hint="add window to interface.args, or give the axis a single value",
                )
            )
    found += [*_check_sizes(spec), *check_scores(spec), *check_tree(spec), *check_epilogue(spec)]
    found += [*check_latents(spec), *check_sparse(spec)]
    if operand(spec) == "bf16" and document.dtypes.kv == "fp16":
        found.append(
            spec.diagnostic(
                "KG403",
                "bf16 operands would round an fp16 cache",
                "dtypes",
                "operand",
                hint="write operand: auto, or fp16",
            )
        )
    if document.layout.kv in ("interleaved", "packed") and value_columns(spec) != "D":
        found.append(
            spec.diagnostic(
                "KG461",
                f"a cache of keys and values that are {document.layout.kv} has equal halves, and DV is not D",
                "layout",
                "kv",
                hint="write kv: separate, or leave the axis DV out",
            )
        )
    if document.layout.storage == "uint8" and not document.dtypes.kv.startswith("fp8"):
        found.append(
            spec.diagnostic(
                "KG430",
                f"a byte holds one fp8 number, and this cache is {document.dtypes.kv}",
                "layout",
                "storage",
                hint="write storage: native, or a cache of fp8_e4m3 or fp8_e5m2",
            )
        )
    return found


def _check_sizes(spec: Spec) -> list[Diagnostic]:
    """Sizes that no kernel of the family can serve."""
    page = spec.document.layout.page_size
    found = []
    capacity = spec.axes["CAP"]
    for value in (capacity.values or (capacity.const,)) if page and not sparse(spec) else ():
        if value is not None and value % page:
            message = f"CAP is {value}, which is no multiple of the page size {page}"
            hint = "a table holds whole pages"
            found.append(spec.diagnostic("KG428", message, "axes", "CAP", hint=hint))
    for value in spec.axes["WINDOW"].values or () if "WINDOW" in spec.axes else ():
        if value is not None and value > MOST_KEYS:
            message = f"a window of {value} keys does not fit the 32 bits that positions have"
            hint = f"write at most {MOST_KEYS}, or none"
            found.append(spec.diagnostic("KG428", message, "axes", "WINDOW", hint=hint))
    if spec.axes["HK"].const * spec.axes["G"].const == 1:
        message = "one query head in all: a tile of rows would have one row"
        hint = "attention is for models with at least two query heads"
        found.append(spec.diagnostic("KG428", message, "axes", "G", hint=hint))
    if page == 1 and spec.axes["PAGES"].const == 1:
        message = "the cache holds one token"
        found.append(spec.diagnostic("KG428", message, "axes", "PAGES", hint="give PAGES a range"))
    return found


def softmax_scale(spec: Spec) -> float:
    """The factor of scores before the softmax, a number once the constant axes are known."""
    declared = spec.document.scales.softmax
    if not isinstance(declared, str):
        return float(declared)
    constants = {axis.name: axis.const for axis in spec.axes.values() if axis.const is not None}
    return float(evaluate(parse(declared), constants))


def _context(spec: Spec) -> Mapping[str, Any]:
    document = spec.document
    used = operand(spec)
    return {
        "kv": document.layout.kv,
        "latent": document.layout.latent,
        "table": kind(spec),
        "sparse": sparse(spec),
        "PAGE": document.layout.page_size,
        "operand": TRITON[used],
        "operand_name": used,
        "cast": operand_of_tile(spec),
        **{
            mode: tuple(name for name in ("k", "v") if getattr(document.scales, name) == mode)
            for mode in ("per_head", "per_token")
        },
        "cast_query": document.dtypes.q != used,
        # fp16 ends at 65504, bf16 does not
        "scaled_query": used == "fp16" and document.dtypes.q == "bf16",
        "lse": document.interface.lse,
        "softcap": document.masking.softcap is not None,
        "tree_bits": tree_bits(spec),
        "log2_e": math.log2(math.e),
        "gate": document.epilogue.gate,
    }


def _problem(spec: Spec) -> Mapping[str, Any]:
    document = spec.document
    return {
        "page": document.layout.page_size,
        "dtypes": {
            "q": document.dtypes.q,
            "kv": document.dtypes.kv,
            "out": document.dtypes.out,
            "operand": operand(spec),
        },
        "softmax": softmax_scale(spec),
        "scales": {"k": document.scales.k, "v": document.scales.v},
        "lse": document.interface.lse,
        "tolerance": document.numerics.tolerance,
        **departures(spec),
        **({"queries": "ragged"} if queries.ragged(spec) else {}),
        **modifications(spec),
        **epilogue(spec),
    }


def _accesses(spec: Spec) -> Accesses:
    """Lengths may be anything; page ids are promised for pages that hold a live token, and nothing of indices of top-k.

    Of a request with LIVE tokens, or a query token with LIVE indices, keys and values of positions FIRST to LIVE - 1 are
    read: those that some query sees, none where there is no query.
    """
    first = Chosen("max(LIVE - TOKENS + 1 - WINDOW, 0)", when="WINDOW != none")
    return Accesses(
        values={**values(spec), **queries.values(spec)},
        let={
            **queries.tokens(spec),
            "LIVE": live(spec),
            "FIRST": first,
            **queries.seen_by_rows(spec),
        },
        contents=(*promised(spec), *queries.promises(spec)),
        reads=(*reads(spec), *epilogue_reads(spec, value_columns(spec))),
    )


def _limits(spec: Spec) -> Mapping[str, tuple[int, int]]:
    return {
        "B": (1, 2**31 - 1),
        "Q": (1, tree_bits(spec) or queries.MOST_OF_A_REQUEST),
        "T": (1, queries.MOST_TOKENS),
        "PAGES": (1, 2**31 - 1),
        "CAP": (1, MOST_KEYS),
        "WINDOW": (1, MOST_KEYS),
    }


FAMILY = Family(
    name="attention",
    tensors=_tensors,
    scalars=_scalars,
    choices=_choices,
    bindings=_bindings,
    constants=_constants,
    keys={
        "PAGE": "layout.page_size",
        "SM_SCALE_LOG2": "scales.softmax",
        "SOFTCAP": "masking.softcap",
        "EPS": "epilogue.eps",
        "HAS_WINDOW": "masking.window",
        "MANY_TOKENS": "axes.Q",
        "RAGGED": "layout.queries",
        "SPARSE": "layout.table",
        "KV_BYTES": "dtypes.kv",
        "OUT_BYTES": "dtypes.out",
        "GATE_BYTES": "epilogue.gate",
    },
    features=_features,
    check=_check,
    context=_context,
    problem=_problem,
    accesses=_accesses,
    limits=_limits,
    optional=frozenset(
        {
            *("q", "q_nope", "q_pe", "k_cache", "v_cache", "kv_cache", "ckv_cache", "kpe_cache"),
            *(*TABLES, "cu_q", "tree_mask"),
            *("k_scale", "v_scale", "sinks", "norm_weight", "gate", "lse"),
        }
    ),
    batch_axes=frozenset({"B", "T", "PAGES", "CAP"}),
    reasons={
        **dict.fromkeys(set(TABLES) - {"seq_lens"}, Reason("layout.table")),
        **dict.fromkeys(("kv_cache", "ckv_cache", "kpe_cache"), Reason("layout.kv")),
        **dict.fromkeys(("q_nope", "q_pe"), Reason("layout.kv")),
        "cu_q": Reason("layout.queries"),
        "tree_mask": Reason("masking.tree"),
        "k_scale": Reason("scales.k", "b_k_scale"),
        "v_scale": Reason("scales.v", "b_v_scale"),
        "sinks": Reason("masking.sinks", "b_sink"),
        "norm_weight": Reason("epilogue.norm", "b_weight"),
        "gate": Reason("epilogue.gate", "b_gate"),
        "lse": Reason("interface.lse"),
    },
)
