"""What a record shows, and what it must not be taken to show."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from records import record, shape  # noqa: E402

from kgen.evidence import intervals  # noqa: E402
from kgen.evidence.analysis import Analysis  # noqa: E402
from kgen.evidence.measured import analyse  # noqa: E402
from kgen.evidence.record import CheckFailure, Failure, Flag, Record  # noqa: E402


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 999)


def rounds(seconds: float, seed: int, number: int = 9) -> Sequence[float]:
    draw = random.Random(seed)
    return [seconds * (1 + draw.gauss(0, 0.003)) for _ in range(number)]


def run(number: int = 9, **seconds: float) -> Record:
    """A record of two shapes; the second takes twice as long."""
    all_of = {"baseline": 2e-5, "again": 2e-5, **seconds}
    times = {
        role: {"a": rounds(one, seed, number), "b": rounds(2 * one, seed + 50, number)}
        for seed, (role, one) in enumerate(all_of.items())
    }
    return record(times)


def words(found: Analysis, role: str = "candidate") -> list[str]:
    aggregate = found.aggregate_of(role)
    return [*(row.word for row in found.rows_of(role)), aggregate.word]


@pytest.mark.parametrize(
    ("seconds", "word"), [(1e-5, "faster"), (3e-5, "slower"), (2.01e-5, "inconclusive")]
)
def test_a_row_says_what_its_interval_shows(seconds, word):
    found = analyse(run(candidate=seconds))
    assert found.void == ""
    assert words(found) == [word] * 3
    row = found.row("candidate", "a")
    assert row.to_baseline.point == pytest.approx(2e-5 / seconds, rel=0.01)
    assert row.to_baseline.low <= row.to_baseline.point * 0.985


def test_a_ratio_to_the_incumbent_is_of_the_same_rounds():
    found = analyse(run(candidate=1e-5, incumbent=1.1e-5))
    assert found.row("candidate", "b").to_incumbent.point == pytest.approx(1.1, rel=0.01)
    assert found.aggregate_of("candidate").to_incumbent.point == pytest.approx(1.1, rel=0.01)
    assert found.row("incumbent", "b").to_incumbent is None


def test_shares_are_of_what_the_run_reached():
    row = analyse(run(candidate=1e-5)).row("candidate", "a")
    assert row.read_share == pytest.approx(4_096_000 / 1e-5 / 4.6e12, rel=0.01)
    assert row.matmul_share == pytest.approx(1e6 / 1e-5 / 7e14, rel=0.01)


def test_a_baseline_that_differs_from_itself_voids_the_run():
    found = analyse(run(candidate=1e-5, again=2.1e-5))
    assert "the baseline against itself is 0.95" in found.void
    assert words(found) == ["void"] * 3


def test_a_difference_at_one_shape_alone_voids_the_run():
    times = {
        role: {"a": rounds(2e-5, 1 + seed), "b": rounds(one, 3 + seed)}
        for seed, (role, one) in enumerate({"baseline": 2e-5, "again": 2.1e-5}.items())
    }
    assert "at b" in analyse(record(times)).void


def test_honest_runs_of_many_shapes_are_seldom_void():
    void = 0
    for run_number in range(40):
        draw = random.Random(run_number)
        times = {
            role: {
                f"s{index}": [1e-5 * (1 + draw.gauss(0, 0.03)) for _ in range(20)]
                for index in range(10)
            }
            for role in ("baseline", "again")
        }
        void += bool(analyse(record(times)).void)
    # plain 95 % intervals of ten shapes would void four runs of ten
    assert void <= 7


@pytest.mark.parametrize(
    ("missing", "told"),
    [("again", "was not run a second time"), ("baseline", "there is no baseline")],
)
def test_without_a_baseline_run_twice_nothing_is_concluded(missing, told):
    times = {"baseline": rounds(2e-5, 1), "again": rounds(2e-5, 2), "candidate": rounds(1e-5, 3)}
    kept = {role: {"a": times[role]} for role in times if role != missing}
    kept.pop("again" if missing == "baseline" else "", None)
    found = analyse(record(kept))
    assert told in found.void
    assert words(found)[0] == "void"


def test_few_rounds_void_a_run():
    assert "no interval" in analyse(run(4, candidate=1e-5)).void


def test_two_that_overlap_are_not_distinguishable():
    found = analyse(run(candidate=1e-5, peer=1.003e-5, incumbent=1.2e-5))
    assert found.row("candidate", "a").alike == ("peer",)
    assert found.aggregate_of("peer").alike == ("candidate",)
    assert found.aggregate_of("incumbent").alike == ()


def test_a_fallback_counts_1_whatever_was_measured_and_is_marked():
    measured = run(candidate=1e-5, incumbent=1e-5)
    first = replace(measured.shapes[0], fallback=("candidate",))
    found = analyse(replace(measured, shapes=(first, measured.shapes[1])))
    row = found.row("candidate", "a")
    assert (row.to_baseline.point, row.word, row.marks) == (1.0, "fallback", ("fallback",))
    assert row.seconds == pytest.approx(1e-5, rel=0.01)
    assert found.aggregate_of("candidate").to_baseline.point == pytest.approx(2**0.5, rel=0.01)
    # the incumbent has a kernel there: falling back loses its gain
    assert row.to_incumbent.point == pytest.approx(0.5, rel=0.01)


def test_where_both_fall_back_they_are_equal():
    measured = run(candidate=1e-5, incumbent=3e-5)
    first = replace(measured.shapes[0], fallback=("candidate", "incumbent"))
    found = analyse(replace(measured, shapes=(first, measured.shapes[1])))
    assert found.row("candidate", "a").to_incumbent.point == 1.0


def test_a_fallback_that_could_not_be_timed_counts_1_too():
    measured = run(candidate=1e-5)
    first = replace(measured.shapes[0], fallback=("candidate",))
    turns = tuple(t for t in measured.turns if (t.candidate, t.shape) != ("candidate", "a"))
    found = analyse(replace(measured, shapes=(first, measured.shapes[1]), turns=turns))
    assert found.aggregate_of("candidate").missing == ()
    assert found.row("candidate", "a").seconds is None


def test_a_fallback_has_to_be_right_too():
    measured = run(candidate=1e-5)
    first = replace(measured.shapes[0], fallback=("candidate",))
    turns = tuple(t for t in measured.turns if (t.candidate, t.shape) != ("candidate", "a"))
    checks = tuple(
        one for one in measured.checks if (one.candidate, one.shape) != ("candidate", "a")
    )
    shapes = (first, measured.shapes[1])
    found = analyse(replace(measured, shapes=shapes, turns=turns, checks=checks))
    assert words(found) == ["unchecked", "faster", "unchecked"]
    assert "the check before timing at a: not run" in found.unchecked


def test_a_warm_row_and_one_above_the_ceiling_are_marked():
    measured = run(candidate=1e-5)
    shapes = (shape("a", cold=False), shape("b", bytes=10**9))
    found = analyse(replace(measured, shapes=shapes))
    assert found.row("candidate", "a").marks == ("warm",)
    assert found.row("candidate", "b").marks == ("above the ceiling",)


def test_a_flag_takes_the_verdict_of_its_row_and_of_the_aggregate():
    flags = (Flag("candidate", "b", "stale_pointer", "the old result"),)
    found = analyse(replace(run(candidate=1e-5), flags=flags))
    assert words(found) == ["faster", "flagged", "flagged"]
    assert found.row("candidate", "b").flags == ("stale_pointer",)
    assert found.held == ("stale_pointer at b: the old result",)
    everywhere = (Flag("candidate", "", "memory_grows", "64 B a call"),)
    assert words(analyse(replace(run(candidate=1e-5), flags=everywhere))) == ["flagged"] * 3


def test_a_failure_takes_the_verdict_too():
    failures = (Failure("candidate", "b", "out_of_memory", "96 GB"),)
    found = analyse(replace(run(candidate=1e-5), failures=failures))
    assert words(found) == ["faster", "failed", "failed"]
    assert found.held == ("out_of_memory at b: 96 GB",)


@pytest.mark.parametrize("status", ["failed", "error", "not run"])
def test_a_time_without_a_passed_check_has_no_verdict(status):
    measured = run(candidate=1e-5)
    checks = tuple(
        replace(one, status=status) if (one.candidate, one.when) == ("candidate", "after") else one
        for one in measured.checks
    )
    found = analyse(replace(measured, checks=checks))
    assert words(found) == ["unchecked"] * 3
    assert found.unchecked[0] == f"the check after timing at a: {status}"


@pytest.mark.parametrize("name", ["baseline", "again"])
def test_a_run_whose_baseline_is_not_sound_in_either_process_is_void(name):
    measured = run(candidate=1e-5)
    flags = (Flag(name, "b", "wrong_output", "error 3"),)
    found = analyse(replace(measured, flags=flags))
    assert found.void.endswith("wrong_output at b: error 3") and "is not sound" in found.void
    failed = tuple(
        replace(one, status="failed") if (one.candidate, one.when) == (name, "after") else one
        for one in measured.checks
    )
    found = analyse(replace(measured, checks=failed))
    assert found.void.endswith("the check after timing at a: failed")


def test_a_time_that_nothing_checked_has_no_verdict():
    found = analyse(replace(run(candidate=1e-5), checks=()))
    assert "the baseline is not sound" in found.void
    assert words(found) == ["unchecked"] * 3


@pytest.mark.parametrize(
    ("name", "word"), [("candidate", "unchecked"), ("incumbent", "unchecked"), ("peer", "faster")]
)
def test_a_probe_that_could_not_be_run_counts_against_a_file_that_is_judged(name, word):
    """Of one that others are compared with it is only told, as long as something was checked."""
    measured = run(**{"candidate": 1e-5, name: 1e-5})
    mine = [one for one in measured.checks if one.candidate == name]
    skipped = [replace(one, seed=99, status="not run", worst=None) for one in mine]
    found = analyse(replace(measured, checks=(*measured.checks, *skipped)))
    assert words(found, name) == [word] * 3
    only = tuple(one for one in measured.checks if one.candidate != name)
    found = analyse(replace(measured, checks=(*only, *skipped)))
    assert words(found, name) == ["unchecked"] * 3


def inexact(measured: Record, name: str) -> Record:
    """The same run in which a file declares to be less exact, and is."""
    wrong = (CheckFailure("KG701", "error 0.03"),)
    checks = tuple(
        replace(one, status="failed", failures=wrong) if one.candidate == name else one
        for one in measured.checks
    )
    candidates = tuple(
        replace(one, tolerance=0.05) if one.name == name else one for one in measured.candidates
    )
    return replace(measured, checks=checks, candidates=candidates)


def test_a_peer_may_be_as_inexact_as_it_declares_and_the_judged_file_may_not():
    found = analyse(inexact(run(candidate=1e-5, peer=1.5e-5), "peer"))
    assert words(found, "peer") == ["faster"] * 3
    assert found.row("peer", "a").marks == ("less exact",)
    assert words(analyse(inexact(run(candidate=1e-5), "candidate"))) == ["unchecked"] * 3


def test_a_peer_that_did_not_run_has_no_verdict():
    measured = run(candidate=1e-5, peer=1e-5)
    candidates = tuple(
        replace(one, unavailable="not installed") if one.name == "peer" else one
        for one in measured.candidates
    )
    turns = tuple(turn for turn in measured.turns if turn.candidate != "peer")
    found = analyse(replace(measured, candidates=candidates, turns=turns))
    assert words(found, "peer") == ["not run"] * 3
    assert found.aggregate_of("peer").to_baseline is None


def test_a_shape_without_times_is_missing_in_the_aggregate():
    measured = run(candidate=1e-5)
    turns = tuple(t for t in measured.turns if (t.candidate, t.shape) != ("candidate", "b"))
    found = analyse(replace(measured, turns=turns))
    assert words(found)[:2] == ["faster", "not measured"]
    assert found.aggregate_of("candidate").missing == ("b",)
