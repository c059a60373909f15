"""`kgen.diff.keys`: which resolved keys of two specs differ."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.diff.keys import changes, literals
from kgen.diff.model import Change, Side

REGIME = {"name": "rows", "when": "T <= 8", "variant": "rms", "fallback": False}


def spec(document: dict) -> Side:
    return Side("a", "spec", "", {}, document)


def bundle(**changed) -> Side:
    manifest = {
        "spec": {"name": "a", "sha256": "0"},
        "family": "norm",
        "targets": ["sm_90"],
        "problem": {"axes": {"H": {"const": 8}}, "page": 1},
        "regimes": [{**REGIME, "parameters": {"NUM_WARPS": 4}}],
        **changed,
    }
    return Side("a", "file", "", manifest)


def test_a_changed_value_goes_by_its_path_and_a_regime_by_its_name():
    old = {"regimes": [{"name": "rows", "tile": {"N": 128}}, {"name": "rest"}]}
    new = {"regimes": [{"name": "rows", "tile": {"N": 64}}, {"name": "rest"}]}
    assert changes(spec(old), spec(new)) == (Change("regimes.rows.tile.N", 128, 64),)


def test_the_order_of_regimes_is_a_value_for_the_first_that_matches_wins():
    old = {"regimes": [{"name": "a", "when": "x"}, {"name": "b", "when": "y"}]}
    (one,) = changes(spec(old), spec({"regimes": old["regimes"][::-1]}))
    assert (one.key, one.old, one.new) == ("regimes (order)", ["a", "b"], ["b", "a"])


DECODE = {"name": "decode", "when": "Q == 1", "variant": "split_k", "tile": {"N": 128, "M": 64}}
WIDE = {"name": "wide", "when": "Q > 1", "variant": "split_k", "tile": {"N": 128, "M": 64}}
REST = {"name": "rest", "when": "otherwise", "fallback": "generic"}


def test_a_regime_of_another_name_is_one_line_and_the_keys_that_differ():
    old = {"regimes": [DECODE, WIDE, REST], "sweep": {"decode": {"tile.N": [64, 128]}}}
    new = {
        "regimes": [{**DECODE, "name": "one", "tile": {"N": 64, "M": 64}}, WIDE, REST],
        "sweep": {"one": {"tile.N": [64, 128]}},
    }
    assert changes(spec(old), spec(new)) == (
        Change("regimes (renamed)", "decode", "one"),
        Change("regimes.one.tile.N", 128, 64),
    )


def test_regimes_of_other_names_are_paired_by_what_they_say_and_then_by_their_place():
    old = {"regimes": [DECODE, WIDE, REST]}
    new = {"regimes": [{**REST, "name": "c"}, {**WIDE, "name": "a"}, {**DECODE, "name": "b"}]}
    told = changes(spec(old), spec(new))
    assert [(one.old, one.new) for one in told[:-1]] == [
        ("decode", "b"),
        ("wide", "a"),
        ("rest", "c"),
    ]
    assert told[-1] == Change("regimes (order)", ["b", "a", "c"], ["c", "a", "b"])
    twins = {"regimes": [{**DECODE, "name": name} for name in ("a", "b")]}
    other = {"regimes": [{**DECODE, "name": name} for name in ("x", "y")]}
    told = changes(spec(twins), spec(other))
    assert [(one.old, one.new) for one in told] == [("a", "x"), ("b", "y")]


def test_another_regime_is_not_a_renamed_one():
    old, new = {"regimes": [DECODE, REST]}, {"regimes": [WIDE, REST]}
    assert changes(spec(old), spec(new))[0] == Change("regimes (renamed)", "decode", "wide")
    other = {"name": "other", "when": "B > 8", "variant": "generic", "tile": {"N": 32, "M": 16}}
    told = changes(spec(old), spec({"regimes": [other, REST]}))
    assert {one.present for one in told if "(order)" not in one.key} == {
        (True, False),
        (False, True),
    }


def test_a_constant_of_a_regime_with_another_name_is_known_too():
    new = bundle(regimes=[{**REGIME, "name": "all", "parameters": {"NUM_WARPS": 8}}])
    assert literals(bundle(), new) == {("4", "8"): {"NUM_WARPS"}}
    assert changes(bundle(), new) == (
        Change("regimes (renamed)", "rows", "all"),
        Change("regimes.all.parameters.NUM_WARPS", 4, 8),
    )


def test_a_key_that_only_one_side_has_says_so():
    (one,) = changes(spec({"a": None}), spec({"a": None, "b": None}))
    assert (one.key, one.present) == ("b", (False, True))


def test_of_a_bundle_those_keys_are_known_that_its_file_depends_on():
    new = bundle(regimes=[{**REGIME, "parameters": {"NUM_WARPS": 8}}])
    assert changes(bundle(), new) == (Change("regimes.rows.parameters.NUM_WARPS", 4, 8),)
    assert changes(bundle(), bundle()) == ()


def test_a_spec_that_differs_in_what_no_manifest_keeps_is_another_one_still():
    new = bundle(spec={"name": "a", "sha256": "1"})
    assert changes(bundle(), new) == (Change("spec.sha256", "0", "1"),)


def test_what_a_manifest_of_another_kgen_does_not_tell_is_no_change():
    assert changes(bundle(), bundle(gates={"min_gain": 0.03})) == ()


def test_a_file_without_a_manifest_says_nothing_of_its_spec():
    assert changes(Side("a", "file", "", None), bundle()) is None
    assert literals(Side("a", "file", "", None), bundle()) == {}


def test_values_that_differ_are_told_as_the_source_has_them():
    new = bundle(
        regimes=[{**REGIME, "parameters": {"NUM_WARPS": 8}}],
        problem={"axes": {"H": {"const": 16}}, "page": 1},
    )
    assert literals(bundle(), new) == {("4", "8"): {"NUM_WARPS"}, ("8", "16"): {"H"}}
    # of other templates the same numbers may have changed for another reason
    new.manifest["templates"] = "of another day"
    assert literals(bundle(), new) == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text("abc", min_size=1, max_size=2), VALUES, max_size=4)


@settings(max_examples=30)
@given(DOCUMENTS)
def test_a_document_does_not_differ_from_itself(document):
    assert changes(spec(document), spec(document)) == ()


@settings(max_examples=50)
@given(DOCUMENTS, DOCUMENTS)
def test_two_documents_that_differ_have_a_key_that_does_whichever_comes_first(one, two):
    differ = json.dumps(one, sort_keys=True) != json.dumps(two, sort_keys=True)
    assert bool(changes(spec(one), spec(two))) == differ
    assert bool(changes(spec(two), spec(one))) == differ


def test_a_truth_value_is_no_number():
    assert changes(spec({"a": 1}), spec({"a": True})) == (Change("a", 1, True),)
