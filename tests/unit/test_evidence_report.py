"""The table that a person reads says every number with its unit, and everything that limits what it shows."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from records import record, shape  # noqa: E402

from kgen.evidence.receipts import receipt  # noqa: E402
from kgen.evidence.record import CheckFailure, Failure, Flag  # noqa: E402
from kgen.evidence.report import report  # noqa: E402


def run(**seconds: float):
    all_of = {"candidate": 1e-5, "baseline": 2e-5, "again": 2e-5, **seconds}
    return record({role: {"a": [one] * 5, "b": [200 * one] * 5} for role, one in all_of.items()})


def lines(measured) -> list[str]:
    return list(report(receipt(measured)))


def line(measured, begin: str) -> str:
    (only,) = [one for one in lines(measured) if one.startswith(begin)]
    return " ".join(only.split())


def test_a_row_has_time_ratios_intervals_and_shares():
    first, second = [
        " ".join(one.split()) for one in lines(run(incumbent=1.5e-5)) if " candidate  " in one
    ]
    assert first == "a candidate 10.00 us 2.000x [1.970, 2.030] 1.500x [1.478, 1.522] 9% 0% faster"
    assert second.startswith("b candidate 2.00 ms 2.000x")


def test_it_says_where_it_ran():
    whole = "\n".join(lines(run()))
    for fact in (
        "NVIDIA H200, 132 SMs, 63 MB L2, 1980 MHz SM and 2619 MHz memory clock before",
        "driver 580.1, cuda 13.0, torch 2.11.0, triton 3.6.0, ptxas 13.0, python 3.12.3",
        f"spec rms_small {'a' * 12}, templates {'b' * 12}, git {'c' * 40}",
        "baseline: files/baseline.py, bytes ",
        "measured 2026-05-31T12:00:00Z with seed 7",
        "an empty launch takes 0.80 us; a streaming read reaches 4.60 TB/s",
        "a matrix product reaches 700.00 Tflop/s",
        "95 % intervals of ratios, never narrower than 1.5% either way",
        "A/A, the baseline against itself: 1.000x [0.985, 1.015]",
    ):
        assert fact in whole


def test_gates_and_the_decision_come_last():
    told = lines(run())
    assert told[-1] == "promoted: every gate passed"
    assert line(run(), "gain ") == (
        "gain 1.0300x 2.0000x passed the aggregate against the baseline, 2.0000, reaches 1.0300"
    )


def test_a_void_run_says_so_in_every_row_and_promotes_nothing():
    told = lines(run(again=3e-5))
    assert any(
        "VOID, nothing is concluded: the baseline against itself is 0.667" in one for one in told
    )
    assert [one.split()[-1] for one in told if " candidate  " in one] == ["void", "void"]
    assert told[-1].startswith("closed: the run is void")


def chosen_by(problem: str, **seconds: float) -> list[str]:
    """The lines that say who chose the problem."""
    measured = run(**seconds)
    if not seconds:
        kept = [one for one in measured.candidates if one.role != "candidate"]
        turns, checks = (
            tuple(one for one in group if one.candidate != "candidate")
            for group in (measured.turns, measured.checks)
        )
        measured = replace(measured, candidates=tuple(kept), turns=turns, checks=checks)
    settings = replace(measured.settings, options={"problem": problem})
    told = lines(replace(measured, settings=settings))
    return [one for one in told if one.startswith(("problem ", "WARNING"))]


def test_it_says_who_chose_the_problem_and_warns_where_the_judged_file_did():
    module = "problem rms_small (kgen.families.norm.problem), chosen"
    own, warning = chosen_by("", candidate=1e-5)
    assert own == f"{module} by the judged file's own manifest"
    assert (
        warning.startswith("WARNING: that manifest also says the shapes") and "--problem" in warning
    )
    assert chosen_by("ours/rms", candidate=1e-5) == [f"{module} with --problem ours/rms"]
    assert chosen_by("") == [f"{module} by the baseline's own manifest"]
    assert not any(one.startswith(("problem ", "WARNING")) for one in lines(run()))


def test_the_mean_of_an_incomplete_run_is_no_verdict():
    told = lines(replace(run(), incomplete="only 2 of 3 shapes were asked for, without c"))
    mean = next(one for one in told if one.startswith("candidate  "))
    assert mean.split()[-1] == "incomplete"
    assert told[-1].startswith("closed: the run is incomplete: only 2 of 3 shapes")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"flags": (Flag("candidate", "a", "stale_pointer", "the old result"),)},
            "candidate at a: KG906: stale_pointer: the old result",
        ),
        (
            {"failures": (Failure("candidate", "", "crash", "signal 11"),)},
            "candidate at every shape: crash: signal 11",
        ),
        ({"incomplete": "interrupted"}, "INCOMPLETE, no file is promoted: interrupted"),
    ],
)
def test_what_is_held_against_a_file_is_told(changes, told):
    assert told in lines(replace(run(), **changes))


def test_terms_and_absences_of_a_peer_are_told():
    measured = run(peer=1e-5)
    peer = replace(
        measured.candidates[-1], terms="pages of 64", tolerance=0.05, unavailable="no wheel"
    )
    told = lines(replace(measured, candidates=(*measured.candidates[:-1], peer)))
    assert "peer is not on equal terms: pages of 64" in told
    assert "peer did not run: no wheel" in told
    assert "peer declares a relative error of 0.05" in told


def test_a_failed_check_is_told_with_its_code():
    measured = run()
    checks = tuple(
        (
            replace(one, status="failed", failures=(CheckFailure("KG701", "error 3"),))
            if (one.candidate, one.shape, one.when) == ("candidate", "a", "before")
            else one
        )
        for one in measured.checks
    )
    assert "candidate at a, before timing: KG701: error 3" in lines(
        replace(measured, checks=checks)
    )


def test_marks_stand_in_the_row():
    shapes = (shape("a", cold=False), shape("b", fallback=("candidate",)))
    told = [one for one in lines(replace(run(), shapes=shapes)) if " candidate  " in one]
    assert [one.split("%")[-1].strip() for one in told] == ["faster, warm", "fallback"]


def test_the_aggregate_is_never_without_its_rows():
    told = lines(run())
    rows = next(i for i, one in enumerate(told) if one.startswith("shape "))
    aggregate = next(i for i, one in enumerate(told) if one.startswith("geometric mean"))
    assert rows < aggregate


def checked(measured, name: str, at: str, **changes):
    """The checks of one file at one shape, changed."""
    return replace(
        measured,
        checks=tuple(
            replace(one, **changes) if (one.candidate, one.shape) == (name, at) else one
            for one in measured.checks
        ),
    )


def test_a_peer_that_is_as_inexact_as_it_declares_has_one_line_for_each_shape():
    failures = (CheckFailure("KG701", "error 3"), CheckFailure("KG701", "error 4"))
    measured = run(peer=1e-5)
    declared = tuple(
        replace(one, tolerance=0.05) if one.role == "peer" else one for one in measured.candidates
    )
    measured = replace(measured, candidates=declared)
    wrong = checked(measured, "peer", "a", status="failed", worst=45.94, failures=failures)
    told = [one for one in lines(wrong) if one.startswith("peer at ")]
    assert told == [
        "peer at a: misses the problem's tolerance in 2 of 2 checks, by up to 45.9 times"
    ]
    wrong = checked(measured, "peer", "a", status="failed", worst=None, failures=failures)
    assert "in 2 of 2 checks, by no finite factor" in "\n".join(lines(wrong))


def test_the_judged_file_has_its_first_failure_in_full():
    failures = (CheckFailure("KG701", "error 3"), CheckFailure("KG701", "error 4"))
    wrong = checked(run(), "candidate", "a", status="failed", failures=failures)
    told = [one for one in lines(wrong) if one.startswith("candidate at ")]
    assert told == [
        "candidate at a, before timing: KG701: error 3 (2 of 2 checks failed)",
    ]


def test_a_probe_that_was_not_run_is_told_once_for_each_reason():
    skipped = (CheckFailure("KG917", "the graph: prepare() gives 'plan'"),)
    measured = run(peer=1e-5)
    seen = measured
    for name in ("a", "b"):
        extra = [
            replace(one, seed=99, status="not run", worst=None, failures=skipped)
            for one in measured.checks
            if (one.candidate, one.shape) == ("peer", name)
        ]
        seen = replace(seen, checks=(*seen.checks, *extra))
    told = [one for one in lines(seen) if one.startswith("peer at ")]
    assert told == ["peer at every shape: not run: KG917: the graph: prepare() gives 'plan'"]


def test_a_long_failure_of_a_peer_is_cut_and_that_of_the_judged_file_is_not():
    long = "x" * 1000 + "\nand more"
    failures = tuple(Failure(name, "a", "error", long) for name in ("candidate", "peer"))
    told = lines(replace(run(peer=1e-5), failures=failures))
    assert f"candidate at a: error: {long}" in told
    assert f"peer at a: error: {'x' * 240}..." in told
