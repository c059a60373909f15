"""How a cache lies in memory: what that changes in the emitted file, in its tests, and in what a replay expects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kgen.diagnostics import KgenError
from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.families.formats import STRANGE_IDS
from kgen.plan.build import build
from kgen.prove.promises import promises
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

CONTIGUOUS, PACKED = "gqa4_bf16_contiguous", "gqa4_bf16_packed"
TOKENS, CSR = "gqa4_e4m3_interleaved_token_scales", "gqa4_bf16_csr"


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    """A named spec with changes, as a file."""
    return functools.cache(
        lambda name, *overrides: render(
            build(load(root / f"specs/attention/{name}.yaml", overrides))
        )
    )


def _inputs(source: Source, lengths: list[int], layout: str = "plain") -> tuple[Any, dict]:
    """A case with one query token and these lengths, and its arguments."""
    problem = source.manifest["problem"]
    case = case_of(problem, 1, None, lengths, layout)
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


def _replayed(source: Source, axes: dict, lengths: list[int], old: str, new: str) -> list[str]:
    """What a replay finds in the file, and that it finds nothing before `old` becomes `new`."""
    assert source.text.count(old) >= 1
    scene = attention_scene(source.manifest["problem"], axes, lengths)

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert findings(source.text) == []
    return findings(source.text.replace(old, new))


# ---------------------------------------------------------------- contiguous


@pytest.mark.parametrize(
    ("cache", "shape", "axis"),
    [("contiguous_nhd", "(B, CAP, HK, D)", 1), ("contiguous_hnd", "(B, HK, CAP, D)", 2)],
)
def test_a_contiguous_cache_has_no_trace_of_pages(rendered, cache, shape, axis):
    text = rendered(CONTIGUOUS, f"layout.cache={cache}").text
    assert "page" not in text.lower()
    assert "table" not in text.replace("in the table at the top", "").replace("as the table", "")
    assert f"    CAP = k_cache.shape[{axis}]\n" in text
    assert f'check_shape("v_cache", v_cache, {shape})' in text


def test_slots_past_the_live_length_are_poisoned(rendered):
    case, arguments = _inputs(rendered(CONTIGUOUS), [40, 0, 3])
    assert case.axes == {"B": 3, "Q": 1, "CAP": 43}
    for name in ("k_cache", "v_cache"):
        live = (~arguments[name].isnan()).all(-1).all(-1)
        assert live.sum(1).tolist() == [40, 0, 3]
        assert arguments[name].isnan().all(-1).all(-1).logical_not().equal(live)
        assert live[0, :40].all() and live[2, :3].all()


def test_a_contiguous_cache_gives_what_a_paged_one_gives(rendered):
    plain, by_head = rendered(CONTIGUOUS), rendered(CONTIGUOUS, "layout.cache=contiguous_hnd")
    paged = rendered("gqa4_bf16_hnd", "layout.page_size=1", "layout.cache=paged_nhd")
    case, arguments = _inputs(plain, [40, 0, 3])
    _, swapped = _inputs(by_head, [40, 0, 3])
    tokens = {name: arguments[name].flatten(0, 1) for name in ("k_cache", "v_cache")}
    table = torch.arange(3 * 43, dtype=torch.int32).view(3, 43)
    listed = case_of(paged.manifest["problem"], 1, None, [40, 0, 3], "plain", keys=43)
    through = {
        **arguments,
        **{name: one[:, None] for name, one in tokens.items()},
        "block_table": table,
    }
    calls = ((plain, case, arguments), (by_head, case, swapped), (paged, listed, through))
    results = [
        attention.expected(source.manifest["problem"], one, given)["out"].values
        for source, one, given in calls
    ]
    assert results[0].abs().sum() > 0
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "p_k + i_b * stride_k_b + o_n",
            "p_k + i_b * stride_k_b + (o_n + 1)",
            "k_cache[b=0, slot=0, h=0, d=0], key 0 of request 0 (length 33), is read 0 times, not 1",
        ),
        ("CAP)\n", "CAP + 1)\n", ""),
        ("i_b * stride_v_b", "(i_b ^ 1) * stride_v_b", "h=1, d=0], no key of request 1,"),
    ],
)
def test_a_replay_knows_the_slots_of_a_contiguous_cache(rendered, old, new, said):
    axes = {"B": 2, "Q": 1, "CAP": 48}
    lengths = [33, 20] if said else [33, 49]
    found = _replayed(rendered(CONTIGUOUS), axes, lengths, old, new)
    assert found and any(said in one for one in found), found


def test_a_capacity_of_any_number_is_served(rendered):
    assert "CAP" in rendered(CONTIGUOUS, "axes.CAP={values: [77, 300]}").text


# ---------------------------------------------------------------- keys and values in one tensor


SEPARATE = ("layout.kv=separate", "interface.args=[q, k_cache, v_cache, block_table, seq_lens]")
INTERLEAVED = "layout.kv=interleaved"


@pytest.mark.parametrize(
    ("cache", "kv", "shape"),
    [
        ("paged_nhd", "packed", "(PAGES, PAGE, HK, 2 * D)"),
        ("paged_hnd", "packed", "(PAGES, HK, PAGE, 2 * D)"),
        ("paged_nhd", "interleaved", "(PAGES, 2, PAGE, HK, D)"),
        ("paged_hnd", "interleaved", "(PAGES, 2, HK, PAGE, D)"),
    ],
)
def test_one_tensor_holds_both(rendered, cache, kv, shape):
    text = rendered(PACKED, f"layout.cache={cache}", f"layout.kv={kv}").text
    assert f'check_shape("kv_cache", kv_cache, {shape})' in text
    assert "    PAGES = kv_cache.shape[0]\n" in text
    assert "aligned = is_aligned(q, kv_cache)" in text
    behind = "            + D\n            + o_d[None, :],\n"
    half = "            + stride_kv_half\n"
    assert text.count(behind) == 2 * (kv == "packed") and text.count(half) == 2 * (kv != "packed")


def test_keys_and_values_are_where_they_are_said_to_be(rendered):
    _, apart = _inputs(rendered(PACKED, *SEPARATE), [20, 0, 3])
    _, behind = _inputs(rendered(PACKED), [20, 0, 3])
    _, halves = _inputs(rendered(PACKED, INTERLEAVED), [20, 0, 3])
    for place, name in enumerate(("k_cache", "v_cache")):
        same = functools.partial(torch.equal, apart[name].view(torch.int16))
        assert same(behind["kv_cache"][..., 64 * place :][..., :64].view(torch.int16))
        assert same(halves["kv_cache"][:, place].view(torch.int16))


def test_one_tensor_gives_what_two_give(rendered):
    results = []
    for overrides in (SEPARATE, (), (INTERLEAVED,)):
        source = rendered(PACKED, *overrides)
        case, arguments = _inputs(source, [40, 0, 3])
        found = attention.expected(source.manifest["problem"], case, arguments)
        results.append(found["out"].values)
    assert results[0].abs().sum() > 0
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    ("kv", "old", "new", "said"),
    [
        (
            "packed",
            "+ D\n            + o_d",
            "+ o_d",
            "h=1, d=0], key 16 of request 1 (length 20), is read 2 times, not 1",
        ),
        (
            "packed",
            "p_kv\n            + b_page",
            "p_kv + 1\n            + b_page",
            "h=1, d=0], key 32 of request 0 (length 33), is read 0 times, not 1",
        ),
        (
            "interleaved",
            "            + stride_kv_half\n",
            "",
            "half=0, slot=0, h=1, d=0], key 16 of request 1 (length 20), is read 2 times",
        ),
    ],
)
def test_a_replay_knows_the_halves_of_a_cache(rendered, kv, old, new, said):
    source = rendered(PACKED, f"layout.kv={kv}")
    found = _replayed(source, {"B": 2, "Q": 1, "CAP": 48}, [33, 20], old, new)
    assert any(said in one for one in found), found


@pytest.mark.parametrize("kv", ["packed", "interleaved"])
def test_halves_of_different_width_are_refused(rendered, kv):
    with pytest.raises(KgenError) as caught:
        rendered(PACKED, f"layout.kv={kv}", "axes.DV={const: 32}")
    assert (
        f"KG461: a cache of keys and values that are {kv} has equal halves, and DV is not D"
        in str(caught.value)
    )


# ---------------------------------------------------------------- a scale for each token


SCALED = "interface.args=[q, k_cache, v_cache, seq_lens, k_scale, v_scale]"


@pytest.mark.parametrize(
    ("name", "overrides", "where", "shape"),
    [
        (TOKENS, (), "b_page * {0}_page + (o_n % PAGE) * {0}_slot + i_h", "(PAGES, PAGE, HK)"),
        (
            TOKENS,
            ("layout.cache=paged_hnd",),
            "b_page * {0}_page + i_h * {0}_h + o_n % PAGE",
            "(PAGES, HK, PAGE)",
        ),
        (TOKENS, ("layout.page_size=1",), "b_page * {0}_page + i_h", "(PAGES, PAGE, HK)"),
        (
            CONTIGUOUS,
            ("scales={k: per_token, v: per_token}", SCALED),
            "i_b * {0}_b + o_n * {0}_slot + i_h",
            "(B, CAP, HK)",
        ),
    ],
)
def test_a_scale_lies_where_its_token_does(rendered, name, overrides, where, shape):
    text = rendered(name, *overrides).text
    for scale in ("k_scale", "v_scale"):
        assert f'check_shape("{scale}", {scale}, {shape})' in text
        load = f"b_{scale} = tl.load(p_{scale} + {where.format('stride_' + scale)}, mask=m_n,"
        assert " ".join(text.split()).replace("( ", "(").count(load) == 2


def test_scales_of_tokens_come_before_a_softcap_and_leave_no_other_factor(rendered):
    text = rendered(TOKENS, "masking.softcap=5.0").text
    assert text.count("tl.exp2(b_s * (b_scale * b_k_scale[None, :]))") == 2
    assert "tl.load(p_v_scale" not in text.split("def combine_kernel")[1].split("@triton")[0]


def test_only_fp16_needs_shares_of_the_largest_scale(rendered):
    wide = rendered(TOKENS, "dtypes.operand=bf16").text
    assert rendered(TOKENS).text.count("* b_v_top") == 2 and "b_v_top" not in wide
    assert wide.count("b_w = b_p * b_v_scale[None, :]\n") == 2


def test_scales_that_no_row_needs_are_poisoned(rendered):
    _, arguments = _inputs(rendered(TOKENS), [20, 0, 3])
    used = ~arguments["kv_cache"].float().isnan().all(-1)
    for half, name in enumerate(("k_scale", "v_scale")):
        assert torch.equal(~arguments[name].isnan(), used[:, half])
        assert arguments[name].shape == used[:, half].shape and used[:, half].sum() == 23 * 2
    _, extreme = _inputs(rendered(TOKENS), [20, 0, 3], "extreme")
    assert extreme["v_scale"].nan_to_num().max() > 65504


def test_the_same_scale_for_each_token_is_one_for_all(rendered):
    source, plain = rendered(TOKENS), rendered(TOKENS, "scales={k: per_tensor, v: per_tensor}")
    case, arguments = _inputs(source, [20, 0, 3])
    given = {name: torch.full_like(arguments[name], 0.75) for name in ("k_scale", "v_scale")}
    one = {name: torch.full((1,), 0.75) for name in given}
    results = [
        attention.expected(from_.manifest["problem"], case, {**arguments, **scales})["out"].values
        for from_, scales in ((source, given), (plain, one), (source, {}))
    ]
    assert torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])


def test_the_work_counts_scales_of_tokens(rendered):
    with_scales, without = (
        rendered(TOKENS, *one).manifest["problem"]
        for one in ((), ("scales={k: per_tensor, v: per_tensor}",))
    )
    case, _ = _inputs(rendered(TOKENS), [20, 0, 3])
    moved = attention.work(with_scales, case).bytes - attention.work(without, case).bytes
    assert moved == 2 * 4 * 23 * 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "stride_k_scale_slot + i_h",
            "stride_k_scale_slot",
            "k_scale[page=3, slot=0, h=0], key 16 of request 1 (length 20), is read 1 times, not 0",
        ),
        (
            "mask=m_n,\n            other=0.0,\n        )\n        # ids",
            "mask=o_n < b_hi + 1,\n            other=0.0,\n        )\n        # ids",
            "v_scale[",
        ),
    ],
)
def test_a_replay_knows_the_scales_of_tokens(rendered, old, new, said):
    found = _replayed(rendered(TOKENS), {"B": 2, "Q": 1, "CAP": 48}, [33, 20], old, new)
    assert any(said in one for one in found), found


# ---------------------------------------------------------------- page lists of all requests


def test_lists_have_the_shapes_that_flashinfer_gives_them(rendered):
    text = rendered(CSR).text
    assert 'check_shape("kv_indptr", kv_indptr, (B + 1,))' in text
    assert 'check_shape("kv_last_page_len", kv_last_page_len, (B,))' in text
    assert "    CAP = kv_indices.shape[0] * PAGE\n" in text
    assert "seq_lens" not in text and "block_table" not in text


def test_a_list_of_one_token_pages_needs_no_division(rendered):
    text = rendered(CSR, "layout.page_size=1").text
    assert text.count("tl.load(p_kv_indices + b_list + o_n, mask=") == 2
    assert " // PAGE" not in text.split("def launch")[0]


def test_lists_are_rows_of_a_table_one_behind_the_other(rendered):
    case, arguments = _inputs(rendered(CSR), [20, 0, 3, 32])
    assert arguments["kv_indptr"].tolist() == [0, 2, 2, 3, 5]
    # the request without pages says what it likes of its last one
    assert arguments["kv_last_page_len"].tolist() == [4, -1, 3, 16]
    listed = arguments["kv_indices"].tolist()
    assert case.axes["CAP"] == 16 * len(listed) == 16 * 6
    assert len(set(listed[:5])) == 5 and all(0 < page < case.axes["PAGES"] for page in listed[:5])
    assert listed[5] == STRANGE_IDS[0]


def test_pages_before_the_window_are_strange(rendered):
    window = ("axes.WINDOW={values: [5]}", "masking.window=WINDOW")
    problem = rendered(CSR, *window).manifest["problem"]
    case = case_of(problem, 1, 5, [40, 3], "plain")
    generator = torch.Generator().manual_seed(5)
    listed = attention.inputs(problem, case, generator, torch.device("cpu"))["kv_indices"]
    assert listed[:2].tolist() == list(STRANGE_IDS)
    assert (listed[2:4] > 0).all() and (listed[2:4] < case.axes["PAGES"]).all()


def test_the_last_page_holds_at_most_a_page(rendered):
    source = rendered(CSR)
    case, arguments = _inputs(source, [20, 3], "overlong")
    assert case.runtime["S"] == [37, -3]
    assert arguments["kv_indptr"].tolist() == [0, 2, 2]
    assert arguments["kv_last_page_len"].tolist() == [21, -1]
    found = attention.expected(source.manifest["problem"], case, arguments)["out"].values
    assert found[0].abs().sum() > 0 and not found[0].isnan().any() and not found[1].any()


def test_lists_give_what_a_table_gives(rendered):
    table = "interface.args=[q, k_cache, v_cache, block_table, seq_lens]"
    source, plain = rendered(CSR), rendered(CSR, "layout.table=block_table", table)
    lengths = [40, 0, 3]
    case, arguments = _inputs(source, lengths)
    starts, listed = arguments["kv_indptr"].tolist(), arguments["kv_indices"]
    rows = torch.zeros((3, 3), dtype=torch.int32)
    for request in range(3):
        pages = listed[starts[request] : starts[request + 1]]
        rows[request, : len(pages)] = pages
    through = {**arguments, "block_table": rows}
    other = case_of(plain.manifest["problem"], 1, None, lengths, "plain")
    results = [
        attention.expected(one.manifest["problem"], at, given)["out"].values
        for one, at, given in ((source, case, arguments), (plain, other, through))
    ]
    assert results[0].abs().sum() > 0 and torch.equal(*results)


def test_the_work_counts_lists(rendered):
    table = "interface.args=[q, k_cache, v_cache, block_table, seq_lens]"
    case, _ = _inputs(rendered(CSR), [40, 0, 3])
    plain = rendered(CSR, "layout.table=block_table", table).manifest["problem"]
    other = case_of(plain, 1, None, [40, 0, 3], "plain")
    moved = attention.work(rendered(CSR).manifest["problem"], case).bytes
    assert moved - attention.work(plain, other).bytes == 4 * (4 + 3) - 4 * 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("b_list + o_n // PAGE", "b_list + 1 + o_n // PAGE", "out of range"),
        ("len + i_b)", "len)", "request 2 (length 20), is read 0 times, not 1"),
        (
            "b_full * PAGE + b_held",
            "b_full * PAGE + PAGE",
            "key 33 of request 0 (length 33), is read 1",
        ),
    ],
)
def test_a_replay_knows_the_list_of_a_request(rendered, old, new, said):
    found = _replayed(rendered(CSR), {"B": 3, "Q": 1, "CAP": 48}, [33, 0, 20], old, new)
    assert any(said in one for one in found), found


def test_nothing_is_promised_of_entries_that_no_live_token_needs(root):
    said = list(promises(build(load(root / f"specs/attention/{CSR}.yaml"))))
    assert said[0] == "kv_indptr[b] is from 0 to CAP // PAGE"
    assert said[1] == (
        "kv_indices[LIST + page] is from 0 to PAGES - 1 wherever 0 <= page * PAGE and page * PAGE"
        " < LIVE, where LIST = kv_indptr[b], LIVE = max((LIST_END - LIST - 1) * PAGE"
        " + clamp(LAST, 0, PAGE), 0), LAST = kv_last_page_len[b], LIST_END = kv_indptr[b + 1]"
    )
