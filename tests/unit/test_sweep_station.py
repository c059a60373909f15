"""Trials beside an anchor: their turns, what is held against a candidate, and candidates that take their process along."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kgen.measure.member import Limits, Lost, Member, NoRun
from kgen.sweep.station import Station
from kgen.sweep.workers import local_stations

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "measure"), str(TESTS / "sweep")]

from here import Here  # noqa: E402
from toys import EXITS, FAULTS, HANGS, RAISES, SHAPES, WRONG, job, timing, toy  # noqa: E402


@pytest.fixture
def station():
    opened = Station(Here)
    yield opened
    opened.close()


def test_a_trial_has_the_medians_of_both_files_by_round(station):
    answer = station.measure(job(toy("fast", 50, 52), toy("base", 100, 104), rounds=2))
    assert answer.status == "measured" and not answer.message
    ratios = [base / own for base, own in zip(answer.anchor_seconds, answer.seconds, strict=True)]
    assert ratios == pytest.approx([2.0] * 2)


@pytest.mark.full
def test_the_anchor_stays_captured_while_candidates_come_and_go(station, monkeypatch):
    base = toy("base")
    begun = []
    ask = Here.ask

    def counted(self, verb, payload):
        if verb in ("begin", "open"):
            begun.append((verb, self.role))
        return ask(self, verb, payload)

    monkeypatch.setattr(Here, "ask", counted)
    for name in ("one", "two"):
        station.measure(job(toy(name, 50), base))
    assert begun.count(("begin", "baseline")) == 1
    assert begun.count(("open", "candidate")) == 1
    assert begun.count(("begin", "candidate")) == 2


def test_speed_is_never_told_of_a_wrong_one(station):
    answer = station.measure(job(toy("wrong", 1, text=WRONG), toy("base")))
    assert answer.status == "wrong"
    assert answer.message.startswith("wrong_output: ")
    assert answer.seconds == answer.anchor_seconds == ()


def test_one_that_turns_wrong_while_it_is_timed_has_no_speed_either(station, monkeypatch):
    ask = Here.ask

    def breaking(self, verb, payload):
        if (verb, self.role) == ("turn", "candidate"):
            self._session._candidate.module.BROKEN.append(True)
        return ask(self, verb, payload)

    monkeypatch.setattr(Here, "ask", breaking)
    later = "BROKEN = []\n\n\ndef run(x, w, ids):\n    return x * w + ids[:, None] * (not BROKEN)\n"
    answer = station.measure(job(toy("later", 1, text=later), toy("base"), rounds=1))
    assert answer.status == "wrong" and not answer.seconds


def test_one_that_no_graph_holds_has_no_time_beside_one_that_is_captured(station, monkeypatch):
    ask = Here.ask

    def refused(self, verb, payload):
        answer = ask(self, verb, payload)
        return {**answer, "rounds": 0} if (verb, self.role) == ("begin", "candidate") else answer

    monkeypatch.setattr(Here, "ask", refused)
    answer = station.measure(job(toy("looks"), toy("base"), rounds=1))
    assert answer.status == "wrong" and not answer.seconds
    assert answer.message.startswith("not_capturable: no graph holds its calls")


def test_one_that_raises_is_recorded_and_the_next_is_measured(station):
    answer = station.measure(job(toy("raises", text=RAISES), toy("base")))
    assert (answer.status, answer.message) == ("crashed", "ValueError: no")
    assert station.measure(job(toy("fine"), toy("base"))).status == "measured"


def test_an_anchor_that_is_wrong_ends_the_sweep(station):
    with pytest.raises(NoRun, match="not right at ROWS 4 N 64: wrong_output: "):
        station.measure(job(toy("fine"), toy("base", text=WRONG)))


def test_a_place_has_the_workloads_and_what_decides_their_results(station):
    place = station.place(toy("base"), timing())
    assert place.device.startswith("host, ") and place.versions.startswith("torch ")
    assert [one.name for one in place.workloads] == list(SHAPES)
    assert '"axes":{"N":64,"ROWS":4}' in place.workloads[0].text
    assert '"runtime":{"ID":[1,1,1,1]}' in place.workloads[0].text


def test_no_process_may_hold_more_than_the_machine_has(monkeypatch):
    monkeypatch.setattr("kgen.measure.member.machine_bytes", lambda: 2**20)
    member = Member("candidate", "greedy", "none", Limits(60.0, 2**40, 0.1))
    with pytest.raises(Lost, match="GiB of host memory; the limit is 0.0 GiB"):
        member.ask("open", {})
    member.close()


@pytest.mark.full
def test_candidates_that_exit_fault_or_hang_cost_themselves_only(monkeypatch):
    """In real processes."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS / "measure"))
    stations = local_stations([])
    base = toy("base")
    try:
        found = {
            name: stations.measure(job(toy(name, text=text), base, timeout=seconds))
            for name, text, seconds in (
                ("exits", EXITS, 60.0),
                ("faults", FAULTS, 60.0),
                ("hangs", HANGS, 4.0),
                ("fine", toy("fine").text, 60.0),
            )
        }
    finally:
        stations.close()
    statuses = {name: answer.status for name, answer in found.items()}
    assert statuses == {
        "exits": "crashed",
        "faults": "crashed",
        "hangs": "timed out",
        "fine": "measured",
    }
    assert "exit status 3" in found["exits"].message
    assert "SIGSEGV" in found["faults"].message
    assert found["hangs"].message == "no answer within 4 s"
