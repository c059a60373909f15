"""Latents (MLA): one KV head, whose values are the first D columns of its keys, and DR rotary columns behind these.

D is the width of what is summed and stored, here as everywhere, so that nothing else has to know of latents; a key has
D + DR columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec

ROTARY = "DR"
"""The axis that says how many columns of queries and keys are rotary."""


def split(spec: Spec) -> bool:
    """Whether latents and rotary columns are in tensors of their own, of queries and of keys."""
    return spec.document.layout.kv == "latent_split"


def key_columns(spec: Spec) -> str:
    """How wide queries and keys are."""
    return f"D + {ROTARY}" if spec.document.layout.latent else "D"


def check_latents(spec: Spec) -> Iterator[Diagnostic]:
    """What a cache of latents cannot have, and what only such a cache has."""
    if not spec.document.layout.latent:
        if ROTARY in spec.axes:
            yield spec.diagnostic(
                "KG465",
                f"the axis {ROTARY} counts the rotary columns behind latents, and layout.kv is"
                f" {spec.document.layout.kv}",
                "axes",
                ROTARY,
                hint="write layout.kv: latent or latent_split, or count these columns in D",
            )
        return
    yield from _one_head(spec)
    yield from _values(spec)
    if "softmax" not in spec.document.scales.model_fields_set:
        yield spec.diagnostic(
            "KG467",
            "scales.softmax is left out, and 1/sqrt(D) is not the scale of latents: that follows from the heads before"
            " their projection",
            "layout",
            "kv",
            hint="write for example scales: {softmax: 1/sqrt(192)}, for heads of 128 columns and 64 rotary ones",
        )


def _one_head(spec: Spec) -> Iterator[Diagnostic]:
    """All query heads share the latents."""
    heads = spec.axes["HK"].const
    if heads != 1:
        yield spec.diagnostic(
            "KG466",
            f"HK is {heads}, and latents are the keys and values of one KV head",
            "axes",
            "HK",
            hint="write HK: {const: 1}, and all query heads in G",
        )
    layout = spec.document.layout
    if split(spec) and layout.cache.endswith("hnd"):
        yield spec.diagnostic(
            "KG466",
            f"{layout.cache} says where KV heads come, and a cache of split latents has no dimension for them",
            "layout",
            "cache",
            hint=f"write cache: {layout.cache.removesuffix('hnd')}nhd",
        )


def _values(spec: Spec) -> Iterator[Diagnostic]:
    """Values are columns of keys: they have no width and no scale of their own."""
    scales = spec.document.scales
    if "DV" in spec.axes:
        yield spec.diagnostic(
            "KG466",
            "the axis DV is there, and values are the D latent columns of keys",
            "axes",
            "DV",
            hint="leave DV out",
        )
    if scales.v != "none":
        yield spec.diagnostic(
            "KG466",
            f"scales.v is {scales.v}, and values are columns of keys: their scale is that of keys",
            "scales",
            "v",
            hint="leave scales.v out; k_scale is multiplied onto scores and onto outputs",
        )
    if scales.k not in ("none", "per_tensor"):
        yield spec.diagnostic(
            "KG466",
            f"scales.k is {scales.k}, and latents have one scale or none",
            "scales",
            "k",
            hint="write k: per_tensor, or none",
        )
