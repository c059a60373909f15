"""The store: a result is found by what decides it and by nothing else, and nothing that ended is lost or changed."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.diagnostics import KgenError
from kgen.sweep.records import Entry, Key, Measured, Trial, together
from kgen.sweep.store import Store
from kgen.sweep.trial import File, shape_text, versions_text

KEY = Key("core", "signature", "shape", "device", "versions")
ANCHOR = File("present", "text", {"a": [1, None]})


def trial(key: Key = KEY, status: str = "measured", seconds=(1.0, 2.0), **changes) -> Trial:
    """Twice as fast as the anchor `core`."""
    timed = status == "measured"
    values = {
        "seconds": tuple(seconds) if timed else (),
        "anchor_seconds": tuple(2 * one for one in seconds) if timed else (),
        "anchor": "core" if timed else "",
        "message": "",
        "finished": "2026-01-01T00:00:00Z",
    }
    return Trial(key, status, **{**values, **changes})


@pytest.fixture
def store(tmp_path: Path):
    opened = Store(tmp_path / "deep" / "store.sqlite")
    opened.anchor(KEY, ANCHOR)
    yield opened
    opened.close()


def test_rounds_of_one_key_are_counted_together(store):
    ids = (store.add(trial()), store.add(trial(seconds=(3.0,))))
    found = store.result(KEY)
    assert (found.status, found.seconds, found.ids) == ("measured", (1.0, 2.0, 3.0), ids)
    assert found.logs == pytest.approx([math.log(2)] * 3)


@pytest.mark.parametrize("field", [field.name for field in fields(Key)])
def test_every_part_of_a_key_matters(store, field):
    store.add(trial())
    other = replace(KEY, **{field: "another"})
    store.anchor(other, ANCHOR)
    assert store.result(other) is None
    store.add(trial(other, seconds=(9.0,), anchor=other.core if field == "core" else "core"))
    assert store.result(KEY).seconds == (1.0, 2.0)


@pytest.mark.parametrize("status", ["wrong", "crashed", "timed out", "refused"])
def test_what_failed_once_has_no_speed_whatever_was_measured_before(store, status):
    store.add(trial())
    store.add(trial(status=status, message="why"))
    found = store.result(KEY)
    assert (found.status, found.logs, found.seconds, found.message) == (status, (), (), "why")


def test_what_was_interrupted_is_not_finished(store):
    store.add(trial(status="incomplete"))
    assert store.result(KEY) is None
    store.add(trial())
    assert store.result(KEY).status == "measured"


def test_the_same_trial_is_kept_once(store):
    assert store.add(trial()) == store.add(trial())
    assert store.result(KEY).seconds == (1.0, 2.0)


def test_the_first_anchor_of_a_place_stays(store):
    core, file = store.anchor(replace(KEY, core="later"), File("later", "other", {}))
    assert (core, file) == ("core", ANCHOR)
    store.add(trial(anchor="later"))
    assert store.result(KEY) is None


def test_what_another_connection_added_is_seen_at_once(store):
    other = Store(store.path)
    other.add(trial())
    assert store.result(KEY) is not None
    other.close()


def test_many_open_a_new_store_at_the_same_moment(tmp_path):
    code = "import sys; from pathlib import Path; from kgen.sweep.store import Store; Store(Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path / "new.sqlite")]
    opening = [subprocess.Popen(command) for _ in range(6)]
    assert [one.wait(60) for one in opening] == [0] * 6


def test_entries_and_workloads_read_back_and_the_newest_estimate_holds(store):
    settings = (("launch.aligned", True), ("tile.BLOCK_N", 64), ("variant", "toy"))
    entry = Entry("spec", "decode", settings, "core", "signature", {"short": 1.0})
    newer = replace(entry, estimates={"short": 2.0})
    measured = Measured("spec", "short", "shape", "decode")
    store.describe([entry], [measured])
    store.describe([newer], [measured])
    assert store.entries("spec") == [newer] and store.entries("other") == []
    assert store.workloads() == [measured]


def test_a_store_takes_all_of_another_one_once(store, tmp_path):
    other = Store(tmp_path / "other.sqlite")
    other.anchor(replace(KEY, core="theirs"), ANCHOR)
    other.add(trial(seconds=(4.0,)))
    other.add(trial(replace(KEY, core="more"), anchor="theirs"))
    other.close()
    store.add(trial())
    assert store.take(tmp_path / "other.sqlite") == 2
    assert store.take(tmp_path / "other.sqlite") == 0
    assert store.result(KEY).seconds == (1.0, 2.0, 4.0)
    # measured beside another anchor than this store's: it is made again
    assert store.result(replace(KEY, core="more")) is None


def test_a_file_that_is_no_store_is_told(tmp_path):
    path = tmp_path / "text"
    path.write_text("no database\n" * 200)
    with pytest.raises(KgenError, match="KG981: the store cannot be used: file is not a database"):
        Store(path)
    with pytest.raises(KgenError, match="KG981: .*there is no such file"):
        Store(tmp_path / "none", create=False)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(KgenError, match="it has the format 99; this kgen reads 1"):
        Store(newer)


def closed(path: Path) -> Path:
    """A store with one trial, which nobody has open."""
    store = Store(path)
    store.anchor(KEY, ANCHOR)
    store.add(trial())
    store.close()
    return path


def test_the_database_of_something_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "users.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE users (id)")
    database.close()
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(KgenError, match="KG981: .*something else, with a table users"):
            Store(path, create)
    assert path.read_bytes() == before


def test_a_reader_changes_nothing_and_leaves_nothing(tmp_path):
    path = closed(tmp_path / "s.sqlite")
    before = path.read_bytes()
    store = Store(path, create=False)
    assert store.result(KEY).status == "measured"
    with pytest.raises(KgenError, match="KG981: .*readonly"):
        store.add(trial(seconds=(9.0,)))
    store.close()
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_what_a_sweep_that_still_runs_has_added(store):
    store.add(trial())
    reader = Store(store.path, create=False)
    assert reader.result(KEY).seconds == (1.0, 2.0)
    reader.close()


def test_a_store_that_is_damaged_inside_is_told(tmp_path):
    path = closed(tmp_path / "s.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE trials SET content = replace(content, 'measured', 'quick')")
    database.close()
    with pytest.raises(KgenError, match="KG981: .*a trial in it cannot be read .*'quick'"):
        Store(path).results()
    content = path.read_bytes()
    page = content.index(b'"anchor_seconds"') // 4096
    path.write_bytes(content[: page * 4096] + bytes(4096) + content[(page + 1) * 4096 :])
    with pytest.raises(KgenError, match="KG981: .*malformed"):
        Store(path).results()


def test_a_store_that_another_process_holds_is_told(store, monkeypatch):
    monkeypatch.setattr("kgen.sweep.database.BUSY_SECONDS", 0.05)
    waiting = Store(store.path)
    other = sqlite3.connect(store.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KgenError, match="KG981: the store cannot be used: database is locked"):
        waiting.add(trial())
    other.close()
    waiting.add(trial())
    assert store.result(KEY).status == "measured"
    waiting.close()


def test_a_full_disk_is_told_and_costs_the_trial_under_way(store):
    store.add(trial())
    store._db._db.execute(
        f"PRAGMA max_page_count = {store._db.rows('PRAGMA page_count')[0][0] + 1}"
    )
    with pytest.raises(
        KgenError, match="KG981: the store cannot be used: database or disk is full"
    ):
        store.add(trial(status="wrong", message="x" * 100_000))
    store.add(trial(seconds=(3.0,)))
    assert store.result(KEY).seconds == (1.0, 2.0, 3.0)


def test_an_interrupt_while_a_trial_is_written_undoes_it_and_the_next_is_kept(store, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        with store._db.writing() as database:
            database.execute("DELETE FROM anchors")
            raise KeyboardInterrupt
    store.add(trial())
    assert store.result(KEY).seconds == (1.0, 2.0)


def test_a_store_has_nothing_new_for_itself(store):
    store.add(trial())
    assert store.take(store.path) == 0


SECONDS = st.floats(1e-9, 1e3, allow_nan=False)
TEXTS = st.text(max_size=8)


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=6), st.lists(TEXTS, min_size=6))
def test_trials_read_back_as_they_were(pairs, words):
    key = Key(*words[:5])
    own, base = (tuple(column) for column in zip(*pairs))
    one = Trial(key, "measured", own, base, "anchor", words[5], "now")
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return
    store = Store(Path(":memory:"))
    store.anchor(replace(key, core="anchor"), ANCHOR)
    store.add(one)
    assert store.result(key) == together([one], "anchor")
    store.close()


AXES = st.dictionaries(st.sampled_from("ABC"), st.integers(0, 9) | st.none(), min_size=1)


@given(AXES, AXES, st.integers(1, 9))
def test_a_shape_is_what_is_computed_and_its_sizes(axes, others, page):
    manifest = {"family": "toy", "problem": {"page": 1, "regimes": [], "workloads": {}, "axes": {}}}
    moved = {"family": "toy", "problem": {**manifest["problem"], "regimes": [1], "axes": {"A": 2}}}
    other = {"family": "toy", "problem": {**manifest["problem"], "page": page}}
    text = shape_text(manifest, axes, {})
    assert shape_text(moved, dict(reversed(axes.items())), {}) == text
    assert (shape_text(manifest, others, {}) == text) == (axes == others)
    assert (shape_text(other, axes, {}) == text) == (page == 1)
    assert shape_text(manifest, axes, {"S": [1]}) != text


def test_the_versions_that_matter_are_those_that_compile_and_launch():
    environment = dict.fromkeys(("torch", "triton", "ptxas", "driver", "python", "device"), "1")
    assert versions_text(environment) == "torch 1, triton 1, ptxas 1, driver 1"
    assert versions_text({**environment, "ptxas": ""}) == "torch 1, triton 1, driver 1"
