"""Specs of attention over a key/value cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from kgen.diagnostics import Diagnostic
from kgen.expr import SIZE_FUNCTIONS, suggestion
from kgen.spec.checks import missing_axis
from kgen.spec.common import Interface, Numerics, Slot, SpecModel
from kgen.spec.draft import Draft
from kgen.spec.fields import Model, Softcap, checked
from kgen.spec.origin import Origin
from kgen.spec.problem import describe, problem


class AttentionInterface(Interface):
    """How the generated attention is called."""

    lse: Literal["none", "base_2", "base_e"] = Field(
        "none", description="Whether the log-sum-exp of each row is returned, and its base."
    )


_PAGE_SIZE = WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 65536})


class Layout(Model):
    """How the cache lies in memory."""

    cache: Literal["paged_nhd", "paged_hnd", "contiguous_nhd", "contiguous_hnd"] = Field(
        description="[pages, page size, KV heads, head dimension], or with KV heads before the page size;"
        " contiguous: requests and their tokens in place of pages and the page size.",
        examples=["paged_nhd"],
    )
    page_size: Annotated[Annotated[int, Field(ge=1, le=65536)] | None, _PAGE_SIZE] = Field(
        None, description="Tokens in a page, where there are pages.", examples=[1]
    )
    kv: Literal["separate", "interleaved", "packed", "latent", "latent_split"] = Field(
        "separate",
        description="Keys and values in a tensor each; in one with a dimension of 2 behind the first, keys then"
        " values; or in one of twice the head dimension, the values of a token behind its keys. Latents (MLA): keys"
        " whose first columns are the values too, with rotary columns behind, or those in a tensor of their own.",
    )
    queries: Literal["batched", "ragged"] = Field(
        "batched",
        description="Whether all requests have the same number of query tokens, or each its own: `cu_q` says which.",
    )
    storage: Literal["native", "uint8"] = Field(
        "native",
        description="Whether the cache's tensors have the type of `dtypes.kv`, or hold its bytes.",
    )
    table: Literal["block_table", "csr", "topk"] = Field(
        "block_table",
        description="[requests, pages of a request] page numbers; or those of all requests one behind the other,"
        " with where each begins and how full its last page is; or for each query token the tokens that it sees.",
    )

    @property
    def paged(self) -> bool:
        """Whether tokens lie in pages that a table lists."""
        return self.cache.startswith("paged")

    @property
    def latent(self) -> bool:
        """Whether the values are columns of the keys."""
        return self.kv.startswith("latent")


class AttentionDtypes(Model):
    """Types of what is read, computed with and written."""

    q: Literal["bf16", "fp16", "fp32"] = Field(description="Queries.", examples=["bf16"])
    kv: Literal["bf16", "fp16", "fp8_e4m3", "fp8_e5m2"] = Field(
        description="The cache.", examples=["fp8_e4m3"]
    )
    out: Literal["bf16", "fp16", "fp32"] = Field(description="The result.", examples=["bf16"])
    operand: Literal["auto", "bf16", "fp16"] = Field(
        "auto", description="Operands of the matrix products."
    )
    accumulate: Literal["fp32"] = Field("fp32", description="Sums.")


def _window(value: object) -> str | None:
    if value == "none":
        return None
    if not isinstance(value, str):
        raise problem(
            "KG203",
            f"expected the name of an axis or `none`, found {describe(value)}",
            "declare an axis, such as `WINDOW: {values: [none, 4096]}`, and write `window: WINDOW`",
        )
    return value


class Masking(Model):
    """Which keys a query sees, and how scores are changed."""

    causal: bool = Field(description="A query sees no later token.", examples=[True])
    window: Annotated[str | None, *checked(_window, {"type": "string"})] = Field(
        None, description="The axis that holds the sliding window's length, or `none`."
    )
    sinks: bool = Field(False, description="A learned logit for each head joins the softmax.")
    softcap: Softcap = Field(None, description="Scores become softcap * tanh(score / softcap).")
    tree: Literal["none", "int32", "int64"] = Field(
        "none",
        description="The type of `tree_mask`, which has a bit for each query token that a query token sees; or"
        " `none`, where it sees those before it.",
    )


def _softmax_scale(value: object) -> str | float:
    if isinstance(value, str) or (
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    ):
        return value
    raise problem(
        "KG203",
        f"expected a number or an expression over constant axes, found {describe(value)}",
        "write for example `1/sqrt(D)`",
    )


class Scales(Model):
    """Factors of scores, keys and values."""

    softmax: Annotated[
        str | int | float, *checked(_softmax_scale, {"type": ["number", "string"]})
    ] = Field("1/sqrt(D)", description="The factor of scores before the softmax.")
    k: Literal["none", "per_tensor", "per_head", "per_token"] = Field(
        "none",
        description="The scale of cached keys, one for all, for each KV head, or for each token and KV head.",
    )
    v: Literal["none", "per_tensor", "per_head", "per_token"] = Field(
        "none", description="The scale of cached values, likewise."
    )


class Epilogue(Model):
    """What becomes of outputs before they are stored: first the norm, then the gate."""

    norm: Literal["none", "rms"] = Field(
        "none", description="How the output of each query head is normalised, times `norm_weight`."
    )
    eps: Annotated[float, Field(ge=1e-30)] = Field(
        1e-6, description="Added to the mean square of the norm."
    )
    gate: Literal["none", "sigmoid", "silu"] = Field(
        "none", description="The function of `gate` that is multiplied onto each output."
    )


class AttentionNumerics(Numerics):
    """How exact the results are, and what an empty row gives."""

    empty_row: Literal["zero"] = Field(
        "zero", description="The result of a query that sees no key."
    )
    deterministic: bool = Field(
        False, description="A request's result has the same bits in whatever batch it is."
    )


class AttentionSpec(SpecModel):
    """A kernel configuration of attention over a key/value cache."""

    REQUIRED_AXES: ClassVar[Mapping[str, str]] = {
        "B": "requests",
        "Q": "query tokens per request",
        "HK": "KV heads",
        "G": "query heads per KV head",
        "D": "head dimension",
        "CAP": "tokens a request can hold",
        "S": "live context length, on the GPU only",
    }
    SLOTS: ClassVar[tuple[Slot, ...]] = (
        Slot(("scales", "softmax"), ("int", "real"), {}, SIZE_FUNCTIONS),
    )

    family: Literal["attention"] = Field(
        description="The family of kernels.", examples=["attention"]
    )
    interface: AttentionInterface = Field(
        description="How the generated function is called.",
        examples=[{"args": ["q", "k_cache", "v_cache"], "returns": ["out"]}],
    )
    layout: Layout = Field(
        description="How the cache lies in memory.",
        examples=[{"cache": "paged_nhd", "page_size": 1, "table": "block_table"}],
    )
    dtypes: AttentionDtypes = Field(
        description="Types of what is read and written.",
        examples=[{"q": "bf16", "kv": "fp8_e4m3", "out": "bf16"}],
    )
    masking: Masking = Field(
        description="Which keys a query sees.", examples=[{"causal": True, "window": "none"}]
    )
    scales: Scales = Field(Scales(), description="Factors of scores, keys and values.")
    epilogue: Epilogue = Field(
        Epilogue(), description="What becomes of outputs before they are stored."
    )
    numerics: AttentionNumerics = Field(
        AttentionNumerics(), description="How exact the results are."
    )


SPEC = AttentionSpec


def check(draft: Draft, origin: Origin) -> Iterator[Diagnostic]:
    """What an attention spec asks of its axes."""
    for name in ("HK", "G", "D", "DV", "DR"):
        yield from _constant(draft, origin, name)
    for name in ("B", "Q", "PAGES", "CAP"):
        yield from draft.check_size(origin, name)
    live = draft.axes.get("S")
    if live is not None and not live.runtime:
        yield origin.diagnostic(
            "KG211",
            "the context length `S` is known only on the GPU, and this axis is not `runtime`",
            "axes",
            "S",
            hint="write `S: {range: [0, CAP], runtime: true}`",
        )
    yield from _window_axis(draft, origin)
    layout = draft.sections.get("layout")
    if layout is not None:
        yield from (_pages if layout.paged else _no_pages)(draft, origin, layout)
        if layout.latent and "DR" not in draft.known_axes and draft.known_axes:
            others = set(draft.known_axes) - AttentionSpec.REQUIRED_AXES.keys()
            yield missing_axis("DR", "rotary columns of queries and keys", others, origin)
        if layout.queries == "ragged":
            yield from _ragged(draft, origin)


def _pages(draft: Draft, origin: Origin, layout: Layout) -> Iterator[Diagnostic]:
    """A paged cache says how large its pages are, and has an axis that counts them."""
    if layout.page_size is None:
        message = "the key `page_size` is missing in `layout`"
        hint = "add `page_size: 1` (Tokens in a page)"
        yield origin.diagnostic("KG202", message, "layout", hint=hint)
    if "PAGES" not in draft.known_axes and draft.known_axes:
        others = set(draft.known_axes) - AttentionSpec.REQUIRED_AXES.keys()
        yield missing_axis("PAGES", "pages in the cache", others, origin)


def _no_pages(draft: Draft, origin: Origin, layout: Layout) -> Iterator[Diagnostic]:
    """A contiguous cache has nothing that speaks of pages."""
    keys = [("layout", key) for key in ("page_size", "table") if key in layout.model_fields_set]
    keys += [("axes", "PAGES")] if "PAGES" in draft.known_axes else []
    for key in keys:
        yield origin.diagnostic(
            "KG460",
            f"`{key[-1]}` speaks of pages, and a {layout.cache} cache has none",
            *key,
            hint="leave it out, or write `cache: paged_nhd`",
            on_key=True,
        )


def _ragged(draft: Draft, origin: Origin) -> Iterator[Diagnostic]:
    """Ragged queries have an axis for all tokens, and one for those of a request, which only the GPU knows."""
    needed = {
        "T": "query tokens of all requests",
        "N": "query tokens of a request, on the GPU only",
    }
    for name, meaning in needed.items():
        if name not in draft.known_axes and draft.known_axes:
            others = set(draft.known_axes) - AttentionSpec.REQUIRED_AXES.keys()
            yield missing_axis(name, meaning, others, origin)
    yield from draft.check_size(origin, "T")
    own = draft.axes.get("N")
    if own is not None and not own.runtime:
        yield origin.diagnostic(
            "KG211",
            "the query tokens `N` of a request are known only on the GPU, and this axis is not `runtime`",
            "axes",
            "N",
            hint="write `N: {range: [0, Q], runtime: true}`",
        )


def _constant(draft: Draft, origin: Origin, name: str) -> Iterator[Diagnostic]:
    axis = draft.axes.get(name)
    if axis is None:
        return
    if axis.const is None:
        yield origin.diagnostic(
            "KG211",
            f"the axis `{name}` is a constant of the kernel and has to be `const`",
            "axes",
            name,
            hint=f"write for example `{name}: {{const: 8}}`, and one spec for each value",
        )
    else:
        yield from draft.check_size(origin, name)


def _window_axis(draft: Draft, origin: Origin) -> Iterator[Diagnostic]:
    masking = draft.sections.get("masking")
    window = masking.window if masking else None
    if window is None:
        return
    if window not in draft.known_axes:
        yield origin.diagnostic(
            "KG302",
            f"`{window}` is no axis of this spec",
            "masking",
            "window",
            hint=suggestion(window, draft.known_axes, "axes"),
        )
        return
    axis = draft.axes.get(window)
    if axis is None:
        return
    if axis.values is None or any(value is not None and value < 1 for value in axis.values):
        yield origin.diagnostic(
            "KG211",
            f"the window's axis `{window}` lists `none` and positive lengths only",
            "axes",
            window,
            hint=f"write for example `{window}: {{values: [none, 4096]}}`",
        )
