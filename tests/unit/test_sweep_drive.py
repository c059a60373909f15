"""A sweep on a scripted crew: what it measures, what it never measures again, and what survives its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import wait
from pathlib import Path

import pytest

from kgen.measure.member import NoRun
from kgen.sweep.drive import Sweep
from kgen.sweep.state import Plan
from kgen.sweep.race import in_question
from kgen.sweep.store import Store

SWEEP = Path(__file__).parents[1] / "sweep"
sys.path.insert(0, str(SWEEP))

from fields import PLACE, TIMING, Script, entrant, field  # noqa: E402


def swept(store: Store, script: Script, *entrants, slots: int = 1, **plan) -> Sweep:
    """A finished sweep; its crew is closed."""
    crew = script.crew(slots)
    sweep = Sweep(field(*entrants), store, crew, TIMING, Plan(**{"seconds": 60.0, **plan}))
    try:
        sweep.run(PLACE)
    finally:
        crew.close()
    return sweep


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


def names(entrants) -> list[str]:
    return [one.file.name for one in entrants]


def test_all_get_a_few_rounds_and_only_those_in_question_more(store):
    script = Script(noise=0.02)
    sweep = swept(store, script, *(entrant(n, s) for n, s in enumerate([1.0, 0.5, 0.501, 2.0])))
    assert names(in_question(sweep.standings())) in (
        ["candidate 1", "candidate 2"],
        ["candidate 2", "candidate 1"],
    )
    rounds = script.rounds()
    assert rounds["candidate 0", "short"] == rounds["candidate 3", "long"] == 5
    assert rounds["candidate 1", "short"] == rounds["candidate 2", "long"] > 10
    assert not sweep.spent


def test_a_clear_winner_ends_the_race_after_the_first_look(store):
    script = Script()
    swept(store, script, entrant(0, 1.0), entrant(1, 0.5))
    assert set(script.rounds().values()) == {5}


def test_what_is_wrong_crashes_or_hangs_is_kept_without_a_time_and_the_sweep_goes_on(store):
    script = Script()
    bad = [entrant(n, 0.1, s) for n, s in enumerate(["wrong", "crashed", "timed out"], 1)]
    sweep = swept(store, script, entrant(0, 1.0), *bad, entrant(4, 0.5))
    assert names(in_question(sweep.standings())) == ["candidate 4"]
    found = {key.core: one for key, one in store.results().items() if one.status != "measured"}
    assert {core: one.status for core, one in found.items()} == {
        "core 1": "wrong",
        "core 2": "crashed",
        "core 3": "timed out",
    }
    assert not any(one.logs or one.seconds for one in found.values())
    assert found["core 1"].message == "candidate 1 is wrong"
    # at one shape: what fails there is not tried at the other
    assert [job.candidate.name for job in script.asked].count("candidate 1") == 1


def test_what_a_candidate_says_may_be_no_text(store):
    swept(store, Script(), entrant(0, 1.0), entrant(1, 0.5, refused="no \udcff"), entrant(2, 2.0))
    assert len(store.results()) == 5
    assert [one.message for one in store.results().values() if one.message] == ["no \\udcff"]


def test_one_that_did_not_compile_is_recorded_and_not_tried(store):
    script = Script()
    swept(store, script, entrant(0, 1.0), entrant(1, 0.5, refused="no such dot"))
    assert {job.candidate.name for job in script.asked} == {"candidate 0"}
    refused = [one for one in store.results().values() if one.status == "refused"]
    assert [one.message for one in refused] == ["no such dot"]


def test_running_again_measures_nothing_and_another_candidate_only_itself(store):
    three = [entrant(n, s) for n, s in enumerate([1.0, 0.5, 0.7])]
    swept(store, Script(), *three)
    again, more = Script(), Script()
    swept(store, again, *three)
    assert not again.asked
    swept(store, more, *three, entrant(3, 2.0))
    assert set(more.rounds()) == {("candidate 3", "short"), ("candidate 3", "long")}


def test_the_anchor_is_the_first_setting_that_the_store_saw_there(store):
    swept(store, Script(), entrant(0, 1.0), entrant(1, 0.5))
    later = Script()
    swept(store, later, entrant(1, 0.5), entrant(0, 1.0), entrant(2, 0.25))
    assert {job.anchor.name for job in later.asked} == {"candidate 0"}


def test_the_time_that_is_given_ends_it_and_is_told(store):
    script = Script(before=lambda job: time.sleep(0.05))
    sweep = swept(store, script, *(entrant(n, 1.0 + n) for n in range(50)), seconds=0.3)
    assert sweep.spent
    assert 2 <= len(script.asked) < 20


def test_at_most_so_many_candidates_are_tried(store):
    script = Script()
    swept(store, script, *(entrant(n, 1.0 + n) for n in range(9)), trials=3)
    assert len({job.candidate.name for job in script.asked}) == 3


def test_tpe_asks_for_no_candidate_twice(store):
    script = Script()
    entrants = [entrant(n, 1.0 + abs(n - 7)) for n in range(12)]
    sweep = swept(store, script, *entrants, strategy="tpe", slots=2)
    assert len(sweep.standings()) == 12
    assert set(script.rounds().values()) == {5}


def test_nothing_is_measured_twice_where_several_trials_run_at_once(store):
    script = Script(before=lambda job: time.sleep(0.01))
    swept(store, script, *(entrant(n, 1.0 + n) for n in range(6)), slots=4)
    assert len(script.asked) == 2 * 6


def test_an_anchor_that_gives_no_time_again_and_again_ends_the_sweep(store):
    script = Script()
    with pytest.raises(NoRun, match="the anchor gave no time"):
        swept(store, script, entrant(0, 1.0, "no anchor"))
    assert len(script.asked) == 3


def test_an_interrupt_marks_what_was_under_way_and_running_again_goes_on(store):
    def interrupting(job):
        if job.candidate.name == "candidate 1":
            raise KeyboardInterrupt

    entrants = [entrant(n, 1.0 + n) for n in range(3)]
    run = store.begin("toy")
    with pytest.raises(KeyboardInterrupt):
        swept(store, Script(before=interrupting), *entrants)
    assert [state for _, _, state in store.runs()] == ["incomplete"]
    again = Script()
    swept(store, again, *entrants)
    store.end(run)
    assert ("candidate 0", "short") not in again.rounds()
    assert ("candidate 1", "short") in again.rounds()
    assert [state for _, _, state in store.runs()] == ["complete"]


def test_trials_that_ended_before_an_interrupt_was_seen_are_kept(store):
    def interrupting(state):
        if len(sweep._under_way) == 2:
            wait(sweep._under_way)
            raise KeyboardInterrupt

    crew = Script().crew(2)
    plan = Plan(seconds=60.0)
    sweep = Sweep(field(entrant(0, 1.0)), store, crew, TIMING, plan, interrupting)
    with pytest.raises(KeyboardInterrupt):
        sweep.run(PLACE)
    crew.close()
    assert [one.status for one in store.results().values()] == ["measured", "measured"]


KILLED = """
import sys, time
sys.path.insert(0, {folder!r})
from pathlib import Path
from fields import PLACE, TIMING, Script, entrant, field
from kgen.sweep.drive import Sweep
from kgen.sweep.state import Plan
from kgen.sweep.store import Store

def before(job):
    print(job.candidate.name, job.shape, flush=True)
    time.sleep(0.02)

crew = Script(before=before).crew()
entrants = [entrant(n, 1.0 + n) for n in range(200)]
Sweep(field(*entrants), Store(Path({store!r})), crew, TIMING, Plan(seconds=60.0)).run(PLACE)
"""


@pytest.mark.parametrize("trials", [1, 7, 20])
def test_a_sweep_that_is_killed_loses_the_trial_under_way_only(tmp_path, trials):
    path = tmp_path / "store.sqlite"
    code = KILLED.format(folder=str(SWEEP), store=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    begun = [process.stdout.readline() for _ in range(trials)]
    os.kill(process.pid, signal.SIGKILL)
    begun += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    store = Store(path)
    kept = len(store.results())
    assert len(begun) - 1 <= kept <= len(begun)
    again = Script()
    swept(store, again, *(entrant(n, 1.0 + n) for n in range(12)))
    assert len(again.rounds()) == 2 * 12 - min(kept, 24)
    store.close()


# where tests run in the background of a shell, its programs inherit that Ctrl-C is ignored
INTERRUPTED = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {folder!r})
from dataclasses import replace
from pathlib import Path
from fields import TIMING, Script, entrant, field
from kgen.sweep.state import Plan
from kgen.sweep.store import Store
from kgen.sweep.sweeps import sweep_all

closed = threading.Event()

def before(job):
    if job.candidate.name == "candidate 2":
        print("under way", flush=True)
        closed.wait()

crew = Script(before=before).crew()
both = replace(crew, close=lambda: (closed.set(), crew.close()))
fields = [field(*(entrant(n, 1.0 + n) for n in range(3)))]
try:
    sweep_all(fields, Store(Path({store!r})), both, TIMING, Plan(seconds=60.0), lambda state: None)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_real_signal_marks_what_was_under_way_and_the_run(tmp_path):
    path = tmp_path / "store.sqlite"
    code = INTERRUPTED.format(folder=str(SWEEP), store=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "under way\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n"
    store = Store(path)
    assert [state for _, _, state in store.runs()] == ["incomplete"]
    assert {key.core for key in store.results()} == {"core 0", "core 1"}
    again = Script()
    swept(store, again, *(entrant(n, 1.0 + n) for n in range(3)))
    assert {name for name, _ in again.rounds()} == {"candidate 2"}
    store.close()


def test_two_sweeps_share_a_store(tmp_path):
    path = tmp_path / "store.sqlite"
    codes = [
        KILLED.format(folder=str(SWEEP), store=str(path)).replace("range(200)", chosen)
        for chosen in ("range(20)", "range(10, 30)")
    ]
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) for code in codes
    ]
    assert [one.wait(60) for one in running] == [0, 0]
    store = Store(path)
    assert {key.core for key in store.results()} == {f"core {n}" for n in range(30)}
    store.close()
