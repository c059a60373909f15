"""How a key/value cache lies in memory, and what its elements become in a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgen.families.attention.latents import ROTARY, key_columns, split
from kgen.families.attention.tables import IS_A_TOKEN, kind, page_of_token, sparse
from kgen.families.model import Dim, ReadOnce, Tensor

if TYPE_CHECKING:
    from kgen.spec import Spec

TRITON: Mapping[str, str] = {
    **{"bf16": "tl.bfloat16", "fp16": "tl.float16"},
    **{"fp8_e4m3": "tl.float8e4nv", "fp8_e5m2": "tl.float8e5"},
}
"""Types as kernels write them."""

CACHE_DIMS: Mapping[str, tuple[str, ...]] = {
    "paged_nhd": ("page", "slot", "h", "d"),
    "paged_hnd": ("page", "h", "slot", "d"),
    "contiguous_nhd": ("b", "slot", "h", "d"),
    "contiguous_hnd": ("b", "h", "slot", "d"),
}
"""The order of a cache's dimensions in memory: all that tells the layouts apart, since strides are arguments."""


def cache_tensors(spec: Spec) -> tuple[Tensor, ...]:
    """The tensors that hold keys and values."""
    layout, kind = spec.document.layout, stored(spec)
    if layout.kv in ("separate", "latent_split"):
        return tuple(
            Tensor(f"{short}_cache", short, kind, cache_dims(spec, columns), "input", doc)
            for short, columns, doc in _apart(spec)
        )
    if layout.kv == "latent":
        dims, doc = cache_dims(spec, key_columns(spec)), "latents, with rotary columns behind each"
    elif layout.kv == "packed":
        dims, doc = cache_dims(spec, "2 * D"), "keys, with the values behind each"
    else:
        first, *rest = cache_dims(spec, "D")
        dims, doc = (first, Dim("half", "2"), *rest), "keys and values"
    return (Tensor("kv_cache", "kv", kind, dims, "input", doc),)


def _apart(spec: Spec) -> tuple[tuple[str, str, str], ...]:
    """Two tensors of a cache: their short names, columns, and what they hold."""
    if split(spec):
        return ("ckv", "D", "latents"), ("kpe", ROTARY, "rotary columns of keys")
    return ("k", "D", "keys"), ("v", value_columns(spec), "values")


def scale_tensors(spec: Spec) -> tuple[Tensor, ...]:
    """The tensors that hold scales of keys and values; those of tokens lie like a cache without its columns."""
    modes = {"k_scale": spec.document.scales.k, "v_scale": spec.document.scales.v}
    dims = {
        "per_tensor": (),
        "per_head": (Dim("h", "HK"),),
        "per_token": tuple(dim for dim in cache_dims(spec, "D") if dim.name != "d"),
    }
    what = {"k_scale": "factor of every stored key", "v_scale": "factor of every stored value"}
    if spec.document.layout.latent:
        what["k_scale"] = "factor of every stored key, and so of every value"
    return tuple(
        Tensor(name, name, "fp32", dims[mode], "input", what[name])
        for name, mode in modes.items()
        if mode != "none"
    )


def reads(spec: Spec) -> tuple[ReadOnce, ...]:
    """What is read exactly once: all that is stored for the tokens that some query sees."""
    own = {"t": ("0", "Q")} if sparse(spec) else {}
    over = {"b": ("0", "B"), **own, "h": ("0", "HK"), "p": ("FIRST", "LIVE")}
    if split(spec):
        del over["h"]
    pages = page_of_token(spec)
    at = {"page": "page", "slot": "p % PAGE"} if spec.document.layout.paged else {"slot": "p"}
    if sparse(spec):
        at = {"page": "token // PAGE", "slot": "token % PAGE"}
    return tuple(
        ReadOnce(
            tensor.name,
            over | {dim.name: ("0", dim.extent) for dim in tensor.dims if dim.name in _PARTS},
            tuple(at.get(dim.name, dim.name) for dim in tensor.dims),
            pages,
            where=IS_A_TOKEN if sparse(spec) else "true",
            seen={"p": ("SEEN_FROM", "SEEN_TO")},
        )
        for tensor in (*cache_tensors(spec), *scale_tensors(spec))
        if len(tensor.dims) > 1
    )


_PARTS = ("half", "d")
"""The dimensions of a cache within a token and KV head."""


def cache_dims(spec: Spec, columns: str) -> tuple[Dim, ...]:
    """The dimensions of a cache, in order: a contiguous one has a slot for each token that a request can hold.

    Split latents have none for KV heads.
    """
    layout = spec.document.layout
    slots = "PAGE" if layout.paged else "CAP"
    extents = {"b": "B", "page": "PAGES", "slot": slots, "h": "HK", "d": columns}
    names = (name for name in CACHE_DIMS[layout.cache] if name != "h" or not split(spec))
    return tuple(Dim(name, extents[name]) for name in names)


def shape_of(spec: Spec, dim: str) -> str:
    """Where the entry finds the extent of a cache's dimension."""
    cache = cache_tensors(spec)[0]
    return f"{cache.name}.shape[{[one.name for one in cache.dims].index(dim)}]"


def stored(spec: Spec) -> str:
    """The dtype of the tensors that hold the cache: its own, or that of bytes."""
    document = spec.document
    return document.dtypes.kv if document.layout.storage == "native" else document.layout.storage


def value_columns(spec: Spec) -> str:
    """The axis that says how wide values and outputs are: D, unless the spec has one of their own."""
    return "DV" if "DV" in spec.axes else "D"


def operand(spec: Spec) -> str:
    """The dtype that products are computed from: fp16 for fp8 caches, because it holds each of their values exactly."""
    declared = spec.document.dtypes.operand
    if declared != "auto":
        return declared
    return "bf16" if spec.document.dtypes.kv == "bf16" else "fp16"


def operand_of_tile(spec: Spec) -> str:
    """What follows a loaded tile to make it an operand: bytes are taken for the numbers that they are, and these widened."""
    kv, used = spec.document.dtypes.kv, operand(spec)
    taken = "" if stored(spec) == kv else f".to({TRITON[kv]}, bitcast=True)"
    return taken + ("" if kv == used else f".to({TRITON[used]})")


def departures(spec: Spec) -> Mapping[str, Any]:
    """What differs from a cache of tokens first and of its own type: only then, since measurements are filed under all
    that a problem says.
    """
    layout = spec.document.layout
    found: dict[str, Any] = {}
    if layout.cache != "paged_nhd":
        found["cache"] = list(CACHE_DIMS[layout.cache])
    if layout.storage != "native":
        found["stored"] = stored(spec)
    if layout.kv != "separate":
        found["kv"] = layout.kv
    if kind(spec) in ("csr", "topk"):
        found["table"] = kind(spec)
    return found
