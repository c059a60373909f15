"""`kgen.diff.measured`: ratios that receipts hold of two files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

from records import TEXTS, record  # noqa: E402

from kgen.diff.measured import measured  # noqa: E402
from kgen.diff.model import Side  # noqa: E402
from kgen.diff.show import _measured  # noqa: E402
from kgen.evidence.ledger import Entry  # noqa: E402
from kgen.evidence.receipts import receipt  # noqa: E402

ROUNDS = 12


def side(role: str) -> Side:
    return Side(role, "file", TEXTS[role], None)


def entry(name: str, times: dict[str, float], **changes) -> Entry:
    """A receipt whose candidates take these seconds at one shape, in every round."""
    rounds = {role: {"T 8": [seconds] * ROUNDS} for role, seconds in times.items()}
    return Entry(Path(name), "", receipt=receipt(record(rounds, **changes)))


BOTH = {"candidate": 1e-5, "baseline": 2e-5, "again": 2e-5, "incumbent": 1.5e-5}


def test_a_run_that_timed_both_tells_how_many_times_faster_b_is():
    (one,) = measured(side("incumbent"), side("candidate"), [entry("r.json", BOTH)])
    assert (one.shape, one.device, one.receipts) == ("T 8", "NVIDIA H200", ("r.json",))
    assert one.ratio == pytest.approx(1.5)
    assert one.low <= 1.5 <= one.high
    (back,) = measured(side("candidate"), side("incumbent"), [entry("r.json", BOTH)])
    assert back.ratio == pytest.approx(1 / 1.5)


def test_a_comment_makes_it_no_other_file():
    changed = replace(side("candidate"), text="# another\n" + TEXTS["candidate"])
    assert measured(side("incumbent"), changed, [entry("r.json", BOTH)])


def test_two_runs_against_one_baseline_give_the_ratio_of_their_ratios():
    first = {key: BOTH[key] for key in ("candidate", "baseline", "again")}
    second = {"peer": 4e-5, "baseline": 2e-5, "again": 2e-5}
    found = measured(side("peer"), side("candidate"), [entry("1", first), entry("2", second)])
    (one,) = found
    assert one.receipts == ("2", "1")
    assert one.ratio == pytest.approx(4)
    assert one.low < 4 * (1 - 0.02) and one.high > 4 * (1 + 0.02)  # wider than either


def test_runs_of_another_problem_or_device_are_not_put_together():
    first = {key: BOTH[key] for key in ("candidate", "baseline", "again")}
    second = {"peer": 4e-5, "baseline": 2e-5, "again": 2e-5}
    other = replace(record({}).problem, sha256="e" * 64)
    gpu = replace(record({}).environment, device="NVIDIA H100")
    for changes in ({"problem": other}, {"environment": gpu}):
        entries = [entry("1", first), entry("2", second, **changes)]
        assert measured(side("peer"), side("candidate"), entries) == ()


def test_a_void_run_shows_nothing():
    void = {**BOTH, "again": 4e-5}
    assert measured(side("incumbent"), side("candidate"), [entry("r", void)]) == ()


def test_a_shape_that_a_fallback_served_shows_nothing():
    made = record({role: {"T 8": [seconds] * ROUNDS} for role, seconds in BOTH.items()})
    served = replace(made, shapes=tuple(replace(s, fallback=("candidate",)) for s in made.shapes))
    found = Entry(Path("r"), "", receipt=receipt(served))
    assert measured(side("incumbent"), side("candidate"), [found]) == ()


def test_a_file_that_no_receipt_has_shows_nothing():
    other = Side("other", "file", "def run(x):\n    return x * 2\n", None)
    assert measured(side("candidate"), other, [entry("r", BOTH)]) == ()


def test_what_is_shown_names_the_receipts_that_it_rests_on():
    entries = [entry("aaaaaaaaaaaaaaaa.json", BOTH), entry("bbbbbbbbbbbbbbbb.json", BOTH)]
    found = measured(side("incumbent"), side("candidate"), entries)
    lines = list(_measured(found))
    assert len(lines) == 2 and all("B is 1.5" in line for line in lines)
    assert lines[0].endswith(" as fast (one run, aaaaaaaaaaaa)")
    assert lines[1].endswith(" as fast (one run, bbbbbbbbbbbb)")
