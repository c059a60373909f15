"""Public kernel traps whose feature no variant has yet: the spec that asks for it is refused, and told what there is.

Numbers are those of the reports that the traps were collected from, attention (A) and GEMV, router and norm (G).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.plan.build import build
from kgen.spec import load

ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
NORM = "specs/norm/rms_4096.yaml"

REFUSED = [
    (
        "A29 sinks that no argument brings",
        ATTENTION,
        ["masking.sinks=true"],
        "KG404: interface.args leaves out `sinks`",
    ),
    (
        "A38 softcap beyond what fp32 computes",
        ATTENTION,
        ["masking.softcap=5000.0"],
        "KG440: a softcap of 5000.0 is outside",
    ),
    (
        "A41 scales per channel",
        ATTENTION,
        ["scales.k=per_channel"],
        "`per_head`, `per_tensor`, `per_token`",
    ),
    ("A45 bytes that are no numbers", ATTENTION, ["dtypes.kv=uint8"], "`fp8_e4m3`, `fp8_e5m2`"),
    (
        "A45 bytes of a wider type",
        ATTENTION,
        ["layout.storage=uint8", "dtypes.kv=fp16"],
        "KG430: a byte holds one fp8 number, and this cache is fp16",
    ),
    ("A47 sparse indices", ATTENTION, ["layout.cache=sparse"], "paged_nhd"),
    (
        "A55 ragged queries that are not declared",
        ATTENTION,
        [
            "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window, cu_q]"
        ],
        "KG404: interface.args names `cu_q`",
    ),
    (
        "A54 tokens that see later ones",
        ATTENTION,
        ["masking.causal=false"],
        "does not cover masking.causal: false",
    ),
    ("G1 split-K GEMV", NORM, ["family=gemv"], "gemv"),
    ("G36 router", NORM, ["family=router"], "router"),
    (
        "G95 Gemma's 1 + w",
        NORM,
        ["norm={op: gemma, formula: x * rsqrt(mean(x * x) + EPS) * (1 + weight)}"],
        "KG409: variant rms does not cover norm.op: gemma",
    ),
    (
        "G98 add and norm",
        NORM,
        ["interface.args=[x, residual, weight]"],
        "KG404: interface.args names `residual`",
    ),
    (
        "G110 layer norm",
        NORM,
        [
            "norm={op: layer, formula: (x - mean(x)) * rsqrt(mean((x - mean(x)) * (x - mean(x))) + EPS)}"
        ],
        "does not cover norm.op: layer",
    ),
]


@pytest.mark.parametrize(
    ("overrides", "spec", "message"),
    [(o, s, m) for _, s, o, m in REFUSED],
    ids=[row[0] for row in REFUSED],
)
def test_it_is_refused(root: Path, overrides: list[str], spec: str, message: str):
    with pytest.raises(KgenError) as caught:
        build(load(root / spec, overrides))
    text = str(caught.value)
    assert message in text
    assert "help: " in text
