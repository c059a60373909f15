"""`kgen tune`: what it writes, what it leaves as it is, and when it writes nothing."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from kgen.plan.templates import Templates
from kgen.spec import load
from kgen.sweep.drive import Sweep
from kgen.sweep.executor import Crew
from kgen.sweep.field import Field
from kgen.sweep.model import Candidate
from kgen.sweep.rendered import Source, workloads
from kgen.sweep.space import current
from kgen.sweep.state import Plan
from kgen.sweep.store import Store
from kgen.sweep.trial import Answer, Place, Timing
from kgen.tune.tuned import tuned

BEFORE = "  - {name: rows, when: T <= 65536, variant: rms, launch: {num_warps: 8}}   # by hand\n"


@pytest.fixture
def spec(root: Path, tmp_path: Path) -> Path:
    """A copy of a spec with a comment behind its regime."""
    text = (root / "specs/norm/rms_4096.yaml").read_text()
    line = next(one for one in text.splitlines(True) if "name: rows" in one)
    path = tmp_path / "rms_4096.yaml"
    path.write_text(text.replace(line, BEFORE))
    return path


@pytest.fixture
def measured(spec: Path, tmp_path: Path, cache: Path):
    """Measures candidates by their warps with these times, of what the spec has; gives the store's path."""

    def made(
        times: dict[int, float],
        device: str = "a GPU",
        noise: float = 0.001,
        seconds=lambda job, warps: None,
    ) -> Path:
        store = Store(tmp_path / "s.sqlite")
        source = Source(spec, (), Templates([]), cache)
        present = current(load(spec), source.templates, 0)
        entrants = {}
        for warps in times:
            settings = {**dict(present.settings), "launch.num_warps": warps}
            entrants[warps] = source.entrant(Candidate("rows", tuple(sorted(settings.items()))))
        places = workloads(entrants[8].file.manifest)
        random.seed(0)

        def measure(job):
            (warps,) = [w for w, one in entrants.items() if one.file.name == job.candidate.name]
            own = seconds(job, warps) or times[warps]
            turns = tuple(own * random.gauss(1, noise) for _ in range(job.rounds))
            return Answer("measured", turns, (times[8],) * job.rounds)

        executor = ThreadPoolExecutor(1)
        crew = Crew(executor, None, measure, 1, executor.shutdown)
        field = Field("rms_4096", "rows", entrants[8], tuple(entrants.values()))
        sweep = Sweep(field, store, crew, Timing(), Plan(seconds=60.0))
        sweep.run(Place(device, "triton 3.6.0", places))
        executor.shutdown()
        store.close()
        return store.path

    return made


def test_a_winner_is_written_and_no_other_byte_changes(kgen, spec, measured):
    before = spec.read_text()
    told = kgen("tune", spec, "--store", measured({8: 1.0, 4: 0.5, 16: 2.0}))
    assert told.code == 0 and not told.err
    after = spec.read_text()
    (note,) = [line for line in after.splitlines(True) if line.startswith("  # tuned: ")]
    changed = BEFORE.replace("num_warps: 8", "num_warps: 4")
    assert after == before.replace(BEFORE, note + changed)
    assert note.startswith("  # tuned: 2.00x of num_warps=8, trial ") and note.endswith(", a GPU\n")
    assert "rows: changed; the best is 2.00" in told.out
    assert f"-{BEFORE}" in told.out and f"+{changed}" in told.out
    assert load(spec).document.regimes[0].launch["num_warps"] == 4


def test_the_trial_that_a_comment_names_is_in_the_store(kgen, spec, measured):
    path = measured({8: 1.0, 4: 0.5})
    kgen("tune", spec, "--store", path)
    named = spec.read_text().split("trial ")[1].split(",")[0]
    ids = [one for result in Store(path).results().values() for one in result.ids]
    assert len([one for one in ids if one.startswith(named)]) == 1


def test_tuning_again_changes_nothing(kgen, spec, measured):
    path = measured({8: 1.0, 4: 0.5})
    kgen("tune", spec, "--store", path)
    once = spec.read_text()
    told = kgen("tune", spec, "--store", path)
    assert told.code == 0 and spec.read_text() == once
    assert "rows: kept; what the spec has is the best that was measured" in told.out
    assert "nothing to change" in told.out


def test_a_dry_run_shows_and_writes_nothing(kgen, spec, measured):
    before = spec.read_text()
    told = kgen("tune", spec, "--store", measured({8: 1.0, 4: 0.5}), "--dry-run", "--json")
    found = json.loads(told.out)
    assert spec.read_text() == before and not found["written"]
    assert "+  # tuned: 2.00x" in found["diff"]
    assert found["regimes"][0]["settings"]["launch.num_warps"] == 4


def test_what_is_not_distinguishable_is_kept(kgen, spec, measured):
    before = spec.read_text()
    told = kgen("tune", spec, "--store", measured({8: 1.0, 4: 0.995}, noise=0.01))
    assert told.code == 0 and spec.read_text() == before
    assert "rows: kept; not distinguishable: the best is " in told.out


def test_another_problem_was_not_measured(kgen, spec, measured):
    path = measured({8: 1.0, 4: 0.5})
    spec.write_text(spec.read_text().replace("eps: 1e-6", "eps: 1e-5"))
    before = spec.read_text()
    told = kgen("tune", spec, "--store", path)
    assert spec.read_text() == before
    assert "rows: kept; no candidate is measured at every shape" in told.out


def test_other_code_than_was_measured_is_not_written(kgen, spec, measured):
    """As after a change of the templates: the settings of the winner give another core now."""
    path = measured({8: 1.0, 4: 0.5})
    before = spec.read_text()
    with sqlite3.connect(path) as store:
        store.execute(
            "UPDATE entries SET settings = replace(settings, 'num_warps\",4', 'num_warps\",2')"
        )
    store.close()
    told = kgen("tune", spec, "--store", path)
    assert told.code == 1 and spec.read_text() == before
    assert "KG985: what regime rows was to become is not written: the winner's settings" in told.err
    assert "give other code now; the templates or the spec have changed since" in told.err


def best_by_shape(job, warps: int) -> float:
    """Four warps are best at few rows, sixteen at many, and eight the best on the whole."""
    times = {"T 1 H 4096": {4: 0.8, 16: 2.0}, "T 64 H 4096": {4: 0.8, 16: 2.0}}
    return times.get(job.shape, {4: 3.0, 16: 0.9}).get(warps, 1.0)


def test_a_regime_is_cut_where_no_candidate_is_best_at_all_shapes(kgen, spec, measured):
    before = spec.read_text()
    path = measured({8: 1.0, 4: 1.0, 16: 1.0}, seconds=best_by_shape)
    assert "rows: kept; what the spec has is the best" in kgen("tune", spec, "--store", path).out
    told = kgen("tune", spec, "--store", path, "--regimes")
    assert told.code == 0 and not told.err
    assert told.out.splitlines()[:4] == [
        "rows, T up to 64: aligned=True num_warps=4 variant=rms",
        "rows, T above: aligned=True num_warps=16 variant=rms",
        "rows: T from 65 to 4095 was not measured; it goes with 4096",
        "rows: T above 4096 was not measured; it goes with 4096",
    ]
    notes = [line for line in spec.read_text().splitlines(True) if "# tuned: " in line]
    assert notes[0].endswith("T 1 to 64 measured on a GPU\n")
    with closing(Store(path, create=False)) as store:
        known = {id[:12]: key.core[:12] for key, one in store.results().items() for id in one.ids}
    for note in notes:
        trial, core = re.search(r"trial (\w+)(?: and \d+ more)?, core (\w+), ", note).groups()
        assert known[trial] == core
    first = BEFORE.replace("name: rows", "name: rows_t64").replace("   # by hand", "")
    first = first.replace("65536", "65536 and T <= 64").replace("warps: 8", "warps: 4")
    second = BEFORE.replace("warps: 8", "warps: 16")
    assert spec.read_text() == before.replace(BEFORE, notes[0] + first + notes[1] + second)
    assert [one.name for one in load(spec).document.regimes] == ["rows_t64", "rows", "rest"]


def test_no_cut_is_made_where_one_candidate_is_best_everywhere(kgen, spec, measured):
    told = kgen("tune", spec, "--store", measured({8: 1.0, 4: 0.5}), "--regimes", "--dry-run")
    assert "rows: changed; the best is 2.00" in told.out


def test_a_store_of_two_devices_needs_a_choice(kgen, spec, measured):
    measured({8: 1.0, 4: 0.5})
    path = measured({8: 1.0, 4: 2.0}, device="another GPU")
    told = kgen("tune", spec, "--store", path)
    assert told.code == 1
    assert "KG986: 2 of the places in it match ''" in told.err
    assert "choose one with --on: a GPU, triton 3.6.0; another GPU, triton 3.6.0" in told.err
    before = spec.read_text()
    assert kgen("tune", spec, "--store", path, "--on", "another").code == 0
    assert spec.read_text() == before


def test_nothing_measured_is_told(kgen, spec, tmp_path):
    Store(tmp_path / "empty.sqlite").close()
    told = kgen("tune", spec, "--store", tmp_path / "empty.sqlite")
    assert told.code == 1 and "KG986: nothing of rms_4096 was measured" in told.err


def test_a_regime_of_another_file_is_not_written(kgen, spec, measured, tmp_path):
    path = measured({8: 1.0, 4: 0.5})
    child = tmp_path / "child.yaml"
    child.write_text("kgen: 1\nextends: rms_4096.yaml\n")
    told = kgen("tune", child, "--store", path)
    assert told.code == 1
    assert f"KG984: regime rows stands in {spec}, and a winner is written there" in told.err
    assert child.read_text() == "kgen: 1\nextends: rms_4096.yaml\n"


def test_a_mark_permissions_and_a_link_stay_as_they_are(kgen, spec, measured, tmp_path):
    path = measured({8: 1.0, 4: 0.5})
    text = spec.read_text().replace("\n", "\r\n")
    spec.write_bytes(f"\ufeff{text}".encode())
    spec.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(spec)
    assert kgen("tune", link, "--store", path).code == 0
    after = spec.read_bytes().decode()
    (note,) = [line for line in after.splitlines(True) if line.startswith("  # tuned: ")]
    changed = BEFORE.replace("\n", "\r\n")
    assert note.endswith("\r\n") and link.is_symlink() and spec.stat().st_mode & 0o777 == 0o640
    assert after == "\ufeff" + text.replace(
        changed, note + changed.replace("num_warps: 8", "num_warps: 4")
    )


def test_what_somebody_wrote_meanwhile_is_not_lost(kgen, spec, measured, monkeypatch):
    def meanwhile(source, spec_read, decisions, where):
        spec.write_text("# another\n" + spec_read.text)
        return tuned(source, spec_read, decisions, where)

    monkeypatch.setattr("kgen.tune.tuned.tuned", meanwhile)
    told = kgen("tune", spec, "--store", measured({8: 1.0, 4: 0.5}), "--json")
    found = json.loads(told.out)
    assert told.code == 1 and not found["written"] and found["diff"]
    assert "somebody changed the file since it was read" in found["diagnostics"][0]["message"]
    assert spec.read_text().startswith("# another\n") and "num_warps: 8" in spec.read_text()


def test_a_file_that_cannot_be_written_is_told(kgen, spec, measured, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kgen.tune.save.write_atomically", full)
    told = kgen("tune", spec, "--store", measured({8: 1.0, 4: 0.5}))
    assert told.code == 1 and "KG195: the file cannot be written: No space left" in told.err


def test_a_regime_that_the_spec_has_no_longer_is_told(kgen, spec, measured):
    path = measured({8: 1.0, 4: 0.5})
    spec.write_text(spec.read_text().replace("name: rows", "name: lines"))
    told = kgen("tune", spec, "--store", path)
    assert "rows: was swept, and the spec has no regime of this name with a variant now" in told.out
