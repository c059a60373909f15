"""What a store's trials show: the best first, who is not distinguishable from it, and what has no time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kgen.sweep.conclude import Where, concluded, places
from kgen.sweep.drive import Sweep
from kgen.sweep.records import Key, Trial
from kgen.sweep.report import report, values
from kgen.sweep.state import Plan
from kgen.sweep.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

from fields import PLACE, TIMING, WORKLOADS, Script, entrant, field  # noqa: E402

PRESENT = ("core 0", "signature")
SECONDS = [1e-4, 0.5e-4, 0.502e-4, 0.9e-4]


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "store.sqlite")
    crew = Script(noise=0.003).crew()
    entrants = [entrant(number, seconds) for number, seconds in enumerate(SECONDS)]
    entrants += [entrant(9, 1.0, "wrong"), entrant(10, 1.0, refused="no such dot")]
    Sweep(field(*entrants), opened, crew, TIMING, Plan(seconds=60.0)).run(PLACE)
    crew.close()
    yield opened
    opened.close()


def found(store: Store):
    (where,) = places(store, "toy")
    return concluded(store, "toy", "decode", where, WORKLOADS, PRESENT)


def test_a_store_tells_where_a_spec_was_tried(store):
    assert places(store, "toy") == [Where("a device", "triton 3.6.0")]
    assert places(store, "another") == []


def test_rows_are_the_best_first_with_ratios_to_the_anchor(store):
    rows = found(store).overall
    assert {row.entry.core for row in rows[:2]} == {"core 1", "core 2"}
    assert [row.entry.core for row in rows[2:]] == ["core 3", "core 0"]
    assert [row.ratio.point for row in rows] == pytest.approx([2.0, 2.0, 1.11, 1.0], abs=0.02)
    assert [row.alike for row in rows] == [False, True, False, False]
    assert all(row.ratio.low < row.ratio.point < row.ratio.high for row in rows)
    assert {len(row.ids) for row in rows[2:]} == {2}


def test_the_report_marks_the_spec_s_own_and_what_is_not_distinguishable(store):
    text = "\n".join(report(found(store), PRESENT))
    assert "toy, regime decode, on a device, triton 3.6.0" in text
    (alike,) = {line.split()[0] for line in text.splitlines() if "not distinguishable" in line}
    assert alike in ("tile.BLOCK_N=1", "tile.BLOCK_N=2")
    own = [line for line in text.splitlines() if line.startswith("tile.BLOCK_N=0 ")]
    assert len(own) == 3 and all("the spec's" in line for line in own)
    assert " us  " in own[0] and "x [0.98" in own[0]
    assert "4 measured, 2 without a time, 0 not tried" in text
    assert "wrong: tile.BLOCK_N=9 variant=toy: candidate 9 is wrong" in text
    assert "refused: tile.BLOCK_N=10 variant=toy: no such dot" in text


def test_what_a_candidate_says_is_made_printable(store):
    trial = Trial(
        Key("core 3", "signature", WORKLOADS[0].text, "a device", "triton 3.6.0"),
        *("crashed", (), (), "", "ValueError: \x1b[31m\nmore", "now"),
    )
    store.add(trial)
    text = "\n".join(report(found(store), PRESENT))
    assert "crashed: tile.BLOCK_N=3 variant=toy: ValueError: \\x1b[31m\n" in text


def test_a_workload_that_was_not_measured_leaves_no_row(store):
    more = (*WORKLOADS, type(WORKLOADS[0])("new", "decode", "text of new"))
    there = concluded(store, "toy", "decode", Where(PLACE.device, PLACE.versions), more, PRESENT)
    assert there.overall == () and there.untried == 4


def test_a_program_reads_the_same(store):
    plain = values(found(store), PRESENT)
    assert [one["present"] for one in plain["overall"]] == [False, False, False, True]
    assert {one["status"] for one in plain["failed"]} == {"wrong", "refused"}
    assert plain["overall"][3]["settings"] == {"tile.BLOCK_N": 0, "variant": "toy"}
