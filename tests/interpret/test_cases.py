"""Public kernel traps as inputs: each goes through a rendered file in the interpreter and has to come out right.

A row is a spec with changes, among them the workloads that are the trap. Numbers are those of the reports that the traps
were collected from, attention (A) and GEMV, router and norm (G). Unused slots and pages hold NaN and unused table
entries ids outside the cache in every attention case (A13, A21, A22); lengths beyond the table (A23), padded, expanded
and shifted tensors (A25, G101, G112), offsets beyond 32 bits (A1, A2, G104), extreme queries (A43), empty batches and
rows (A5, A6, G85, G89) are cases of every spec: see test_emitted.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kgen.run
from kgen.cli.bundle import files, write
from kgen.make import make
from kgen.plan.templates import Templates
from kgen.spec import load

FP8, BF16 = "specs/attention/gqa8_fp8_page1.yaml", "specs/attention/gqa8_bf16_page16.yaml"
CSR = "specs/attention/gqa4_bf16_csr.yaml"
TOKENS = "specs/attention/gqa4_e4m3_interleaved_token_scales.yaml"
PACKED = "specs/attention/gqa4_bf16_packed.yaml"
CONTIGUOUS = "specs/attention/gqa4_bf16_contiguous.yaml"
RAGGED = "specs/attention/gqa4_bf16_ragged.yaml"
UNEVEN, TILED = "specs/attention/mha_dqk192_dv128.yaml", "specs/attention/gqa40_bf16.yaml"
EVEN = "specs/attention/gqa8_fp8_page1_ragged.yaml"
LATENT, LATENT_FP8 = (
    "specs/attention/mla_h16_bf16_page64.yaml",
    "specs/attention/mla_h128_fp8_page1.yaml",
)
LATENT_SPLIT = "specs/attention/mla_h24_bf16_page16_split.yaml"
SPARSE, SPARSE_FP8 = (
    "specs/attention/mla_sparse_h128_bf16.yaml",
    "specs/attention/mla_sparse_h16_fp8.yaml",
)
# latents of 512 columns are tried by the file itself; 32 and 16 are divided in the same way
FEW = ("axes.D={const: 32}", "axes.DR={const: 16}")
PREFILL = "specs/attention/prefill_gqa4_bf16_ragged.yaml"
GROUPS, NORM = "specs/attention/gqa7_bf16_page64.yaml", "specs/norm/rms_odd.yaml"


def _check(*points: str) -> str:
    return f"workloads.check=[{', '.join(points)}]"


def _lengths(*lengths: int, **axes: object) -> str:
    parts = [f"{name}: {value}" for name, value in axes.items()]
    return (
        "{"
        + ", ".join([f"B: {len(lengths)}", *parts, f"S: {{per_request: {list(lengths)}}}"])
        + "}"
    )


SINKS = (
    "masking.sinks=true",
    "interface={args: [q, k_cache, v_cache, block_table, seq_lens, sinks], returns: [out, lse], lse: base_2}",
)
CASES = [
    ("A5 empty rows among others", BF16, [_check(_lengths(5, 0, 300, 0))]),
    ("A7 fewer tiles than splits", FP8, ["regimes.decode.splits={waves: 1, min_chunk: 1, max: 16}", _check(_lengths(1, 15, 16, 17, 33, Q=1))]),
    ("A7 fewer tiles than splits, summed in one turn", FP8, ["regimes.decode.splits={waves: 1, min_chunk: 1, max: 16}", "regimes.decode.combine.BLOCK_S=16", _check(_lengths(1, 15, 16, 17, 33, Q=1))]),
    ("A9 a tile masked for one row", FP8, ["axes.WINDOW={values: [none, 4]}", _check(_lengths(70, Q=8, WINDOW=4))]),
    ("A12 LSE of an empty row", BF16, ["interface.lse=base_e", _check(_lengths(0, 1))]),
    *[
        (f"A15 {heads} heads in groups of {group}", GROUPS, [f"axes.HK={{const: {heads}}}", f"axes.G={{const: {group}}}", _check(_lengths(70, 3, Q=1), _lengths(70, 3, Q=3))])
        for heads, group in ((4, 7), (2, 6), (1, 5), (2, 3), (1, 12))
    ],
    ("A16 a group of 16", BF16, ["axes.HK={const: 1}", "axes.G={const: 16}", _check(_lengths(100, 17))]),
    ("A52 a group of 24", BF16, ["axes.HK={const: 1}", "axes.G={const: 24}", _check(_lengths(40, 100))]),
    ("A52 a group of 40", BF16, ["axes.HK={const: 1}", "axes.G={const: 40}", _check(_lengths(40, 100))]),
    *[
        (f"A52 {heads} x {group} heads in tiles of {rows} rows", TILED, [f"axes.HK={{const: {heads}}}", f"axes.G={{const: {group}}}", f"regimes.rows.tile.BLOCK_M={rows}", "axes.D={const: 16}", _check(_lengths(70, 3, Q=1), _lengths(70, 1, Q=2))])
        for heads, group, rows in ((2, 24, 16), (3, 20, 32), (2, 48, 64), (1, 128, 64))
    ],
    ("A52 tiles of rows without parts", TILED, ["regimes.rows.splits={max: 1, direct: true}", "axes.D={const: 16}", _check(_lengths(70, 3, Q=2))]),
    ("A52 8 tokens of 40 heads", TILED, ["axes.HK={const: 1}", "axes.Q={const: 8}", "axes.D={const: 16}", "regimes.rows.tile={BLOCK_N: 64}", _check(_lengths(70, 8, 5, Q=8))]),
    *[
        (f"A55 ragged queries, {name}", RAGGED, [*changes, _check("{B: 4, Q: 8, N: {per_request: [8, 1, 0, 4]}, S: {per_request: [70, 9, 5, 100]}}")])
        for name, changes in (
            ("parts", []),
            ("without parts", ["regimes=[{name: rest, when: otherwise, fallback: generic}]"]),
            ("stored at once", ["regimes.split.splits={max: 1, direct: true}"]),
            ("a window", ["axes.WINDOW={values: [20]}", "masking.window=WINDOW"]),
            ("rows beyond a tile", ["regimes.split.tile.BLOCK_M=16", "axes.G={const: 3}"]),
        )
    ],
    ("A35 rows behind those of the last request", RAGGED, ["axes.D={const: 80}", _check("{B: 3, Q: 8, T: 24, N: {per_request: [0, 8, 2]}, S: {per_request: [9, 70, 40]}}", "{B: 40, Q: 1, T: 43, N: 1, S: 5}")]),
    ("A54 ragged tokens see each other causally", RAGGED, [_check("{B: 3, Q: 8, N: {per_request: [2, 5, 8]}, S: {per_request: [64, 65, 71]}}")]),
    *[
        (f"A17 head dimension {size}", GROUPS, [f"axes.D={{const: {size}}}", "axes.HK={const: 1}", _check(_lengths(70, 3, Q=1))])
        for size in (96, 112, 160, 192, 256)
    ],
    *[
        (f"A18 keys of {keys} columns and values of {values}", UNEVEN, [f"axes.D={{const: {keys}}}", f"axes.DV={{const: {values}}}", "axes.HK={const: 2}", _check(_lengths(70, 3, Q=1), _lengths(70, 3, Q=4))])
        for keys, values in ((192, 128), (80, 96), (64, 192))
    ],
    *[
        (f"A26 window {width}", GROUPS, ["axes.HK={const: 1}", f"axes.WINDOW={{values: [none, {width}]}}", _check(*(_lengths(n, WINDOW=width, Q=1) for n in (width - 1, width, width + 1, width + 64)))])
        for width in (1, 15, 16, 17, 64)
    ],
    ("A27 a window that begins within page and tile", GROUPS, ["layout.page_size=16", "axes.HK={const: 1}", _check(_lengths(1000, Q=1, WINDOW=100), _lengths(1000, Q=3, WINDOW=100))]),
    *[
        (f"A38 scores of {size} with a softcap", BF16, ["axes.HK={const: 2}", "masking.softcap=50.0", f"scales.softmax={scale}", _check(_lengths(140, 0, 5))])
        for size, scale in ((50, 1.0), (5000, 150.0), (10000, 300.0))
    ],
    *[
        (f"A29 sinks with {most} parts", BF16, ["axes.HK={const: 1}", *SINKS, f"regimes.decode.splits={{min_chunk: 32, max: {most}}}", _check(_lengths(300, 0, 1, 33))])
        for most in (1, 8)
    ],
    ("A30 sinks beside a small scale and a softcap", BF16, ["axes.HK={const: 1}", *SINKS, "masking.softcap=5.0", "scales.softmax=0.05", _check(_lengths(140, 0, 5))]),
    ("A29 sinks, softcap, window, scales and several tokens", FP8, ["masking.sinks=true", "masking.softcap=5.0", "interface={args: [q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window, sinks], returns: [out, lse], lse: base_e}", "axes.WINDOW={values: [none, 100]}", _check(_lengths(170, 0, 5, Q=1), _lengths(170, Q=8, WINDOW=100))]),
    *[
        (f"norm and {gate}, values of another width, several tokens", GROUPS, ["axes.HK={const: 1}", "axes.DV={const: 48}", f"epilogue={{norm: rms, gate: {gate}}}", f"regimes.decode.splits.direct={direct}", "regimes.decode.splits.max=1", "interface.args=[q, k_cache, v_cache, block_table, seq_lens, norm_weight, gate, window]", _check(_lengths(70, 0, 3, Q=1), _lengths(170, 2, Q=3, WINDOW=100))])
        for gate, direct in (("sigmoid", "false"), ("silu", "true"))
    ],
    ("sinks, softcap, window, scales, several tokens, norm and gate in one", FP8, ["masking.sinks=true", "masking.softcap=5.0", "interface={args: [q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window, sinks, norm_weight, gate], returns: [out, lse], lse: base_e}", "epilogue={norm: rms, gate: silu}", "regimes.decode.combine={BLOCK_S: 128}", "axes.WINDOW={values: [none, 100]}", _check(_lengths(170, 0, 5, Q=1), _lengths(170, Q=8, WINDOW=100))]),
    ("scales of tokens in halves of one tensor, with sinks, softcap, norm and gate", "specs/attention/gqa4_e4m3_interleaved_token_scales.yaml", ["masking.sinks=true", "masking.softcap=5.0", "epilogue={norm: rms, gate: silu}", "interface.args=[q, kv_cache, block_table, seq_lens, k_scale, v_scale, sinks, norm_weight, gate]", _check(_lengths(140, 0, 5, Q=1), _lengths(140, 2, Q=4))]),
    ("a tree of draft tokens of ragged requests, bits of 64", RAGGED, ["axes.Q={const: 8}", "axes.WINDOW={values: [20]}", "masking={causal: true, window: WINDOW, tree: int64}", "interface={args: [q, cu_q, k_cache, v_cache, block_table, seq_lens, tree_mask], returns: [out, lse], lse: base_2}", _check("{B: 4, Q: 8, N: {per_request: [8, 1, 0, 4]}, S: {per_request: [70, 9, 5, 100]}}")]),
    ("a tree of draft tokens, keys divided evenly", EVEN, ["axes.Q={const: 5}", "regimes=[{name: verify, when: B <= 32, variant: even, tile: {BLOCK_N: 16, BLOCK_B: 64}, splits: {waves: 1}, launch: {num_warps: 4, num_stages: 3}}, {name: rest, when: otherwise, fallback: generic}]", "axes.WINDOW={values: [none, 30]}", "masking={causal: true, window: WINDOW, tree: int32}", "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window, tree_mask]", _check(_lengths(70, 5, 0, Q=5), _lengths(70, 35, 3, Q=5, WINDOW=30))]),
    ("A38 softcap, window, scales and several tokens", FP8, ["masking.softcap=5.0", "axes.WINDOW={values: [none, 100]}", _check(_lengths(170, 0, 5, Q=1), _lengths(170, Q=8, WINDOW=100))]),
    ("A40 scales with one split", FP8, ["regimes.decode.splits.max=1", _check(_lengths(700, Q=1))]),
    ("A40 scales with eight splits", FP8, ["regimes.decode.splits={min_chunk: 64, max: 8}", _check(_lengths(700, Q=1))]),
    *[
        (f"A54 {tokens} tokens see each other causally", FP8, [f"axes.Q={{values: [1, {tokens}]}}", "axes.WINDOW={values: [none, 100]}", _check(*(_lengths(n, Q=tokens, WINDOW=100) for n in (64, 65, 135)))])
        for tokens in (2, 5, 8)
    ],
    ("A54 prompts in several tiles of rows, a window", PREFILL, ["axes.HK={const: 1}", "axes.D={const: 64}", "axes.WINDOW={values: [none, 20]}", _check("{B: 3, Q: 40, N: {per_request: [40, 0, 33]}, S: {per_request: [70, 5, 30]}}", "{B: 3, Q: 40, WINDOW: 20, N: {per_request: [40, 0, 33]}, S: {per_request: [70, 5, 30]}}")]),
    ("A62 more than 256 splits", FP8, ["regimes.decode.splits={waves: 4, min_chunk: 1, max: 264}", "regimes.decode.tile.BLOCK_N=16", _check(_lengths(4300, Q=1))]),
    ("A41 scales per head", FP8, ["scales={k: per_head, v: per_head}", "axes.HK={const: 3}", "axes.WINDOW={values: [none, 100]}", _check(_lengths(170, 0, 5, Q=1), _lengths(170, Q=8, WINDOW=100))]),
    ("A45 e5m2", FP8, ["dtypes.kv=fp8_e5m2", "axes.WINDOW={values: [none, 100]}", _check(_lengths(170, 0, 5, Q=1), _lengths(170, Q=8, WINDOW=100))]),
    ("A45 bytes of e4m3", FP8, ["layout.storage=uint8", "axes.WINDOW={values: [none, 100]}", _check(_lengths(170, 0, 5, Q=1), _lengths(170, Q=8, WINDOW=100))]),
    *[(f"A65 pages of {size}", BF16, [f"layout.page_size={size}", "axes.HK={const: 2}", _check(_lengths(size, 130, size + 1))]) for size in (1, 3, 16, 48, 64, 128)],
    ("heads before the tokens of a page of 3", BF16, ["layout.cache=paged_hnd", "layout.page_size=3", "axes.HK={const: 2}", _check(_lengths(3, 130, 4))]),
    ("heads before tokens, a window and columns that are no power of two", GROUPS, ["layout.cache=paged_hnd", "layout.page_size=16", "axes.HK={const: 2}", "axes.D={const: 80}", _check(_lengths(170, 5, Q=1, WINDOW=100), _lengths(170, 5, Q=3, WINDOW=100))]),
    ("a contiguous cache", CONTIGUOUS, [_check(_lengths(65, 0, 130, Q=1), _lengths(3, 66, Q=4))]),
    ("a contiguous cache, heads before tokens, a window, as FP8", CONTIGUOUS, ["layout.cache=contiguous_hnd", "dtypes.kv=fp8_e4m3", "axes.WINDOW={values: [100]}", "masking.window=WINDOW", _check(_lengths(170, 5, Q=1, WINDOW=100), _lengths(170, 99, Q=4, WINDOW=100))]),
    ("values behind keys", PACKED, [_check(_lengths(65, 0, 17, Q=1), _lengths(66, 3, Q=4))]),
    ("keys and values in halves, heads before tokens, a window, 80 columns of FP8", PACKED, ["layout.kv=interleaved", "layout.cache=paged_hnd", "dtypes.kv=fp8_e4m3", "axes.D={const: 80}", "axes.WINDOW={values: [30]}", "masking.window=WINDOW", _check(_lengths(100, 5, Q=1, WINDOW=30), _lengths(100, 33, Q=4, WINDOW=30))]),
    ("A41 scales per token", TOKENS, [_check(_lengths(65, 0, 17, Q=1), _lengths(66, 3, Q=4))]),
    ("A41 scales per token of values in a contiguous cache of BF16, a softcap", CONTIGUOUS, ["scales={k: none, v: per_token}", "masking.softcap=5.0", "interface.args=[q, k_cache, v_cache, seq_lens, v_scale]", _check(_lengths(65, 0, 17, Q=1), _lengths(66, 3, Q=4))]),
    ("A41 scales per token of keys, pages of 1, heads before tokens, a softcap", TOKENS, ["scales={k: per_token, v: per_head}", "masking.softcap=5.0", "layout.page_size=1", "layout.cache=paged_hnd", _check(_lengths(65, 0, 17, Q=1), _lengths(66, 3, Q=4))]),
    ("page lists of all requests, some of them empty", CSR, [_check(_lengths(0, 65, 0, 16, 0, Q=1), _lengths(66, 0, 3, Q=4))]),
    ("page lists of pages of 3, heads before tokens, a window, scales per token", CSR, ["layout.page_size=3", "layout.cache=paged_hnd", "dtypes.kv=fp8_e4m3", "scales={k: per_token, v: per_token}", "interface.args=[q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, k_scale, v_scale]", "axes.CAP={range: [3, 30000]}", "axes.WINDOW={values: [30]}", "masking.window=WINDOW", "workloads.bench=[]", _check(_lengths(100, 0, 5, Q=1, WINDOW=30), _lengths(100, 33, Q=4, WINDOW=30))]),
    ("page lists of pages of 1, one part that is stored directly", CSR, ["layout.page_size=1", "regimes.decode.splits={waves: 1, min_chunk: 128, max: 1, direct: true}", _check(_lengths(0, 65, 0, 16, Q=1))]),
    ("A5 keys of all requests divided evenly, empty rows among them", EVEN, [_check(_lengths(1500, 0, 1, 129, 0, Q=1))]),
    ("A7 fewer tiles than pieces", EVEN, [_check(_lengths(1, Q=1), _lengths(130, Q=1))]),
    ("A26 only visible keys are divided", EVEN, ["axes.WINDOW={values: [none, 100]}", _check(_lengths(700, 5, 170, Q=1, WINDOW=100), _lengths(700, 0, 170, Q=8, WINDOW=100))]),
    ("A62 more pieces than are combined in one turn", EVEN, ["regimes.decode.tile.BLOCK_N=16", _check(_lengths(1500, 30, Q=1))]),
    ("keys divided evenly, heads before the tokens of a page, columns that are no power of two", EVEN, ["layout={cache: paged_hnd, page_size: 3}", "axes.HK={const: 2}", "axes.D={const: 80}", "axes.WINDOW={values: [none, 100]}", "axes.CAP={range: [3, 3000]}", "scales={k: per_head, v: per_head}", _check(_lengths(500, 5, Q=1, WINDOW=100), _lengths(500, 5, Q=8, WINDOW=100))]),
    *[
        (f"A18, A52 latents of {heads} query heads", LATENT, [*FEW, f"axes.G={{const: {heads}}}", _check(_lengths(70, 0, 3, Q=1), _lengths(70, 4, Q=4))])
        for heads in (2, 8, 16, 20, 24, 40, 128)
    ],
    ("A18 latents of 512 columns and 64 rotary ones", LATENT, [_check(_lengths(70, 0, Q=1))]),
    ("A17 latents of 80 columns and 48 rotary ones", LATENT, ["axes.D={const: 80}", "axes.DR={const: 48}", _check(_lengths(70, 0, 3, Q=1), _lengths(66, 3, Q=4))]),
    ("A17 split latents of 80 columns and 48 rotary ones, stored at once", LATENT_SPLIT, ["axes.D={const: 80}", "axes.DR={const: 48}", "regimes.decode.splits={max: 1, direct: true}", _check(_lengths(70, 0, 3))]),
    *[(f"A65 latents in pages of {size}", LATENT, [*FEW, f"layout.page_size={size}", _check(_lengths(size, 130, size + 1, Q=1))]) for size in (1, 3, 16, 48)],
    *[(f"A65 split latents in pages of {size}", LATENT_SPLIT, [*FEW, f"layout.page_size={size}", _check(_lengths(size, 130, size + 1))]) for size in (1, 64)],
    ("A40 FP8 latents with one scale, several tokens, rows in tiles", LATENT_FP8, [*FEW, _check(_lengths(170, 0, 5, Q=1), _lengths(70, 2, Q=2))]),
    ("A40 FP8 latents in eight parts", LATENT_FP8, [*FEW, "axes.G={const: 16}", "regimes.tiles.splits={min_chunk: 64, max: 8}", _check(_lengths(700, Q=1))]),
    ("A38 FP8 latents with a softcap and sinks, LSE to base 2", LATENT_FP8, [*FEW, "axes.G={const: 24}", "masking.softcap=5.0", "masking.sinks=true", "interface.args=[q, kv_cache, block_table, seq_lens, k_scale, sinks]", "interface.lse=base_2", _check(_lengths(140, 0, 5, Q=1))]),
    *[
        (f"A45 latents as {name}", LATENT_FP8, [*FEW, "axes.G={const: 16}", *changes, _check(_lengths(70, 0, 5, Q=1))])
        for name, changes in (("e5m2", ["dtypes.kv=fp8_e5m2"]), ("bytes", ["layout.storage=uint8"]), ("fp16", ["dtypes={q: fp16, kv: fp16, out: fp16}"]))
    ],
    ("A26 split latents, a window", LATENT_SPLIT, [*FEW, "axes.WINDOW={values: [none, 17]}", _check(*(_lengths(n, WINDOW=17) for n in (16, 17, 18, 81)))]),
    ("A54, A55 latents and ragged queries", LATENT, [*FEW, "axes.G={const: 8}", "layout.queries=ragged", "axes.T={range: [1, 256]}", "axes.N={range: [0, Q], runtime: true}", "interface.args=[q, kv_cache, block_table, seq_lens, cu_q, max_q]", _check("{B: 4, Q: 4, N: {per_request: [4, 1, 0, 3]}, S: {per_request: [70, 9, 5, 100]}}")]),
    ("latents in page lists, normalised and gated", LATENT_SPLIT, [*FEW, "layout.table=csr", "epilogue={norm: rms, gate: sigmoid}", "interface.args=[q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, kv_last_page_len, norm_weight, gate, window]", _check(_lengths(0, 65, 0, 16, 0))]),
    ("latents in a contiguous cache, heads before tokens", CONTIGUOUS, [*FEW, "axes.HK={const: 1}", "layout={cache: contiguous_hnd, kv: latent}", "scales.softmax=0.1", "interface.args=[q, kv_cache, seq_lens]", _check(_lengths(65, 0, 130, Q=1))]),
    ("latents of all requests divided evenly", EVEN, [*FEW, "layout={cache: paged_nhd, page_size: 1, kv: latent}", "scales={softmax: 0.1, k: per_tensor}", "interface.args=[q, kv_cache, block_table, seq_lens, k_scale, window]", _check(_lengths(500, 0, 130, Q=1))]),
    ("A47, A48 top-k of which some name nothing, and all of one token", SPARSE_FP8, [*FEW, _check(_lengths(70, 33, 40, 64, Q=1), _lengths(40, 0, Q=4))]),
    ("A49 a count that ends within a tile, and indices of NaN behind it", SPARSE_FP8, [*FEW, "regimes.decode.splits={min_chunk: 16, max: 16}", _check(*(_lengths(2048, n, Q=1) for n in (1, 63, 64, 65, 2047)))]),
    ("A51 a count of none for several tokens", SPARSE_FP8, [*FEW, "axes.Q={values: [2]}", _check(_lengths(0, Q=2))]),
    *[
        (f"A52 top-k of {heads} query heads", SPARSE, [*FEW, f"axes.G={{const: {heads}}}", "regimes.tiles.tile={BLOCK_M: 16, BLOCK_N: 16}", _check(_lengths(70, 3, Q=1), _lengths(70, 4, Q=2))])
        for heads in (8, 20, 40)
    ],
    *[(f"A65 top-k of tokens in pages of {size}", SPARSE, [*FEW, f"layout.page_size={size}", "axes.G={const: 16}", _check(_lengths(size, 100, Q=1))]) for size in (3, 48)],
    ("A65 top-k of split latents in pages of 3", SPARSE, [*FEW, "layout.kv=latent_split", "layout.page_size=3", "axes.G={const: 16}", "interface.args=[q_nope, q_pe, ckv_cache, kpe_cache, indices, valid_topk]", _check(_lengths(70, 3, Q=1), _lengths(70, 4, Q=2))]),
    ("A29, A38 top-k beside sinks, a softcap, a norm and a gate, stored at once", SPARSE_FP8, [*FEW, "masking.sinks=true", "masking.softcap=5.0", "epilogue={norm: rms, gate: silu}", "interface.args=[q, kv_cache, indices, valid_topk, k_scale, sinks, norm_weight, gate]", "regimes.decode.splits={max: 1, direct: true}", _check(_lengths(70, 0, 5, 9, Q=1), _lengths(40, 2, Q=4))]),
    ("top-k in parts of a fixed size", SPARSE_FP8, [*FEW, "regimes.decode.splits={chunk: 64, max: 64}", _check(_lengths(300, 65, Q=1))]),
    *[
        (f"A36 states to {base}, {order}", "specs/merge/merge_h16_d512.yaml", [f"states={{order: {order}, lse: {base}}}", f"dtypes={{parts: {parts}, out: bf16}}", "axes.H={const: 3}", f"axes.D={{const: {columns}}}", _check("{T: 2, N: {sweep: [1, 2, 9]}}")])
        for base, order, parts, columns in (("base_2", "states_first", "fp32", 80), ("base_e", "tokens_first", "bf16", 64))
    ],
    ("G87 squares beyond fp16", NORM, ["axes.H={values: [4096]}", _check("{T: 2, H: 4096}")]),
    ("G94 a weight of another type", NORM, ["dtypes={x: bf16, weight: fp32, out: bf16}", _check("{T: 3, H: 513}")]),
    ("G105 rows of other lengths", NORM, ["axes.H={values: [1152, 1536, 2560]}", _check("{T: 2, H: {sweep: [1152, 1536, 2560]}}")]),
    ("G106 rows of 16384", NORM, ["axes.H={values: [16384]}", _check("{T: 2, H: 16384}")]),
    ("no weight", NORM, ["interface.args=[x]", "dtypes={x: fp32, weight: none, out: fp16}", _check("{T: 3, H: 513}")]),
]  # fmt: skip


# one of a kind is tried at every change, its neighbours where slow tests run
NEIGHBOURS = {
    *("A15 2 heads in groups of 6", "A15 1 heads in groups of 5", "A15 1 heads in groups of 12"),
    *("A17 head dimension 96", "A17 head dimension 160", "A17 head dimension 192"),
    "A17 head dimension 256",
    *("A18 keys of 64 columns and values of 192", "A18 keys of 192 columns and values of 128"),
    *("A52 3 x 20 heads in tiles of 32 rows", "A52 2 x 48 heads in tiles of 64 rows"),
    *("A52 1 x 128 heads in tiles of 64 rows", "A52 8 tokens of 40 heads"),
    *("A52 tiles of rows without parts", "A55 ragged queries, stored at once"),
    *("A55 ragged queries, a window", "A55 ragged queries, rows beyond a tile"),
    *("A55 ragged queries, without parts", "A54 ragged tokens see each other causally"),
    *("A62 more than 256 splits", "A52 a group of 40"),
    *("A38 scores of 50 with a softcap", "A38 scores of 10000 with a softcap"),
    *("A38 softcap, window, scales and several tokens", "A29 sinks with 1 parts"),
    "a tree of draft tokens of ragged requests, bits of 64",
    "a tree of draft tokens, keys divided evenly",
    "A29 sinks, softcap, window, scales and several tokens",
    "scales of tokens in halves of one tensor, with sinks, softcap, norm and gate",
    "norm and sigmoid, values of another width, several tokens",
    "sinks, softcap, window, scales, several tokens, norm and gate in one",
    "A30 sinks beside a small scale and a softcap",
    "A7 fewer tiles than splits, summed in one turn",
    *("A26 window 15", "A26 window 64", "A40 scales with one split"),
    "a contiguous cache, heads before tokens, a window, as FP8",
    "keys and values in halves, heads before tokens, a window, 80 columns of FP8",
    "A41 scales per token of values in a contiguous cache of BF16, a softcap",
    "page lists of pages of 3, heads before tokens, a window, scales per token",
    "page lists of pages of 1, one part that is stored directly",
    "A41 scales per token of keys, pages of 1, heads before tokens, a softcap",
    *("A7 fewer tiles than pieces", "A26 only visible keys are divided"),
    "A62 more pieces than are combined in one turn",
    "keys divided evenly, heads before the tokens of a page, columns that are no power of two",
    *(f"A18, A52 latents of {heads} query heads" for heads in (2, 8, 16, 20, 40, 128)),
    *("A18 latents of 512 columns and 64 rotary ones", "A40 FP8 latents in eight parts"),
    *(f"A65 latents in pages of {size}" for size in (1, 16, 48)),
    *(f"A65 split latents in pages of {size}" for size in (1, 64)),
    *("A45 latents as e5m2", "A45 latents as fp16", "A26 split latents, a window"),
    *("A54, A55 latents and ragged queries", "latents in page lists, normalised and gated"),
    *(
        "latents in a contiguous cache, heads before tokens",
        "latents of all requests divided evenly",
    ),
    *(f"A52 top-k of {heads} query heads" for heads in (8, 20, 40)),
    *(f"A65 top-k of tokens in pages of {size}" for size in (3, 48)),
    "A47, A48 top-k of which some name nothing, and all of one token",
    "A51 a count of none for several tokens",
    "A29, A38 top-k beside sinks, a softcap, a norm and a gate, stored at once",
    "A49 a count that ends within a tile, and indices of NaN behind it",
    "top-k in parts of a fixed size",
    "A65 top-k of split latents in pages of 3",
    *("A54 2 tokens see each other causally", "A54 8 tokens see each other causally"),
    *(f"A65 pages of {size}" for size in (1, 16, 48, 64, 128)),
    *("A26 window 1", "A26 window 16", "A16 a group of 16"),
    "A40 FP8 latents with one scale, several tokens, rows in tiles",
    "A38 FP8 latents with a softcap and sinks, LSE to base 2",
    "A17 latents of 80 columns and 48 rotary ones",
    "A17 split latents of 80 columns and 48 rotary ones, stored at once",
    *("A45 latents as bytes", "A36 states to base_e, tokens_first"),
    "heads before tokens, a window and columns that are no power of two",
    *("A45 bytes of e4m3", "G105 rows of other lengths", "G106 rows of 16384"),
    *(
        "A15 4 heads in groups of 7",
        "A52 a group of 24",
        "A40 scales with eight splits",
    ),
    *("A9 a tile masked for one row", "A18 keys of 80 columns and values of 96", "A26 window 17"),
    *(
        "A35 rows behind those of the last request",
        "A5 keys of all requests divided evenly, empty rows among them",
    ),
    *(
        "heads before the tokens of a page of 3",
        "values behind keys",
        "A41 scales per head",
        "no weight",
    ),
    *("A18, A52 latents of 24 query heads", "G87 squares beyond fp16"),
}


@pytest.mark.parametrize(
    ("spec", "overrides"),
    [
        pytest.param(*row[1:], id=row[0], marks=pytest.mark.full if row[0] in NEIGHBOURS else ())
        for row in CASES
    ],
)
def test_it_comes_out_right(
    root: Path, tmp_path: Path, preloaded: str, spec: str, overrides: list[str]
):
    made = make(load(root / spec, ["workloads.bench=[]", *overrides]), Templates())
    assert not made.wrong, "\n".join(map(str, made.findings))
    write(files(made, tmp_path))
    report = kgen.run.test_bundle(
        tmp_path, mode="interpret", seed=1, filter=" check", timeout=120, python=preloaded
    )
    assert report.passed, "\n".join(map(str, report.diagnostics()))
    assert report.summary.counts["passed"] >= 1
