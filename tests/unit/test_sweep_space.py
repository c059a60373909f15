"""The axes of a sweep, and the candidates they make."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.diagnostics import KgenError
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.plan.variant import Parameter
from kgen.spec import load
from kgen.spec.regime import SECTIONS
from kgen.sweep.model import Candidate
from kgen.sweep.space import Axes, axes, candidates, current
from kgen.sweep.values import FEW, usual

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

from swept_specs import SPECS  # noqa: E402

ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
NORM = "specs/norm/rms_4096.yaml"


@pytest.fixture
def swept(root: Path):
    def run(spec: str, *extra: str, overrides: tuple[str, ...] = (), **options) -> tuple[Axes, ...]:
        return axes(load(root / spec, overrides), Templates(), extra, **options)

    return run


def _refused(swept, *arguments, **options) -> str:
    with pytest.raises(KgenError) as caught:
        swept(*arguments, **options)
    return str(caught.value)


def test_the_spec_s_own_axes_are_swept_and_nothing_else(swept):
    (decode,) = swept(ATTENTION)
    assert (decode.regime, decode.variant, decode.size) == ("decode", "split_k", 54)
    assert dict(decode.values) == {
        "launch.num_stages": (2, 3, 4),
        "launch.num_warps": (4, 8),
        "splits.max": (128,),
        "splits.min_chunk": (256,),
        "splits.waves": (1, 2, 3),
        "tile.BLOCK_N": (32, 64, 128),
        "variant": ("split_k",),
    }
    assert decode.places["tile.BLOCK_N"].line == 36
    assert decode.places["splits.max"].line == 24


def test_an_axis_takes_the_place_of_the_spec_s_and_adds_to_the_others(swept):
    (decode,) = swept(ATTENTION, "decode.tile.BLOCK_N=16", "decode.splits.max=1, 2")
    assert decode.values["tile.BLOCK_N"] == (16,)
    assert decode.values["splits.max"] == (1, 2)
    assert decode.values["splits.waves"] == (1, 2, 3)
    assert decode.places["splits.max"].file == "<--axis 2>"


def test_an_axis_of_one_regime_leaves_the_others_alone(swept):
    found = swept(ATTENTION, "verify_one.tile.BLOCK_N=32,64", overrides=("sweep={}",))
    assert [(one.regime, one.size) for one in found] == [("verify_one", 2)]


def _given(regime) -> set[str]:
    return {f"{section}.{name}" for section in SECTIONS for name in getattr(regime, section)}


@pytest.mark.parametrize("spec", SPECS)
def test_where_nothing_is_named_every_parameter_of_every_variant_is_tried(swept, root, spec):
    found = swept(spec, overrides=("sweep={}",))
    document = load(root / spec).document
    templates = Templates()
    names = templates.names(document.family)
    served = [regime.name for regime in document.regimes if regime.variant]
    assert {(one.regime, one.variant) for one in found} == {(r, v) for r in served for v in names}
    for one in found:
        declared = templates.find(document.family, one.variant).variant.parameters.values()
        given = _given(document.regimes[one.index])
        replaced = {key for own in declared if own.key in given for key in own.instead}
        usual = {parameter.key for parameter in declared if not parameter.optional} - replaced
        named = {parameter.key for parameter in declared if parameter.key in given}
        assert set(one.values) == {"variant", *usual, *named}
        # whoever runs the file sets a knob
        assert set(one.swept) == usual - {
            key for key, value in one.values.items() if value[0] in document.knobs
        }


def test_everything_keeps_the_values_that_are_named(swept):
    found = {one.variant: one for one in swept(ATTENTION, everything=True) if one.index == 0}
    assert found["split_k"].values["tile.BLOCK_N"] == (32, 64, 128)
    assert found["split_k"].values["splits.max"] == (16, 32, 64, 128, 256)
    assert found["generic"].lacking == ("splits.waves",)


def test_the_variant_is_an_axis_and_a_key_that_one_lacks_is_not_formed_for_it(swept):
    split_k, generic = swept(ATTENTION, "decode.variant=split_k,generic")
    assert (split_k.size, split_k.lacking) == (54, ())
    assert (generic.size, generic.lacking) == (18, ("splits.waves",))
    assert "splits.waves" not in generic.values


def test_the_spec_itself_may_sweep_the_variant(swept):
    over = ("sweep={decode: {variant: [generic], tile.BLOCK_M: [16, 32]}}",)
    (generic,) = swept(ATTENTION, overrides=over)
    assert generic.values["tile.BLOCK_M"] == (16, 32)
    assert generic.values["tile.BLOCK_N"] == (128,)


def test_a_value_that_one_variant_alone_takes_is_tried_with_that_one(swept):
    found = swept(NORM, "rows.variant=rms,generic", "rows.launch.num_warps=8,16")
    assert {one.variant: one.values["launch.num_warps"] for one in found} == {
        "rms": (8, 16),
        "generic": (8,),
    }


def test_candidates_are_made_one_at_a_time_and_hold_every_setting(swept):
    (decode,) = swept(ATTENTION)
    every = candidates(decode)
    assert next(every) == Candidate(
        "decode",
        (
            ("launch.num_stages", 2),
            ("launch.num_warps", 4),
            ("splits.max", 128),
            ("splits.min_chunk", 256),
            ("splits.waves", 1),
            ("tile.BLOCK_N", 32),
            ("variant", "split_k"),
        ),
    )
    assert len({*every}) == 53


def test_the_overrides_of_a_candidate_leave_nothing_of_another_variant(swept, root):
    generic = next(candidates(swept(ATTENTION, "decode.variant=generic,split_k")[0]))
    decode = load(root / ATTENTION, generic.overrides()).document.regimes[0]
    assert (decode.variant, decode.when) == ("generic", "Q == 1")
    assert (dict(decode.splits), dict(decode.tile)) == ({}, {"BLOCK_M": 16, "BLOCK_N": 32})
    assert dict(decode.launch) == {"num_stages": 2, "num_warps": 4}


@pytest.mark.parametrize("spec", SPECS)
def test_the_current_candidate_is_what_the_spec_has(root, spec):
    loaded, templates = load(root / spec), Templates()
    for index, regime in enumerate(loaded.document.regimes):
        if regime.variant:
            own = current(loaded, templates, index)
            changed = build(load(root / spec, own.overrides()), templates)
            assert changed.regimes[index].parameters == build(loaded).regimes[index].parameters


def test_a_boolean_is_written_as_yaml_has_it(swept, root):
    (rows,) = swept(NORM, "rows.launch.aligned=true,false")
    first, second = candidates(rows)
    assert "launch.aligned=true" in str(first)
    regime = load(root / NORM, second.overrides()).document.regimes[0]
    assert regime.launch == {"aligned": False, "num_warps": 8}


@pytest.mark.parametrize(
    "axis, message",
    [
        ("decode", "KG851: this is not of the form `regime.key=value,value`"),
        ("decode=3", "KG851: this is not of the form `regime.key=value,value`"),
        (".tile.BLOCK_N=3", "KG851: this is not of the form"),
        ("decode.tile.BLOCK_N=", "KG851: there is no value behind `=`"),
        ("decode.tile.BLOCK_N=32,,64", "KG851: a value is empty"),
        ("decode.tile.BLOCK_N\n=32", "KG851: this is not of the form"),
        ("decod.tile.BLOCK_N=32", "KG852: there is no regime `decod` to sweep"),
        ("rest.tile.BLOCK_N=32", "KG852: the regime `rest` is a fallback and has nothing to sweep"),
        (
            "decode.tile.BLOCKN=32",
            "KG853: `tile.BLOCKN` is no parameter of `split_k`, which regime",
        ),
        ("decode.BLOCK_N=32", "KG853: `BLOCK_N` is no parameter of `split_k`"),
        ("decode.tile.BLOCK_N=8", "KG854: tile.BLOCK_N is 8, less than 16"),
        ("decode.tile.BLOCK_N=wide", "KG854: tile.BLOCK_N is an integer, not the text 'wide'"),
        ("decode.tile.BLOCK_N=true", "KG854: tile.BLOCK_N is an integer, not the truth value true"),
        ("decode.tile.BLOCK_N=3.5", "KG854: tile.BLOCK_N is an integer, not the text '3.5'"),
        ("decode.tile.BLOCK_N=" + "9" * 50, "KG854: tile.BLOCK_N is an integer, not the text"),
        ("decode.launch.num_warps=3", "KG854: launch.num_warps cannot be 3"),
        ("decode.variant=split", "KG854: attention has no variant `split`"),
        ("decode.variant=../../x", "KG854: attention has no variant `../../x`"),
        ("decode.tile.BLOCK_N=32,64,32", "KG855: tile.BLOCK_N is to be 32 twice"),
    ],
)
def test_an_axis_that_makes_no_sense_is_refused(swept, axis, message):
    text = _refused(swept, ATTENTION, axis)
    assert message in text
    assert "<--axis 1>:1:1" in text


def test_a_refusal_says_what_to_write(swept):
    assert "did you mean `tile.BLOCK_N`?" in _refused(swept, ATTENTION, "decode.tile.BLOCKN=32")
    assert "did you mean `decode`?" in _refused(swept, ATTENTION, "decod.tile.BLOCK_N=32")
    assert "did you mean `split_k`?" in _refused(swept, ATTENTION, "decode.variant=split")
    assert "write one of 1, 2, 4, 8" in _refused(swept, ATTENTION, "decode.launch.num_warps=3")


def test_every_problem_is_told_at_once(swept):
    text = _refused(swept, ATTENTION, "x", "decod.a.b=1", "decode.tile.BLOCK_N=1,1")
    assert [code in text for code in ("KG851", "KG852", "KG855")] == [True] * 3


@pytest.mark.parametrize(
    ("axis", "code", "told"),
    [
        ("tile.BLOCK_N=" + ",".join(map(str, range(1000, 4000))), "KG854", "tile.BLOCK_N"),
        ("tile.BLOCK_N=" + ",".join([*map(str, range(1000, 4000))] * 2), "KG855", "tile.BLOCK_N"),
        ("variant=" + ",".join(f"v{number}" for number in range(3000)), "KG854", "variant"),
    ],
)
def test_of_thousands_of_wrong_values_the_first_are_told_and_the_others_counted(
    swept, axis, code, told
):
    text = _refused(swept, ATTENTION, f"decode.{axis}")
    assert text.count(f"{code}: ") == 7
    assert f"{code}: 2994 more of the values of {told} are wrong\n" in text


def test_one_key_has_one_axis(swept):
    text = _refused(swept, ATTENTION, "decode.tile.BLOCK_N=32", "decode.tile.BLOCK_N=64")
    assert "<--axis 2>:1:1: KG855: decode.tile.BLOCK_N has two --axis" in text


def test_a_key_of_the_spec_that_no_variant_has_is_told_at_its_place(swept):
    text = _refused(swept, ATTENTION, overrides=("sweep={decode: {splits.waste: [1]}}",))
    assert "KG853: `splits.waste` is no parameter of `split_k`" in text
    assert "did you mean `splits.waves`?" in text


def test_a_value_twice_in_the_spec_is_refused(root):
    with pytest.raises(KgenError, match="KG207: `32` is there twice"):
        load(root / ATTENTION, ["sweep={decode: {tile.BLOCK_N: [32, 64, 32]}}"])


def test_an_unknown_variant_of_the_spec_is_told_with_the_known(swept):
    over = ("regimes.decode.variant=splitk",)
    assert "KG408: there is no variant splitk of attention" in _refused(
        swept, ATTENTION, overrides=over
    )


def test_a_spec_of_fallbacks_has_nothing_to_sweep(swept):
    rest = "regimes=[{name: rest, when: otherwise, fallback: generic}]"
    text = _refused(swept, NORM, overrides=(rest,))
    assert "KG858: every regime is a fallback, so there is nothing to sweep" in text


def test_variants_none_of_which_takes_a_value_of_every_key(root, tmp_path):
    folder = tmp_path / "norm" / "wide"
    shutil.copytree(root / "templates" / "norm" / "generic", folder)
    declared = (folder / "variant.yaml").read_text()
    for before, after in (
        ("variant: generic", "variant: wide"),
        ("min: 1, max: 16384", "min: 4096, max: 16384"),
        ("default: 1024", "default: 4096"),
        ("choices: [1, 2, 4, 8]", "choices: [4, 16]"),
    ):
        assert before in declared
        declared = declared.replace(before, after)
    (folder / "variant.yaml").write_text(declared)
    keys = ["rows.variant=generic,wide", "rows.tile.BLOCK_H=128", "rows.launch.num_warps=16"]
    with pytest.raises(KgenError) as caught:
        axes(load(root / NORM), Templates([tmp_path]), keys)
    assert "KG858: no variant that regime rows may run takes a value of every key" in str(
        caught.value
    )
    (only,) = axes(load(root / NORM), Templates([tmp_path]), [*keys[:2], f"{keys[2]},8"])
    assert only.variant == "generic"


def test_a_key_that_a_variant_lacks_is_remembered(swept):
    keys = ("rows.variant=rms,generic", "rows.launch.num_warps=16", "rows.tile.BLOCK_H=64")
    found = swept(NORM, *keys)
    assert [(one.variant, one.lacking) for one in found] == [("rms", ("tile.BLOCK_H",))]


def test_no_part_of_the_space_loads_what_is_heavy():
    modules = "asked, compile_rank, cost, rank, space, trust"
    code = f"import sys; from kgen.sweep import {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "triton", "sympy", "scipy", "numpy", "optuna", "dask", "ruamel", "rich"}
    assert heavy & set(done.stdout.split()) == set()


integers = st.integers(-50, 5000)


@given(low=integers, width=st.integers(0, 5000), default=st.integers(0, 5000))
def test_usual_values_are_allowed_and_hold_the_default(low, width, default):
    high = low + width
    default = min(max(default, low), high)
    one = Parameter(key="tile.X", type="int", default=default, min=low, max=high, doc="")
    values = usual(one)
    assert default in values
    assert all(low <= value <= high for value in values)
    assert list(values) == sorted(set(values))
    assert width >= FEW or len(values) == width + 1
