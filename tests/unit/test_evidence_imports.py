"""A remote judge's answer becomes a receipt through a mapping, and what does not fit is named."""

from __future__ import annotations

import copy
import math
import sys
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from answers import (  # noqa: E402
    ANSWER,
    MAPPING,
    NESTED,
    NESTED_MAPPING,
    TABLE,
    TABLE_MAPPING,
    TIME,
    changed,
)

from kgen.evidence.imports import Imported, analyse_import, read_import  # noqa: E402
from kgen.evidence.mapping import follow, mapped, read_mapping  # noqa: E402
from kgen.evidence.plain import ReadingError, digest, plain  # noqa: E402
from kgen.evidence.receipts import parse_receipt, receipt  # noqa: E402

TEXT = "def run(x):\n    return x\n"


def imported(answer: Any = ANSWER, mapping: Any = MAPPING) -> Imported:
    own = {
        "kind": "import",
        "schema": 1,
        "kgen": "0.0.0",
        "floor": 0.015,
        "file": "submission.py",
        "bytes_sha256": digest(TEXT),
        "core_sha256": "0" * 64,
        "sources": {digest(TEXT): TEXT},
        "result_sha256": "1" * 64,
        "mapping_sha256": "2" * 64,
    }
    return read_import(plain({**own, **mapped(read_mapping(mapping), answer)}))


def test_everything_that_the_answer_says_is_taken():
    found = imported()
    assert (found.job, found.evaluator, found.mode) == ("4711", "timer 2", "scored")
    assert (found.problem, found.device, found.quota_left) == ("rms", "NVIDIA H100", 3)
    assert [shape.name for shape in found.shapes] == ["B 1", "B 8"]
    time = found.shapes[1].baseline
    assert (time.seconds, time.low, time.high) == pytest.approx((3e-5, 2.99e-5, 3.01e-5))
    assert [(case.name, case.passed) for case in found.cases] == [("small", True), ("large", True)]


FOREIGN = [(TABLE, TABLE_MAPPING), (NESTED, NESTED_MAPPING)]


@pytest.mark.parametrize(("answer", "mapping"), FOREIGN, ids=["table", "nested"])
def test_the_same_results_in_a_foreign_form_say_the_same(answer, mapping):
    found, own = imported(answer, mapping), imported()
    for theirs, ours in zip(found.shapes, own.shapes, strict=True):
        assert (theirs.name, theirs.incumbent) == (ours.name, None)
        for role in ("candidate", "baseline"):
            assert astuple(getattr(theirs, role)) == pytest.approx(astuple(getattr(ours, role)))
    same = ("problem", "device", "job", "evaluator", "mode", "started", "flags")
    assert [getattr(found, name) for name in same] == [getattr(own, name) for name in same]
    assert all(case.passed for case in found.cases) and len(found.cases) == 2
    theirs, ours = receipt(found), receipt(own)
    assert theirs.decision == ours.decision
    assert [one.status for one in theirs.gates] == [one.status for one in ours.gates]
    assert parse_receipt(theirs.text()) == theirs


@pytest.mark.parametrize(
    ("answer", "mapping", "path", "to", "reason"),
    [
        (TABLE, TABLE_MAPPING, ("data", 1, 8), "FAIL", "flags: case B 8: FAIL"),
        (NESTED, NESTED_MAPPING, ("complaints",), {"stale": 1}, "flags: stale"),
        (
            NESTED,
            NESTED_MAPPING,
            ("correct", "large", "verdict", "passed"),
            False,
            "flags: case large: false",
        ),
    ],
    ids=["a case of a table", "a complaint's key", "a nested case"],
)
def test_what_a_foreign_judge_holds_against_a_file_rejects_it(answer, mapping, path, to, reason):
    found = receipt(imported(changed(answer, *path, to=to), mapping)).decision
    assert found.decision == "rejected" and reason in found.reason


@pytest.mark.parametrize(
    ("answer", "mapping", "path", "to", "told"),
    [
        (
            TABLE,
            changed(TABLE_MAPPING, "shapes", "name", to="@key"),
            ("data", 0, 1),
            50,
            "shapes.name of item 0: there is @key of an item of a list; a pointer into the item",
        ),
        (
            TABLE,
            TABLE_MAPPING,
            ("data", 0, 2),
            "10000",
            "shapes.candidate.seconds of item 0: there is the text '10000' at '/2'; a number",
        ),
        (
            NESTED,
            NESTED_MAPPING,
            ("perf", "B 8", "yours"),
            {},
            "shapes.candidate.seconds of 'B 8': there is '/yours/wall~1ms/p50', and there is no",
        ),
    ],
    ids=["no key", "quoted", "missing"],
)
def test_what_does_not_fit_in_a_foreign_form_is_named_by_its_item(answer, mapping, path, to, told):
    with pytest.raises(ReadingError) as raised:
        imported(changed(answer, *path, to=to), mapping)
    assert told in str(raised.value)


def test_the_interval_of_a_ratio_combines_those_of_its_times():
    row = analyse_import(imported()).row("candidate", "B 1")
    assert row.to_baseline.point == pytest.approx(1.5)
    # 1 % and 0.67 % make 1.2 %, which the floor of 1.5 % is above
    assert row.to_baseline.low == pytest.approx(1.5 * 0.985)
    wide = changed(ANSWER, "rows", 0, "ours", "ci", to=[9.0, 11.0])
    row = analyse_import(imported(wide)).row("candidate", "B 1")
    below = math.hypot(math.log(11 / 10), math.log(15 / 14.9))
    assert row.to_baseline.low == pytest.approx(1.5 * math.exp(-below))


PROMOTED = ("promoted", ["not applicable"] + ["passed"] * 6)


def test_an_import_without_an_incumbent_is_promoted_over_the_baseline():
    found = receipt(imported())
    assert (found.decision.decision, [gate.status for gate in found.gates]) == PROMOTED
    assert found.gates[0].reason == "whether the baseline is as fast as itself was not told"
    assert found.gates[5].reason == (
        "its lower end 1.4775 is above the upper end 1.0150 of the baseline to itself, by the intervals of its own times"
    )
    assert parse_receipt(found.text()) == found


def with_times(gain: float, wide: float = 0.001, slow: float = 1.0) -> Imported:
    """A file that is `gain` times as fast as the baseline, whose interval is `wide` either way, and `slow` at one shape."""
    answer = copy.deepcopy(ANSWER)
    for row, factor in zip(answer["rows"], (slow, 1 / slow)):
        mine, theirs = factor * 10.0 / gain, 10.0
        row["ours"] = {"mid": mine, "ci": [mine * 0.999, mine * 1.001]}
        row["ref"] = {"mid": theirs, "ci": [theirs * (1 - wide), theirs * (1 + wide)]}
    return imported(answer)


EXCEEDS = 1.015 / 0.985
"""The least gain whose interval, by the floor, lies above that of the baseline."""


@pytest.mark.parametrize(
    ("times", "failed"),
    [
        ({"gain": EXCEEDS + 1e-4}, []),
        ({"gain": EXCEEDS - 1e-4}, ["interval"]),
        ({"gain": 1.03 - 1e-4}, ["gain", "interval"]),
        # 7 % either way at two shapes make 7 % of the baseline to itself, and half as much again of the file's ratio
        ({"gain": 1.12, "wide": 0.07}, ["interval"]),
        ({"gain": 1.14, "wide": 0.07}, []),
        ({"gain": 1.2, "slow": 1.26 - 1e-4}, []),
        ({"gain": 1.2, "slow": 1.26 + 1e-4}, ["regression"]),
    ],
    ids=str,
)
def test_each_gate_of_an_import_without_an_incumbent_at_its_edge(times, failed):
    found = receipt(with_times(**times))
    assert [gate.name for gate in found.gates if gate.status == "failed"] == failed
    assert found.decision.decision == ("rejected" if failed else "promoted")


def with_incumbent() -> Imported:
    answer = copy.deepcopy(ANSWER)
    for row, mid in zip(answer["rows"], (13.0, 26.0)):
        row["best"] = {"mid": mid, "ci": [mid - 0.1, mid + 0.1]}
    incumbent = {key: place.format("best") for key, place in TIME.items()}
    return imported(answer, changed(MAPPING, "shapes", "incumbent", to=incumbent))


def test_an_import_with_an_incumbent_can_be_promoted():
    found = receipt(with_incumbent())
    assert (found.decision.decision, [gate.status for gate in found.gates]) == PROMOTED


def test_a_judge_that_tells_no_intervals_promotes_nothing():
    mapping = copy.deepcopy(MAPPING)
    for role in ("candidate", "baseline"):
        del mapping["shapes"][role]["low"], mapping["shapes"][role]["high"]
    found = receipt(imported(mapping=mapping))
    assert found.analysis.row("candidate", "B 1").word == "no interval"
    assert found.decision.decision == "rejected"


def test_an_answer_without_a_baseline_is_told_what_its_incumbent_could_be_called():
    found = with_incumbent()
    shapes = tuple(replace(one, baseline=None) for one in found.shapes)
    assert analyse_import(replace(found, shapes=shapes)).void == (
        "the judge tells no baseline; let the mapping call the incumbent `baseline`"
    )


def test_in_a_check_no_row_has_a_verdict():
    found = with_incumbent()
    assert {row.word for row in analyse_import(found).rows_of("incumbent")} == {"faster"}
    checked = analyse_import(replace(found, mode="check"))
    assert [one.word for one in checked.aggregates] == ["void", "baseline", "void"]
    assert {row.word for row in checked.rows} == {"void", "baseline"}


def test_a_check_counts_no_time():
    found = receipt(imported(changed(ANSWER, "type", to="test")))
    assert (found.decision.decision, "only checked" in found.decision.reason) == ("closed", True)


def test_a_check_without_any_shape_is_decided_too():
    found = receipt(imported(changed(changed(ANSWER, "type", to="test"), "rows", to=[])))
    assert found.decision.decision == "closed"
    wrong = changed(ANSWER, "tests", 0, "ok", to=False)
    found = receipt(imported(changed(changed(wrong, "type", to="test"), "rows", to=[])))
    assert found.decision.decision == "rejected"


def test_a_case_that_did_not_pass_rejects_the_file_in_a_check_too():
    wrong = changed(ANSWER, "tests", 1, "ok", to=False)
    for answer in (wrong, changed(wrong, "type", to="test")):
        found = receipt(imported(answer))
        assert found.decision.decision == "rejected"
        assert "flags: case large: false" in found.decision.reason


def test_a_flag_of_the_judge_rejects_the_file():
    found = receipt(imported(changed(ANSWER, "warnings", to=["cached output"])))
    assert found.decision.reason.startswith("flags: cached output")
    assert found.analysis.row("candidate", "B 1").word == "flagged"


def test_a_judge_that_tells_no_case_shows_no_correctness():
    found = receipt(imported(mapping=changed(MAPPING, "cases", to=...)))
    assert "correct: the judge tells no case" in found.decision.reason


def test_a_row_without_a_time_is_missing():
    found = receipt(imported(changed(ANSWER, "rows", 0, "ours", "mid", to=None)))
    assert found.analysis.aggregate_of("candidate").missing == ("B 1",)
    assert found.decision.decision == "rejected"


@pytest.mark.parametrize(
    ("path", "to", "told"),
    [
        (("job",), ..., "job: there is '/job/id', and there is no 'job'; a pointer into"),
        (("left",), "many", "quota_left: there is the text 'many' at '/left'; an integer"),
        (
            ("type",),
            "other",
            "mode: there is the text 'other' at '/type'; one of leaderboard, test",
        ),
        (("rows",), "none", "shapes.each: there is the text 'none' at '/rows'; a list or an"),
        (("rows", 1, "case"), None, "shapes.name of item 1: there is null at '/case'; a text"),
        (
            ("rows", 0, "ours", "ci"),
            [9.9],
            "shapes.candidate.high of item 0: there is '/ours/ci/1', and there is no item 1",
        ),
        (
            ("rows", 0, "ours", "mid"),
            "10",
            "shapes.candidate.seconds of item 0: there is the text '10'",
        ),
        (("rows", 0, "ours", "mid"), -1, "low <= seconds <= high, from a picosecond"),
        (("rows", 0, "ours", "mid"), 12, "low <= seconds <= high, from a picosecond"),
        (("rows", 0, "case"), "B 8", "shapes[0].name: there is 'B 8' once more"),
    ],
    ids=str,
)
def test_an_answer_that_does_not_fit_is_told_by_the_key_of_the_mapping(path, to, told):
    with pytest.raises(ReadingError) as raised:
        imported(changed(ANSWER, *path, to=to))
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("path", "to", "told"),
    [
        (("unit",), "minutes", "unit: there is the text 'minutes'; one of 's', 'ms', 'us', 'ns'"),
        (("job",), ..., "job: there is nothing; a text belongs"),
        (("jobs",), "/a", "jobs: there is an unknown key; only mapping, unit"),
        (("mapping",), 2, "mapping: there is the number 2; 1 belongs"),
        (("shapes", "each"), ..., "shapes.each: there is nothing"),
        (
            ("mode", "check"),
            ["test", "leaderboard"],
            "mode: there is 'leaderboard' in `scored` and in `check`; a word in one of them belongs",
        ),
        (("shapes", "candidate", "mid"), "/a", "shapes.candidate.mid: there is an unknown key"),
    ],
    ids=str,
)
def test_a_mapping_that_is_none_is_told_by_its_key(path, to, told):
    with pytest.raises(ReadingError) as raised:
        read_mapping(changed(MAPPING, *path, to=to))
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("told", "started"),
    [
        ("=2026-05-31T14:00:00.25+02:00", "2026-05-31T12:00:00Z"),
        ("=2026-05-31 12:00:00", "2026-05-31T12:00:00Z"),
        ("=1780228800", "2026-05-31T12:00:00Z"),
    ],
)
def test_a_time_is_taken_in_the_form_in_which_the_log_orders_it(told, started):
    assert imported(mapping=changed(MAPPING, "started", to=told)).started == started


@pytest.mark.parametrize("told", ["yesterday", "9" * 30, "2026-13-01"])
def test_what_is_no_time_is_told(told):
    with pytest.raises(ReadingError) as raised:
        imported(mapping=changed(MAPPING, "started", to=f"={told}"))
    assert f"started: there is the text '{told}' at '={told}'; a time such as" in str(raised.value)


def test_pointers_are_those_of_rfc_6901():
    document = {"a/b": 1, "m~n": 2, "list": ["x", {"": 3}]}
    assert [follow(document, p) for p in ("/a~1b", "/m~0n", "/list/0", "/list/1/", "")] == [
        *(1, 2, "x", 3),
        document,
    ]
