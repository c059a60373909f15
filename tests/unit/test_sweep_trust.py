"""Estimates are shown as a ranking only where measured runs confirmed them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgen.plan.templates import Templates
from kgen.sweep.model import Candidate, Estimate, Ranked
from kgen.sweep.trust import (
    Confirmation,
    added,
    confirmation,
    confirmations,
    listed,
    model_of,
    trusted,
)


@pytest.fixture(scope="module")
def template():
    return Templates().find("attention", "split_k")


@pytest.fixture
def good(template) -> Confirmation:
    return Confirmation(
        "attention/split_k", model_of(template), False, "3fa9", "h200", "B 1", 40, 4, 0.9
    )


def _any(template) -> bool:
    return any(trusted(template, confirmations(), compiled=one).confirmed for one in (False, True))


def test_no_variant_is_confirmed_by_what_is_recorded_now():
    templates = Templates()
    for family in ("attention", "norm"):
        for name in templates.names(family):
            assert not _any(templates.find(family, name))


def test_what_was_not_measured_is_not_shown_as_a_ranking(template):
    found = trusted(template, (), compiled=False)
    assert not found.confirmed
    assert found.note == (
        "estimate not yet confirmed for variant split_k: not shown as a ranking"
        " (nothing was measured)"
    )


def test_the_measured_best_in_the_top_tenth_confirms(template, good):
    found = trusted(template, [good, replace(good, shape="B 8", place=1)], compiled=False)
    assert found.confirmed
    assert found.note == (
        "static estimate, not a measurement; confirmed for variant split_k:"
        " the measured best lay in the top 10 % at 2 shapes of 1 receipts"
    )


@pytest.mark.parametrize(
    "change, why",
    [
        ({"place": 5}, "the measured best of 40 was number 5 at B 1, receipt 3fa9"),
        ({"variant": "attention/generic"}, "nothing was measured"),
        ({"compiled": True}, "nothing was measured"),
        ({"model": "0"}, "the model or the variant has changed since it was measured"),
        ({"candidates": 9, "place": 1}, "fewer than 10 candidates, or the model was fitted"),
    ],
)
def test_what_does_not_confirm(template, good, change, why):
    found = trusted(template, [replace(good, **change)], compiled=False)
    assert not found.confirmed
    assert why in found.note


def test_a_receipt_that_the_model_was_fitted_to_is_no_evidence(template, good):
    assert not trusted(template, [good], compiled=False, fitted_to=frozenset({"3fa9"})).confirmed
    assert trusted(template, [good], compiled=False, fitted_to=frozenset({"other"})).confirmed


def test_one_miss_is_enough(template, good):
    assert not trusted(
        template, [good, replace(good, shape="B 8", place=20)], compiled=False
    ).confirmed


def _ranked(name: str, seconds: float) -> Ranked:
    estimate = Estimate("B 1", seconds, (), False)
    return Ranked(Candidate("decode", (("variant", name),)), (estimate,))


def test_the_place_of_the_measured_best_is_counted_among_what_was_measured(template):
    ranked = [_ranked(str(number), float(number)) for number in range(20)]
    measured = {one.candidate: 1.0 + (i != 6) + i for i, one in enumerate(ranked) if i > 3}
    measured[ranked[6].candidate] = 0.5
    found = confirmation(template, "r", "h200", "B 1", ranked, measured)
    assert (found.candidates, found.place) == (16, 3)
    assert found.model == model_of(template)
    assert 0.5 < found.correlation < 1


def test_equal_estimates_are_one_place_the_last(template):
    ranked = [_ranked(str(number), 1.0) for number in range(12)]
    measured = {one.candidate: float(i + 1) for i, one in enumerate(ranked)}
    found = confirmation(template, "r", "h200", "B 1", ranked, measured)
    assert (found.place, found.correlation) == (12, 0.0)
    assert not trusted(template, [found], compiled=False).confirmed


def test_one_measured_candidate_shows_no_order(template):
    one = _ranked("a", 1.0)
    with pytest.raises(ValueError, match="1 candidates were measured"):
        confirmation(template, "r", "h200", "B 1", [one], {one.candidate: 1.0})


def test_what_is_added_is_read_again_and_the_comment_stays(tmp_path, good):
    path = tmp_path / "trust.yaml"
    path.write_text(added((), [good, replace(good, place=7)]))
    assert confirmations(path) == (good, replace(good, place=7))
    assert path.read_text().startswith("# What measured runs showed of the static estimates")


def test_estimates_from_before_and_after_compiling_are_not_one_order(template):
    first, second = _ranked("a", 1.0), _ranked("b", 2.0)
    later = replace(second, estimates=(replace(second.estimates[0], compiled=True),))
    measured = {first.candidate: 1.0, later.candidate: 2.0}
    with pytest.raises(ValueError, match="some estimates at B 1 are of compiled kernels"):
        confirmation(template, "r", "h200", "B 1", [first, later], measured)


def test_what_is_not_confirmed_is_listed_in_the_order_of_the_space(template, good):
    ranked = [_ranked(name, seconds) for name, seconds in (("a", 3), ("b", 9), ("a", 1), ("b", 2))]
    yes = trusted(template, [good], compiled=False)
    no = trusted(template, [], compiled=False)
    assert listed(ranked, "B 1", {"a": no, "b": no}) == ranked
    order = listed(ranked, "B 1", {"a": no, "b": yes})
    assert [one.at("B 1").seconds for one in order] == [2, 9, 3, 1]


def test_the_note_of_split_k_is_the_one_that_the_document_quotes(root):
    """Its declaration changes more often than anybody measures: then the note says so, and what was seen before."""
    template = Templates().find("attention", "split_k")
    note = trusted(template, confirmations()).note
    seen = "the measured best of 244 was number 86 at B 1 Q 1 S 32768, receipt h200.sqlite)"
    changed = "the model or the variant has changed since it was measured; before that "
    before = "estimate not yet confirmed for variant split_k: not shown as a ranking ("
    assert note in (before + seen, before + changed + seen)
    text = (root / "docs/ranking.md").read_text()
    assert before + seen in text and changed.strip() in " ".join(text.split())


@pytest.mark.full
def test_a_store_is_only_taken_where_todays_model_gives_its_estimates(root, tmp_path, cache):
    from benchmarks.trust import moved
    from kgen.sweep.store import Store

    path = tmp_path / "h200.sqlite"
    path.write_bytes((root / "benchmarks/receipts/swept/h200.sqlite").read_bytes())
    spec = root / "specs/attention/gqa8_fp8_page1.yaml"
    store = Store(path, create=False)
    assert list(moved(store, spec, cache, sample=1)) == []

    class Changed:
        def entries(self, name):
            other = {"B 1 Q 1 S 32768": 1.0}
            return [replace(one, estimates=other) for one in store.entries(name)]

    assert len(list(moved(Changed(), spec, cache, sample=1))) == 1
