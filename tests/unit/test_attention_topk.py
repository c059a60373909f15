"""Top-k: what indices for each query token change in the emitted file and in its tests, and which specs are refused."""

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
from kgen.plan.build import build
from kgen.prove.promises import promises
from kgen.prove.replay.host import capture
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import render
from kgen.render.model import Source
from kgen.spec import load

BF16, FP8 = "mla_sparse_h128_bf16", "mla_sparse_h16_fp8"
SMALL = ("axes.D={const: 32}", "axes.DR={const: 16}")
FEW = (*SMALL, "axes.G={const: 24}", "regimes.tiles.tile={BLOCK_M: 16, BLOCK_N: 32}")


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    """A named spec with changes, as a file."""
    return functools.cache(
        lambda name, *overrides: render(
            build(load(root / f"specs/attention/{name}.yaml", overrides))
        )
    )


def _inputs(source: Source, queries: int, lengths: list[int], layout: str = "plain"):
    """A case with these lengths, and its arguments."""
    problem = source.manifest["problem"]
    case = case_of(problem, queries, None, lengths, layout)
    generator = torch.Generator().manual_seed(5)
    return case, attention.inputs(problem, case, generator, torch.device("cpu"))


def _expected(source: Source, case: Any, arguments: dict) -> dict[str, torch.Tensor]:
    found = attention.expected(source.manifest["problem"], case, arguments)
    return {name: one.values for name, one in found.items()}


def _kernel(source: Source, name: str) -> str:
    return source.text.split(f"def {name}(")[1].split("@triton")[0]


# ---------------------------------------------------------------- the emitted file


def test_each_query_token_has_indices_and_a_count_of_them(rendered):
    text = rendered(BF16).text
    assert 'check_shape("indices", indices, (B, Q, CAP))' in text
    assert 'check_shape("valid_topk", valid_topk, (B, Q))' in text
    assert "CAP = indices.shape[2]\n" in text
    assert "seq_lens" not in text and "block_table" not in text


def test_what_is_no_token_is_masked_wherever_it_stands(rendered):
    for name in ("split_kernel", "split_verify_kernel", "attend_kernel"):
        kernel = _kernel(rendered(BF16), name)
        assert "m_n = (b_token >= 0) & (b_token // PAGE < PAGES)" in kernel
        assert "other=0)" not in kernel and "b_page" not in kernel
    assert "m_n = (b_token >= 0) & (b_token < PAGES)" in _kernel(rendered(FP8), "split_kernel")


def test_a_tile_of_rows_holds_heads_of_one_query_token(rendered):
    split = _kernel(rendered(BF16), "split_verify_kernel")
    assert "i_b, i_t = i_q // Q, i_q % Q" in split and "o_t" not in split
    assert "m_s = m_n[None, :]" in split and "b_last" not in split
    attend = _kernel(rendered(BF16), "attend_kernel")
    assert "i_t, i_m = i_m // HEAD_TILES, i_m % HEAD_TILES" in attend


def test_parts_are_counted_by_query_tokens(rendered):
    launcher = rendered(BF16).text.split("def launch_tiles_verify(")[1].split("\ndef ")[0]
    assert "SETS = B * 2\n" in launcher
    assert "SPLITS = max(1, min(32, 2 * SMS // (SETS * HK * 2), ceil_div(CAP, 128)))" in launcher
    assert "split_verify_kernel[(SETS, HK * 2, SPLITS)]" in launcher
    assert "(SETS, HK, SPLITS, G, D)" in launcher


def test_nothing_is_promised_of_indices(root: Path):
    said = list(promises(build(load(root / f"specs/attention/{BF16}.yaml"))))
    assert not any("indices" in one or "valid_topk" in one for one in said)


# ---------------------------------------------------------------- its tests


def test_entries_are_drawn_of_every_kind(rendered):
    _, arguments = _inputs(rendered(FP8, *SMALL), 1, [100, 40, 100, 100])
    indices, slots = arguments["indices"], arguments["kv_cache"].shape[0]
    first = indices[0, 0]
    assert (first == -1).any() and (first == slots).any() and (first < -1).any()
    assert (first > slots).any()
    named = first[(first >= 0) & (first < slots)]
    assert 0 < len(named.unique()) < len(named)
    assert ((indices[3, 0] < 0) | (indices[3, 0] >= slots)).all()


def test_entries_that_do_not_count_name_tokens_that_hold_nan(rendered):
    """A49: what lies behind `valid_topk` is an index like others, and must not be read."""
    for valid in (1, 63, 64, 65):
        _, arguments = _inputs(rendered(FP8, *SMALL), 1, [100, valid])
        tail = arguments["indices"][1, 0, valid:].long()
        cache = arguments["kv_cache"].float()
        assert ((tail >= 0) & (tail < len(cache))).all()
        assert cache[tail].isnan().all()


def test_a_count_beyond_the_indices_or_below_none_is_held_within(rendered):
    """A51: a count of -1 is none."""
    case, arguments = _inputs(rendered(FP8, *SMALL), 4, [10, 0], "overlong")
    assert arguments["valid_topk"].tolist() == [[15, 14, 13, 12], [-3, -4, -5, -6]]
    found = _expected(rendered(FP8, *SMALL), case, arguments)
    assert (found["out"][1] == 0).all() and (found["lse"][1] == -torch.inf).all()
    assert found["out"][0, 0].abs().max() > 0


def test_a_query_token_whose_indices_name_nothing_gives_zero(rendered):
    """A48."""
    case, arguments = _inputs(rendered(FP8, *SMALL), 1, [40, 40, 40, 40])
    found = _expected(rendered(FP8, *SMALL), case, arguments)
    assert (found["out"][3] == 0).all() and (found["lse"][3] == -torch.inf).all()
    assert found["lse"][:3].isfinite().all()


def test_a_token_that_is_named_twice_counts_twice(rendered):
    source = rendered(FP8, *SMALL)
    case, arguments = _inputs(source, 1, [2])
    named = arguments["indices"][0, 0, 0].item()
    lse = []
    for given in ([named, -1], [named, named], [-1, named]):
        changed = {**arguments, "indices": torch.tensor([[given]], dtype=torch.int32)}
        lse.append(_expected(source, case, changed)["lse"])
    assert torch.allclose(lse[1] - lse[0], torch.tensor(2.0, dtype=torch.float64).log())
    assert torch.equal(lse[0], lse[2])


def test_the_work_counts_tokens_for_each_query_token(rendered):
    source = rendered(BF16)
    case, _ = _inputs(source, 2, [7])
    found = attention.work(source.manifest["problem"], case)
    # five of seven entries name a token; of the second query token, with six that count, too few to reach the last
    pairs = 5 + 4
    assert found.operations == 2 * pairs * 128 * (576 + 512)
    rows = 2 * 128 * (576 * 2 + 512 * 2 + 4)
    assert found.bytes == pairs * 576 * 2 + rows + 4 * (7 + 6 + 2)


@pytest.mark.parametrize(
    ("queries", "old", "new", "said"),
    [
        (1, "(b_token >= 0) & ", "", "out of range"),
        (1, "b_token // PAGE < PAGES", "b_token // PAGE <= PAGES", "out of range"),
        (1, "(b_token // PAGE)[:, None]", "(b_token // PAGE ^ 1)[:, None]", "for query token 0 of request"),
        (2, "i_q // Q, i_q % Q", "i_q // Q, 1 - i_q % Q", "for query token 1 of request"),
        (3, "i_m // HEAD_TILES, i_m % HEAD_TILES", "0, i_m % HEAD_TILES", "is written"),
    ],
)  # fmt: skip
def test_a_replay_knows_indices(rendered, queries, old, new, said):
    source = rendered(BF16, *FEW)
    axes = {"B": 2, "Q": queries, "CAP": 40}
    scene = attention_scene(source.manifest["problem"], axes, [40, 9])

    def findings(text: str) -> list[str]:
        report = run_grid(text, capture(text, scene.arguments, axes=scene.axes))
        return [str(one) for one in report.findings(scene.reads(report.instance))]

    assert source.text.count(old) >= 1
    assert findings(source.text) == []
    found = findings(source.text.replace(old, new))
    assert any(said in one for one in found), found


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["layout.kv=separate"], "KG468: layout.table is topk, and layout.kv is separate: indices are of latents, which all query heads share"),
        (["layout.kv=packed"], "write kv: latent or latent_split, or table: block_table"),
        (["layout.queries=ragged", "axes.T={range: [1, 256]}", "axes.N={range: [0, Q], runtime: true}"], "KG468: layout.queries is ragged, and indices have a row for each of Q query tokens of a request"),
        (["axes.WINDOW={values: [none, 64]}", "masking.window=WINDOW"], "KG468: masking.window goes by where keys stand, and indices say which tokens are seen, not where these stand"),
        (["axes.Q={values: [2, 4]}", "masking.tree=int32"], "KG468: masking.tree goes by where keys stand"),
        (["axes.Q={values: [2, 4]}", "masking.tree=int32"], "leave out of the indices what is not to be seen"),
        (["layout.cache=contiguous_nhd"], "KG460: `table` speaks of pages, and a contiguous_nhd cache has none"),
        (["axes.G={const: 1}"], "KG428: one query head in all: a tile of rows would have one row"),
        (["interface.args=[q, kv_cache, indices]"], "KG404: interface.args leaves out `valid_topk`"),
        (["interface.args=[q, kv_cache, indices, valid_topk, seq_lens]"], "KG404: interface.args names `seq_lens`"),
        (["regimes=[{name: many, when: B <= 8, variant: even, splits: {waves: 1}}, {name: rest, when: otherwise, fallback: generic}]"], "KG409: variant even does not cover layout.table: topk"),
    ],
)  # fmt: skip
def test_what_top_k_cannot_have_is_refused(rendered, overrides, said):
    with pytest.raises(KgenError) as caught:
        rendered(BF16, *overrides)
    assert said in str(caught.value)
