"""What the plan checks prove, and what they find."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.check import Checked, check
from kgen.plan.templates import Templates
from kgen.spec import load

ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
SPECS = sorted(
    str(path.relative_to(Path(__file__).parents[2]))
    for path in Path(__file__).parents[2].glob("specs/*/*.yaml")
)


@pytest.fixture
def checked(root: Path):
    def run(spec: str = ATTENTION, *overrides: str, templates: Templates | None = None) -> Checked:
        return check(build(load(root / spec, overrides), templates or Templates()))

    return run


@pytest.mark.parametrize("spec", SPECS)
def test_every_spec_is_wholly_proved(checked, spec):
    result = checked(spec)
    assert result.clean
    assert len(result.obligations) >= 5


def test_certificates_are_confirmed_by_sympy(checked, monkeypatch):
    """Where sympy disagrees, nothing is proved."""
    monkeypatch.setattr("kgen.algebra.sympy_check.refused", list)
    result = checked()
    disputed = [one for one in result.obligations if one.status is Status.UNKNOWN]
    assert disputed
    assert all("sympy does not" in one.evidence for one in disputed)


def test_splits_are_proved_for_every_length_and_every_number_of_parts(checked):
    says = {
        one.says for one in checked().obligations if one.subject == "keys are divided into parts"
    }
    assert says == {
        "there is at least one part and at most MAX_SPLITS",
        "any number of parts holds every one of the keys",
        "no two parts overlap",
        "the parts that are combined are there",
        "a part that is combined holds something, so it was written",
        "a part of anything takes a whole tile at least",
        "the parts that are combined hold every one of the keys",
        "a part that is not combined is empty",
    }


def test_a_single_part_is_proved_too(checked):
    assert checked(ATTENTION, "regimes.decode.splits.max=1").clean


def _finding(result: Checked, code: str) -> str:
    assert not result.clean or code in ("KG422", "KG424", "KG425")
    return "\n".join(str(one) for one in result.findings if one.code == code)


def test_a_constraint_that_fails_names_values_and_parameters(checked):
    text = _finding(checked(ATTENTION, "regimes.decode.tile.BLOCK_N=96"), "KG420")
    assert "regime decode: is_pow2(BLOCK_N) is false at" in text
    assert "(tl.arange needs a power of two)" in text
    assert "help: change tile.BLOCK_N, or narrow the regime" in text


def test_shared_memory_beyond_the_device_is_found(checked):
    text = _finding(
        checked(ATTENTION, "regimes.decode.tile.BLOCK_N=512", "regimes.decode.launch.num_stages=8"),
        "KG420",
    )
    assert "<= 232448 bytes, before the compiler's own needs is false" in text


def test_a_grid_beyond_the_device_is_found(checked):
    text = _finding(checked(ATTENTION, "axes.HK={const: 70000}"), "KG420")
    assert "split: HEAD_TILES * ROW_TILES <= 65535 along y is false at" in text


def test_an_int32_that_may_overflow_is_found(checked):
    result = checked(ATTENTION, "axes.CAP={range: [1, 2000000000]}")
    text = _finding(result, "KG420")
    assert "< 2^31 is false at" in text
    assert "CAP = " in text


def test_values_that_refute_a_statement_about_parts_are_those_of_axes(checked):
    """SPLITS follows from B and CAP: without B nobody can see which parts are meant."""
    text = _finding(checked(ATTENTION, "axes.CAP={range: [1, 3000000000]}"), "KG420")
    assert "WINDOW = none, B = 1, CAP = 1073733504, where SPLITS is 128 (end of the last" in text


def test_a_regime_that_nothing_reaches_is_found(checked):
    result = checked(ATTENTION, "regimes.verify_one.when=Q == 1 and B == 1")
    assert "no axis value gets to regime verify_one" in _finding(result, "KG423")
    result = checked(ATTENTION, "regimes.decode.when=B > 256 and Q == 1")
    assert "no axis value gets to regime decode" in _finding(result, "KG423")


@pytest.mark.parametrize("condition", ["64 // (B - 1) >= 1", "log2(B) == 2"])
def test_a_condition_without_a_value_somewhere_is_found(checked, condition):
    result = checked(ATTENTION, f"regimes.decode.when={condition}")
    assert "KG429: the condition of regime decode has no value at" in _finding(result, "KG429")
    assert not result.clean


def test_a_condition_that_tests_before_it_divides_is_clean(checked):
    condition = "Q == 1 and B > 1 and 64 // (B - 1) >= 1"
    assert checked(ATTENTION, f"regimes.decode.when={condition}").clean


def test_a_condition_over_reals_is_a_finding_and_no_traceback(checked):
    result = checked(ATTENTION, "regimes.decode.when=sqrt(B) <= 4")
    assert not result.clean


def test_overlapping_regimes_are_said_without_failing(checked):
    result = checked(ATTENTION, "regimes.verify_one.when=B == 1 and WINDOW != none")
    assert "regimes decode and verify_one both match Q = 1" in _finding(result, "KG424")
    assert result.clean


def test_rows_that_are_never_aligned_are_said_where_a_later_regime_takes_them(checked):
    result = checked("specs/norm/rms_4096.yaml", "axes.H={const: 1000}")
    assert "contiguous rows of x have 1000" in _finding(result, "KG422")
    assert "a later regime takes them" in _finding(result, "KG422")
    assert result.clean


def test_rows_that_are_never_aligned_are_a_finding_where_nothing_takes_them(checked):
    result = checked("specs/norm/rms_odd.yaml", "regimes.rows.launch.aligned=true")
    assert "contiguous rows of x have 513; no later regime takes them" in _finding(result, "KG422")
    assert not result.clean


def test_a_last_regime_that_is_no_fallback_is_said_to_refuse_what_lies_outside(checked):
    result = checked("specs/norm/rms_odd.yaml", "interface.outside=fallback")
    assert "the last regime, rows, is no fallback" in _finding(result, "KG425")
    assert result.clean


# ---------------------------------------------------------------- mistakes in a variant


@pytest.fixture
def variant(root: Path, tmp_path: Path):
    """The split-K folder with a piece of its declaration replaced."""

    def changed(old: str, new: str) -> Templates:
        folder = tmp_path / "attention" / "split_k"
        shutil.copytree(root / "templates" / "attention" / "split_k", folder)
        text = (folder / "variant.yaml").read_text()
        assert old in text
        (folder / "variant.yaml").write_text(text.replace(old, new, 1))
        return Templates([tmp_path])

    return changed


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("max(1, min(MAX_SPLITS,", "max(0, min(MAX_SPLITS,", "there is at least one part"),
        (
            "max(1, min(MAX_SPLITS,",
            "max(1, min(MAX_SPLITS + 1,",
            "there is at least one part and at most MAX_SPLITS",
        ),
        (
            'value: "min(MOST_ROWS, max(16, next_pow2(ROWS)))"',
            "value: ROWS + 16",
            "BLOCK_M is a power of two",
        ),
        (
            'value: "min(MOST_ROWS, max(16, next_pow2(ROWS)))"',
            "value: next_pow2(ROWS)",
            "is at least 16 each way",
        ),
        (
            "rows: {extent: ROWS, tile: BLOCK_M",
            "rows: {extent: 2 * ROWS + 1, tile: BLOCK_M",
            "tiles of BLOCK_M reach",
        ),
        (
            "partial_max: {dtype: fp32, dims: {b: SETS, h: HK, s: SPLITS",
            "partial_max: {dtype: fp32, dims: {b: SETS, h: HK, s: SPLITS - 1",
            "partial_max has room",
        ),
    ],
)
def test_a_wrong_declaration_is_refuted(checked, variant, old, new, says):
    result = checked(ATTENTION, templates=variant(old, new))
    refuted = [one.says for one in result.obligations if one.status is Status.REFUTED]
    assert any(says in one for one in refuted), refuted


def test_unknown_is_a_finding_too(checked, variant):
    """A statement that the algebra cannot lower is not passed over."""
    result = checked(
        ATTENTION, templates=variant("require: is_pow2(BLOCK_N)", "require: sqrt(B) >= 1")
    )
    assert "could not be proved" in _finding(result, "KG421")
