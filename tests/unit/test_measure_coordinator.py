"""Rounds, their order and end, and files that crash, hang or grow: real processes, and a clock that is a script."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kgen.evidence.gates import Decision, Requirements
from kgen.evidence.ledger import best, entries
from kgen.evidence.receipts import parse_receipt
from kgen.measure.coordinator import left_out, measure
from kgen.measure.judge import concluded, judged, raw
from kgen.measure.member import NoRun
from kgen.measure.request import Request
from kgen.measure.stopping import Stop, enough, half_width

FILES = Path(__file__).parents[1] / "measure"
sys.path.insert(0, str(FILES))

import slow_host  # noqa: E402
from here import Here  # noqa: E402

SCRIPTED = "slow_host:Scripted"
PLAIN = "def run(x, w, ids):\n    return x * w + ids[:, None]\n"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """In real processes too; and a cache so small here that a few input sets exceed it."""
    monkeypatch.setenv("PYTHONPATH", str(FILES))
    monkeypatch.setattr(slow_host.Scripted, "l2_bytes", 2**12)


def file(folder: Path, name: str, *microseconds: float, text: str = PLAIN) -> str:
    path = folder / f"{name}.py"
    path.write_text(f"MICROSECONDS = {list(microseconds) or [100.0]}\n{text}")
    return str(path)


def request(candidate: str, against: str = "", **options) -> Request:
    settings = {"device": SCRIPTED, "seed": 3, "shapes": "ROWS 4", "timeout": 60.0, **options}
    return Request(candidate, against, problem=str(FILES / "problem.py"), **settings)


def test_turns_come_in_rounds_whose_order_moves_on(tmp_path):
    against = file(tmp_path, "base", 100, 100, 101, 102, 99, 100)
    record = measure(
        request(file(tmp_path, "fast", 50), against, rounds=6, precision=1e-9, shapes=""),
        start=Here,
    )
    assert not record.incomplete and not record.flags and not record.failures
    assert [one.name for one in record.shapes] == ["ROWS 4 N 64", "ROWS 8 N 128"]
    assert [one.role for one in record.candidates] == ["candidate", "baseline", "again"]
    names = [one.name for one in record.candidates]
    for shape in record.shapes:
        turns = [turn for turn in record.turns if turn.shape == shape.name]
        first = [turn.candidate for turn in turns if turn.round == 0]
        second = [turn.candidate for turn in turns if turn.round == 1]
        assert first == names and second == names[1:] + names[:1]
        assert max(turn.round for turn in turns) == 5
        fast = [turn.seconds for turn in turns if turn.candidate == "fast"]
        assert fast == [pytest.approx((50e-6 / shape.calls_per_graph,) * 5)] * 6
    assert {one.when for one in record.checks} == {"before", "after"}
    assert {one.status for one in record.checks} == {"passed"}


def test_a_file_that_is_judged_at_some_shapes_is_not_promoted(tmp_path):
    """It is twice as fast, at the shape that was asked for."""
    asked = request(file(tmp_path, "fast", 50), file(tmp_path, "base"), rounds=5)
    outcome = judged(asked, tmp_path / "out", lambda text: None, start=Here)
    missing = "only 1 of 2 shapes were asked for, without ROWS 8 N 128"
    assert outcome.code == 1 and outcome.record.incomplete == missing
    assert f"INCOMPLETE, no file is promoted: {missing}" in outcome.lines
    found = parse_receipt(outcome.receipt.read_text())
    assert found.analysis.row("candidate", "ROWS 4 N 64").word == "faster"
    assert found.analysis.aggregate_of("candidate").word == "incomplete"
    assert found.decision == Decision("closed", f"the run is incomplete: {missing}")
    assert best(entries([outcome.receipt]), tmp_path) == []


def test_the_same_file_judged_at_every_shape_is_promoted(tmp_path):
    asked = request(file(tmp_path, "fast", 50), file(tmp_path, "base"), rounds=5, shapes="ROWS")
    outcome = judged(asked, tmp_path / "out", lambda text: None, start=Here)
    assert outcome.code == 0 and outcome.record.incomplete == ""
    found = best(entries([outcome.receipt]), tmp_path)
    assert [one.shape for one in found] == ["ROWS 4 N 64", "ROWS 8 N 128"]


def test_times_of_some_shapes_are_a_whole_run_where_no_file_is_judged(tmp_path):
    record = measure(request(file(tmp_path, "only"), rounds=5), start=Here)
    assert len(record.shapes) == 1 and record.incomplete == ""


def test_a_void_run_is_a_finding_where_no_file_is_judged(tmp_path):
    sound = judged(request(file(tmp_path, "only")), tmp_path, lambda text: None, start=Here)
    assert sound.code == 0
    record = replace(
        sound.record,
        turns=tuple(
            (
                replace(one, seconds=tuple(2 * taken for taken in one.seconds))
                if one.candidate == "the baseline again"
                else one
            )
            for one in sound.record.turns
        ),
    )
    outcome = concluded(record, tmp_path / "out", Requirements())
    assert outcome.code == 1 and any("VOID" in one for one in outcome.lines)


def test_what_is_told_without_scipy_names_failures_and_what_is_missing(tmp_path):
    raises = file(tmp_path, "raises", text="def run(x, w, ids):\n    raise ValueError('no')\n")
    record = measure(request(file(tmp_path, "base"), peers=[raises], rounds=5), start=Here)
    told = raw(replace(record, incomplete="interrupted"))
    assert "raises: error: ValueError: no" in told and told[-1] == "incomplete: interrupted"


def test_shapes_that_are_left_out_are_named_up_to_six():
    shapes = [{"name": str(number)} for number in range(9)]
    assert left_out(shapes, shapes) == ""
    assert left_out(shapes, shapes[8:]) == (
        "only 1 of 9 shapes were asked for, without 0, 1, 2, 3, 4, 5 and 2 more"
    )


def interrupting(when: str):
    """Progress that a person ends at a text."""

    def progress(text: str) -> None:
        if when in text:
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_between_checks_keeps_those_that_were_made(tmp_path):
    interrupt = interrupting("again is checked")
    record = measure(request(file(tmp_path, "only")), interrupt, Here)
    assert record.incomplete == "interrupted"
    assert {one.candidate for one in record.checks} == {"only"} and not record.turns


def test_an_interrupt_before_any_shape_leaves_no_record(tmp_path):
    with pytest.raises(NoRun, match="interrupted before anything was measured"):
        measure(request(file(tmp_path, "only")), interrupting("loading"), Here)


def test_what_is_measured_when_it_is_interrupted_is_kept(tmp_path):
    interrupt = interrupting("round 3")
    record = measure(request(file(tmp_path, "only"), rounds=20, precision=1e-9), interrupt, Here)
    assert record.incomplete == "interrupted"
    assert {turn.round for turn in record.turns} == {0, 1}


def test_a_file_that_raises_or_is_not_available_has_a_row_without_times(tmp_path):
    raises = file(tmp_path, "raises", text="def run(x, w, ids):\n    raise ValueError('no')\n")
    absent = file(
        tmp_path, "absent", text="def available():\n    return 'no such library'\n" + PLAIN
    )
    record = measure(request(file(tmp_path, "base"), peers=[raises, absent], rounds=5), start=Here)
    assert {one.name: one.unavailable for one in record.candidates}["absent"] == "no such library"
    assert [(one.candidate, one.what) for one in record.failures] == [("raises", "error")]
    assert "ValueError: no" in record.failures[0].message
    assert {turn.candidate for turn in record.turns} == {"base", "the baseline again"}


@pytest.mark.full
def test_files_that_crash_hang_or_hold_too_much_cost_themselves_only(tmp_path):
    """In real processes: of three that go wrong, none takes the run with it."""
    grabs = "import time\nheld = bytearray(b'x') * 2**30\ntime.sleep(60)\n" + PLAIN
    peers = [
        FILES / "cheats/crash.py",
        FILES / "cheats/hang.py",
        file(tmp_path, "grabs", text=grabs),
    ]
    options = {"peers": list(map(str, peers)), "rounds": 5, "timeout": 20.0, "host_gib": 0.9}
    record = measure(request(file(tmp_path, "base"), **options))
    flags = {one.candidate: one.flag for one in record.flags}
    assert flags == {"crash": "crash", "hang": "timeout", "grabs": "crash"}
    assert {one.candidate: one.what for one in record.failures} == flags
    told = {one.candidate: one.message for one in record.failures}
    assert "exit status 3" in told["crash"]
    assert told["hang"] == "no answer within 20 s"
    assert "of host memory; the limit is 0.9 GiB" in told["grabs"]
    assert {turn.candidate for turn in record.turns} == {"base", "the baseline again"}
    assert not record.incomplete


def test_a_run_that_cannot_begin_says_why(tmp_path):
    with pytest.raises(NoRun, match="no shape is named 'NONE'; there are ROWS 4 N 64, ROWS 8"):
        measure(request(file(tmp_path, "base"), shapes="NONE"), start=Here)


def test_where_no_graph_holds_any_file_all_are_timed_call_by_call(tmp_path):
    looks = "def run(x, w, ids):\n    return x * w + ids[:, None] + 0 * int(ids[0])\n"
    base = file(tmp_path, "base", text=looks)
    record = measure(request(base, rounds=5), start=Here)
    assert record.settings.timed == "eager"
    assert {turn.candidate for turn in record.turns} == {"base", "the baseline again"}
    assert {one.flag for one in record.flags} == {"synchronises", "not_capturable"}


def test_a_file_that_no_graph_holds_has_no_time_beside_one_that_is_captured(tmp_path):
    looks = "def run(x, w, ids):\n    return x * w + ids[:, None] + 0 * int(ids[0])\n"
    peer = file(tmp_path, "looks", text=looks)
    record = measure(request(file(tmp_path, "base"), peers=[peer], rounds=5), start=Here)
    assert record.settings.timed == "graph"
    assert {turn.candidate for turn in record.turns} == {"base", "the baseline again"}
    assert {(one.candidate, one.flag) for one in record.flags} == {
        ("looks", "synchronises"),
        ("looks", "not_capturable"),
    }


def test_names_are_unique_and_roles_in_order():
    wanted = Request("a/one.py", "b/one.py", "c/one.py", ["d/two.py"])
    assert [(role, name) for role, name, _ in wanted.files()] == [
        ("candidate", "one"),
        ("baseline", "one 2"),
        ("again", "the baseline again"),
        ("incumbent", "one 3"),
        ("peer", "two"),
    ]


def test_rounds_end_when_the_interval_is_narrow_or_the_budget_spent():
    stop = Stop(precision=0.01, rounds=9, seconds=2.0)
    steady = {"base": [1.0, 1.001, 1.0, 0.999, 1.0], "file": [0.5] * 5}
    longer = {name: 2 * taken for name, taken in steady.items()}
    few = Stop(precision=0.01, rounds=5, seconds=2.0)
    wild = {"base": [1.0, 2.0, 1.0, 0.5, 1.0], "file": [0.5] * 5}
    assert enough(Stop(precision=0.01, rounds=60, seconds=2.0), longer, "base", 0.0)
    assert not enough(stop, steady, "base", 0.0)
    assert enough(few, steady, "base", 0.0)
    assert not enough(stop, wild, "base", 0.0)
    assert enough(stop, wild, "base", 2.0)
    assert not enough(stop, {"base": [1.0] * 4, "file": [0.5] * 4}, "base", 99.0)
    assert enough(stop, {"base": [1.0, 2.0] * 5, "file": [0.5] * 10}, "base", 0.0)


def test_a_drift_that_both_share_does_not_widen_the_ratio():
    drift = [1.0, 1.1, 1.3, 1.6, 2.0]
    assert half_width(drift, [0.5 * one for one in drift]) < 1e-9
    assert half_width(drift, [0.5] * 5) > 0.1
