"""A candidate is dropped exactly where its plan, made and checked as a whole, would be refused."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.diagnostics import KgenError, Severity
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.templates import Templates
from kgen.spec import load
from kgen.sweep.model import Candidate
from kgen.sweep.planned import Planner
from kgen.sweep.prune import Rules, prune
from kgen.sweep.rank import rank
from kgen.sweep.space import Axes, axes, candidates, current

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

from swept_specs import SPECS  # noqa: E402

ROOT = Path(__file__).parents[2]
ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
BATCHED = "specs/attention/gqa8_bf16_page16.yaml"
ODD = "specs/norm/rms_odd.yaml"

SIZED = """\
kgen: 1
variant: sized
family: norm
doc: Never rendered. Its parameters decide whether there is a plan, which statements it has, and whether they hold.
covers: {norm.op: [rms]}
parameters:
  BLOCK: {key: tile.BLOCK, type: int, default: 16, min: 0, max: 4096, doc: columns of a tile}
  PARTS: {key: splits.parts, type: int, default: 1, min: 0, max: 1048576, doc: most parts of the rows}
  CHUNK: {key: splits.chunk, type: int, default: 1, min: 1, max: 4096, doc: fewest rows of a part}
  NUM_WARPS: {key: launch.num_warps, type: int, default: 4, choices: [1, 4], doc: warps}
  ALIGNED: {key: launch.aligned, type: bool, default: false, doc: ask for aligned rows}
cases: [H]
labels: {narrow: SHIFT < 4}
let:
  SHIFT: {value: log2(BLOCK), doc: of the tile}
  USED: {value: "max(1, min(PARTS, ceil_div(T, CHUNK)))", doc: parts}
constraints:
  - {require: BLOCK <= 2 * H or ALIGNED, why: a tile of a short row is mostly empty}
lanes: [BLOCK]
tiling:
  columns: {extent: H, tile: BLOCK}
  rows: {extent: T, tile: "16", parts: USED, most_parts: PARTS}
int32: [{value: USED * BLOCK * 1024, why: an offset}]
aligned: {when: ALIGNED, tensors: [x]}
scratch:
  partial: {dtype: fp32, dims: {s: USED, b: BLOCK}, doc: one tile a part}
kernels:
  part:
    doc: one part
    grid: {s: USED}
    tensors: [x, partial]
    writes: [partial]
    constants: [SHIFT, BLOCK]
    launch: {num_warps: NUM_WARPS, num_stages: "1"}
    shared: BLOCK * 64
    bytes: T * H
    operations: T
"""


@pytest.fixture
def sized(tmp_path: Path) -> Templates:
    folder = tmp_path / "norm" / "sized"
    folder.mkdir(parents=True)
    (folder / "variant.yaml").write_text(SIZED)
    (folder / "kernel.py.j2").write_text("")
    return Templates([tmp_path])


def _rules(spec: str, templates: Templates, one: Axes) -> Rules:
    return Rules(build(load(ROOT / spec), templates), one, templates)


def _dropped(rules: Rules, candidate: Candidate) -> bool:
    return (rules.broken(candidate) or rules.unproved(candidate)) is not None


def _refused(spec: str, templates: Templates, candidate: Candidate) -> bool:
    """Whether the candidate's own plan has an error or a finding, by the way that every other command takes."""
    try:
        plan = build(load(ROOT / spec, candidate.overrides()), templates)
    except KgenError:
        return True
    return any(one.severity is not Severity.INFO for one in check(plan).findings)


def _compared(spec: str, templates: Templates, extra: Sequence[str]) -> tuple[int, int]:
    """Of the candidates of these axes, how many are dropped and how many are not, each as the whole plan has it."""
    counts = [0, 0]
    for one in axes(load(ROOT / spec, ["sweep={}"]), templates, extra):
        rules = _rules(spec, templates, one)
        for candidate in candidates(one):
            dropped = _dropped(rules, candidate)
            assert dropped == _refused(spec, templates, candidate), str(candidate)
            counts[not dropped] += 1
    return counts[0], counts[1]


@pytest.mark.parametrize("spec", [one for one in SPECS if "norm" in one])
def test_norms_are_dropped_exactly_where_the_whole_plan_is_refused(spec):
    extra = ["rows.variant=rms,generic", "rows.launch.aligned=true,false"]
    dropped, left = _compared(spec, Templates(), [*extra, "rows.tile.BLOCK_H=96,1024,16384"])
    assert (dropped, left) == ((2, 3) if "odd" in spec else (1, 4))


def test_a_variant_that_can_fail_in_every_way_is_dropped_exactly_where_its_plan_is_refused(sized):
    extra = [
        "rows.variant=sized",
        "rows.tile.BLOCK=0,3,64,4096",
        "rows.splits.parts=0,64,1048576",
        "rows.splits.chunk=1,4096",
        "rows.launch.aligned=true,false",
    ]
    dropped, left = _compared("specs/norm/rms_4096.yaml", sized, extra)
    assert dropped > 20 and left > 3


@pytest.mark.parametrize(
    "change, rule",
    [
        ("tile.BLOCK=3", "the variant can serve the regime (KG413)"),
        ("tile.BLOCK=4096", "part: BLOCK * 64 <= 232448 bytes"),
        ("splits.parts=0", "there is at least one part and at most PARTS"),
        ("splits.parts=1048576", "USED * BLOCK * 1024 < 2^31"),
    ],
)
def test_each_kind_of_rule_drops_and_is_named(sized, change, rule):
    spec = "specs/norm/rms_4096.yaml"
    (one,) = axes(load(ROOT / spec), sized, ["rows.variant=sized", f"rows.{change}"])
    (dropped,) = prune(_rules(spec, sized, one), candidates(one)).dropped
    assert rule in dropped.rule
    assert dropped.count == 1


keys = ("tile.BLOCK_N", "splits.waves", "splits.min_chunk", "splits.max", "launch.num_stages")
sizes = (
    (16, 32, 48, 128, 512),
    (1, 3, 16),
    (1, 4096, 1048576),
    (1, 7, 4096),
    (1, 4, 8),
)


@pytest.fixture(scope="module")
def wide() -> tuple[Axes, Rules]:
    """Split-K over values of which many cannot be."""
    extra = [f"large_batch.{key}={','.join(map(str, v))}" for key, v in zip(keys, sizes)]
    spec = load(ROOT / BATCHED)
    (one,) = axes(spec, Templates(), extra)
    return one, Rules(build(spec), one, Templates())


@settings(max_examples=6)
@given(values=st.tuples(*map(st.sampled_from, sizes)))
def test_split_k_is_dropped_exactly_where_the_whole_plan_is_refused(wide, values):
    one, rules = wide
    own = {**{key: known[0] for key, known in one.values.items()}, **dict(zip(keys, values))}
    candidate = Candidate(one.regime, tuple(sorted(own.items())))
    assert _dropped(rules, candidate) == _refused(BATCHED, Templates(), candidate)


@pytest.mark.full
@pytest.mark.parametrize("direct", ["true,false", "true"])
def test_a_parameter_that_changes_what_another_decides_counts_for_both(direct):
    extra = [f"decode.splits.direct={direct}", "decode.splits.max=1,7", "decode.splits.waves=1,3"]
    dropped, left = _compared(ATTENTION, Templates(), [*extra, "decode.tile.BLOCK_N=32,512"])
    assert dropped and left


def test_what_stands_beside_a_parameter_that_no_candidate_changes_decides_nothing(monkeypatch):
    """10,240 candidates are some dozens for each rule, which is what makes it quick."""
    keys = ("tile.BLOCK_N=16,32,64,128,256", "launch.num_warps=1,2,4,8", "splits.waves=1,2,3,4")
    keys += ("launch.num_stages=1,2,3,4,5,6,7,8", "splits.min_chunk=64,128,256,512")
    keys += ("splits.max=16,32,64,128",)
    made = []
    planned = Planner._regime
    monkeypatch.setattr(
        Planner, "_regime", lambda self, one: made.append(one) or planned(self, one)
    )
    tried = []
    monkeypatch.setattr(
        "kgen.sweep.prune.refuted", lambda *arguments: tried.append(arguments) or ""
    )
    (one,) = axes(load(ROOT / ATTENTION), Templates(), [f"decode.{key}" for key in keys])
    rules = _rules(ATTENTION, Templates(), one)
    assert len(prune(rules, candidates(one)).survivors) == 10240
    assert len(made) < 400 and len(tried) < 1000


@pytest.mark.full
@pytest.mark.parametrize("spec", [one for one in SPECS if "attention" in one])
def test_attention_is_dropped_exactly_where_the_whole_plan_is_refused(spec):
    document = load(ROOT / spec).document
    first = document.regimes[0]
    every = [
        f"{first.name}.{key}={values}"
        for key, values in (
            # a knob that no variant is left to take is a finding about the spec, and not about the candidate
            ("variant", "split_k" if document.knobs else "split_k,generic"),
            ("tile.BLOCK_N", "32,96,256"),
            ("launch.num_stages", "2,8"),
            ("splits.max", "1,256"),
        )
        # whoever runs the file sets a knob: it is not swept
        if not (key == "splits.max" and isinstance(first.splits.get("max"), str))
    ]
    dropped, left = _compared(spec, Templates(), every)
    assert dropped and left


@pytest.mark.parametrize("spec", SPECS)
def test_whatever_a_spec_has_now_is_never_dropped(spec):
    loaded, templates = load(ROOT / spec), Templates()
    for one in axes(loaded, templates, everything=True):
        own = current(loaded, templates, one.index)
        if own.variant == one.variant:
            assert _rules(spec, templates, one).broken(own) is None


def test_what_is_dropped_is_counted_by_rule_with_its_place_and_an_example():
    templates = Templates()
    extra = ["decode.tile.BLOCK_N=48,64,512", "decode.launch.num_stages=2,8"]
    (one,) = axes(load(ROOT / ATTENTION), templates, extra)
    found = prune(_rules(ATTENTION, templates, one), candidates(one))
    odd, shared = found.dropped
    assert (odd.rule, odd.count) == ("is_pow2(BLOCK_N)", 12)
    assert odd.why == "tl.arange needs a power of two"
    assert odd.place.file == "<--axis 1>"
    assert dict(odd.example.settings)["tile.BLOCK_N"] == 48
    assert "<= 232448 bytes, before the compiler's own needs" in shared.rule
    assert (shared.count, shared.place.file) == (6, "<--axis 1>")
    assert len(found.survivors) == one.size - 18
    assert list(found.survivors) == [c for c in candidates(one) if c in set(found.survivors)]


def test_a_rule_about_what_the_spec_sweeps_points_into_the_spec():
    spec = load(ROOT / ATTENTION, ["sweep.decode={tile.BLOCK_N: [48]}"])
    (one,) = axes(spec, Templates())
    (dropped,) = prune(Rules(build(spec), one, Templates()), candidates(one)).dropped
    assert dropped.place.file == "<--set 1>"


def test_a_variant_that_does_not_cover_the_spec_is_dropped_as_a_whole():
    spec = load(ROOT / ATTENTION)
    generic = next(one for one in axes(spec, Templates(), everything=True) if one.index == 0)
    plan = build(spec)
    templates = Templates()
    variant = templates.find("attention", generic.variant)
    covers = {**variant.variant.covers, "masking.causal": (False,)}
    narrow = variant.variant.model_copy(update={"covers": covers})
    templates._loaded["attention", generic.variant] = type(variant)(
        narrow, variant.directory, variant.file
    )
    (dropped,) = prune(Rules(plan, generic, templates), candidates(generic)).dropped
    assert dropped.count == generic.size
    assert dropped.rule == "the variant can serve the regime (KG409)"
    assert "does not cover masking.causal: true" in dropped.why


def test_a_proof_that_sympy_does_not_confirm_drops(monkeypatch):
    (one,) = axes(load(ROOT / ODD), Templates(), ["rows.launch.num_warps=4"])
    rules = _rules(ODD, Templates(), one)
    (candidate,) = candidates(one)
    monkeypatch.setattr("kgen.algebra.sympy_check.refused", list)
    assert "sympy does not" in rules.unproved(candidate).why


def test_where_everything_is_dropped_the_rules_are_told():
    spec = load(ROOT / ATTENTION)
    found = axes(spec, Templates(), ["decode.tile.BLOCK_N=48,96"])
    with pytest.raises(KgenError) as caught:
        rank(spec, Templates(), found)
    text = str(caught.value)
    assert "<--axis 1>:1:1: KG856: all 36 candidates of regime decode are dropped" in text
    assert "36 by `is_pow2(BLOCK_N)` (tl.arange needs a power of two)" in text


def test_alignment_that_no_tensor_can_have_drops_where_nothing_else_serves():
    (one,) = axes(load(ROOT / ODD), Templates(), ["rows.launch.aligned=true,false"])
    (dropped,) = prune(_rules(ODD, Templates(), one), candidates(one)).dropped
    assert (dropped.rule, dropped.count) == ("the variant can serve the regime (KG422)", 1)
    assert "contiguous rows of x have 3; no later regime takes them" in dropped.why
