"""Each gate at its edge: what just reaches it passes, what just misses it does not."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.evidence.analysis import Aggregate, Analysis, Row
from kgen.evidence.gates import Decision, Gate, Requirements, decide, judged, requirements
from kgen.evidence.intervals import Ratio

LITTLE = 1e-6


def near(point: float, half: float = 0.015) -> Ratio:
    return Ratio(point, point - half, point + half, 9)


def aggregate(role: str, to_baseline: Ratio | None, to_incumbent: Ratio | None = None) -> Aggregate:
    return Aggregate(role, role, to_baseline, to_incumbent, (), "faster", ())


def row(shape: str, to_baseline: float, to_incumbent: float | None = None) -> Row:
    ratios = (near(to_baseline), to_incumbent and near(to_incumbent))
    empty: tuple[str, ...] = ()
    return Row("candidate", "candidate", shape, 1e-5, *ratios, None, None, "faster", *(empty,) * 3)


def analysis(incumbent: bool = True, **changes: object) -> Analysis:
    """A candidate 10 % above an incumbent that is 10 % above the baseline, and as fast at every shape."""
    aggregates = [
        aggregate("candidate", near(1.21), near(1.10) if incumbent else None),
        aggregate("again", near(1.0)),
    ]
    if incumbent:
        aggregates.append(aggregate("incumbent", near(1.10)))
    rows = tuple(row(shape, 1.21, 1.10 if incumbent else None) for shape in "ab")
    whole = Analysis(rows, tuple(aggregates), "", "", (), ())
    return dataclasses.replace(whole, **changes)


def with_candidate(**changes: object) -> Analysis:
    found = analysis()
    first, *rest = found.aggregates
    return dataclasses.replace(found, aggregates=(dataclasses.replace(first, **changes), *rest))


def gate(name: str, found: Analysis, required: Requirements = Requirements()) -> Gate:
    return next(one for one in judged(found, required) if one.name == name)


def test_a_file_that_passes_every_gate_is_promoted():
    gates = judged(analysis(), Requirements())
    assert [one.status for one in gates] == ["passed"] * 7
    assert decide(gates) == Decision("promoted", "every gate passed")


@pytest.mark.parametrize(
    ("gain", "status"),
    [(1.03, "passed"), (1.03 + LITTLE, "passed"), (1.03 - LITTLE, "failed")],
)
def test_the_gain_is_at_least_3_percent_over_the_incumbent(gain, status):
    found = gate("gain", with_candidate(to_incumbent=near(gain)))
    assert (found.required, found.found, found.status) == (1.03, gain, status)


@pytest.mark.parametrize(
    ("low", "status"),
    [(1.115, "failed"), (1.115 + LITTLE, "passed"), (1.115 - LITTLE, "failed")],
)
def test_the_lower_end_is_above_the_upper_end_of_the_incumbent(low, status):
    found = gate("interval", with_candidate(to_baseline=Ratio(1.21, low, 1.3, 9)))
    assert found.required == pytest.approx(1.115)
    assert (found.found, found.status) == (low, status)


@pytest.mark.parametrize(
    ("slower", "status"),
    [(0.05, "passed"), (0.05 - LITTLE, "passed"), (0.05 + LITTLE, "failed")],
)
def test_no_shape_takes_more_than_5_percent_more_time_than_the_incumbent(slower, status):
    rows = (row("a", 1.5, 1.4), row("b", 1.5, 1 / (1 + slower)))
    found = gate("regression", analysis(rows=rows))
    assert found.status == status
    assert "the incumbent, b, takes 5.00% more time" in found.reason


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("flags", {"held": ("stale_pointer at a: old",)}, "stale_pointer at a: old"),
        ("correct", {"unchecked": ("one", "two", "three")}, "one, and 2 more"),
    ],
)
def test_one_thing_held_against_a_file_is_enough_to_reject_it(name, changes, told):
    found = analysis(**changes)
    assert (gate(name, found).status, gate(name, found).reason) == ("failed", told)
    decision = decide(judged(found, Requirements()))
    assert decision == Decision("rejected", f"{name}: {told}")


def test_a_shape_that_was_not_measured_fails():
    found = gate("measured", with_candidate(missing=("b",)))
    assert (found.status, found.reason) == ("failed", "candidate has no ratio at b")
    rows = (row("a", 1.21, 1.1), dataclasses.replace(row("b", 1.21), to_incumbent=None))
    assert gate("regression", analysis(rows=rows)).status == "failed"


def test_what_the_incumbent_misses_fails_too():
    found = analysis()
    *rest, incumbent = found.aggregates
    without = dataclasses.replace(incumbent, missing=("a",))
    found = dataclasses.replace(found, aggregates=(*rest, without))
    assert gate("measured", found).reason == "incumbent has no ratio at a"


@pytest.mark.parametrize(
    "changes",
    [
        {"to_incumbent": None},
        {"to_baseline": Ratio(1.21, None, None, 4)},
        {"to_baseline": None},
    ],
)
def test_without_a_number_no_gate_passes_that_needs_it(changes):
    found = judged(with_candidate(**changes), Requirements())
    assert "failed" in {one.status for one in found}
    assert decide(found).decision == "rejected"


def test_a_void_run_closes_the_attempt_and_compares_nothing():
    found = judged(analysis(void="the baseline against itself is 1.1"), Requirements())
    assert [one.status for one in found[-3:]] == ["not applicable"] * 3
    assert decide(found) == Decision(
        "closed", "the run is void: the baseline against itself is 1.1"
    )


@pytest.mark.parametrize("word", ["flagged", "failed", "unchecked", "not run"])
def test_nothing_is_gained_over_an_incumbent_whose_times_mean_nothing(word):
    found = analysis()
    lines = tuple(
        dataclasses.replace(one, word=word) if one.role == "incumbent" else one
        for one in found.aggregates
    )
    told = gate("measured", dataclasses.replace(found, aggregates=lines))
    assert told.status == "failed"
    assert told.reason == f"the incumbent incumbent is {word}, so its times mean nothing"


def test_an_incomplete_run_promotes_nothing():
    found = judged(analysis(incomplete="interrupted"), Requirements())
    assert decide(found) == Decision("closed", "the run is incomplete: interrupted")


def test_what_is_held_against_a_file_holds_in_a_void_run_too():
    found = judged(analysis(void="noise", held=("crash at a: signal 6",)), Requirements())
    assert decide(found).decision == "rejected"


@pytest.mark.parametrize(("point", "status"), [(1.035, "passed"), (1.02, "failed")])
def test_without_an_incumbent_the_gates_are_against_the_baseline(point, status):
    found = analysis(incumbent=False, rows=(row("a", point),))
    first, *rest = found.aggregates
    candidate = dataclasses.replace(first, to_baseline=near(point, 0.016))
    found = dataclasses.replace(found, aggregates=(candidate, *rest))
    told = {one.name: one for one in judged(found, Requirements())}
    assert told["gain"].status == status
    assert "against the baseline" in told["gain"].reason
    # the baseline's own interval is that of its second run
    assert told["interval"].required == pytest.approx(1.015)
    assert told["interval"].status == status
    assert told["regression"].status == "passed"


def test_a_shape_that_the_fallback_serves_is_told_with_its_times():
    slow = dataclasses.replace(row("b", 1.0), marks=("fallback",), seconds=1.426e-3)
    baseline = dataclasses.replace(
        row("b", 1.0), candidate="peer", role="baseline", seconds=3.4e-5, to_baseline=None
    )
    found = analysis(incumbent=False, rows=(row("a", 1.21), slow, baseline))
    regression = gate("regression", found)
    assert regression.reason == (
        "the worst shape against the baseline, b, is served by the fallback: it takes 1426.00 us against 34.00 us, "
        "and counts as the baseline, 1.000; 5.00% more is allowed"
    )
    assert " 1.2100 with 1 of 2 shapes by the fallback, reaches " in gate("gain", found).reason
    assert "fallback" not in gate("regression", analysis(incumbent=False)).reason


def test_the_command_line_goes_before_the_manifest_and_that_before_the_defaults():
    assert requirements({}) == Requirements(0.03, 0.05)
    declared = {"gates": {"min_gain": 0.1, "max_regression": 0.2}}
    assert requirements(declared) == Requirements(0.1, 0.2)
    assert requirements(declared, min_gain=0.0) == Requirements(0.0, 0.2)
    assert requirements(declared, max_regression=0.0) == Requirements(0.1, 0.0)


def test_other_requirements_move_the_edges():
    found = with_candidate(to_incumbent=near(1.02))
    assert gate("gain", found).status == "failed"
    assert gate("gain", found, Requirements(min_gain=0.02)).status == "passed"
    rows = (row("a", 1.21, 0.9),)
    assert gate("regression", analysis(rows=rows)).status == "failed"
    assert gate("regression", analysis(rows=rows), Requirements(0.03, 0.2)).status == "passed"
