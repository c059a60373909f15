"""Records survive JSON, and only passed cases make a run pass."""

from __future__ import annotations

import json
import math

import pytest

from kgen.runner.results import CaseResult, Failure, Status, Summary, count
from kgen.runner.table import table


def result(status: Status, *failures: Failure) -> CaseResult:
    return CaseResult("S 5", "decode", status, failures, ("split", "combine"), 0.25, 1.5)


def summary(*results: CaseResult) -> Summary:
    return Summary(
        "b", "0", False, "gpu", "NVIDIA H200", 7, {"triton": "3.6.0"}, count(results), 2.0
    )


FAILURE = Failure("KG704", "race", 12, "p_out", (3, 4), "split", (1, 0, 2), "trace")


@pytest.mark.parametrize(
    "one",
    [
        result(Status.PASSED),
        result(Status.FAILED, FAILURE),
        CaseResult("NaN", "decode", Status.FAILED, (FAILURE,), worst=math.inf),
    ],
)
def test_a_result_survives_json(one):
    text = json.dumps(one.as_json(), allow_nan=False)
    assert CaseResult.from_json(json.loads(text)) == one


def test_a_summary_survives_json():
    one = summary(result(Status.PASSED))
    assert Summary.from_json(json.loads(json.dumps(one.as_json()))) == one


@pytest.mark.parametrize(
    ("statuses", "passed"),
    [
        ([], False),
        ([Status.SKIPPED], False),
        ([Status.PASSED], True),
        ([Status.PASSED, Status.SKIPPED], True),
        ([Status.PASSED, Status.FAILED], False),
        ([Status.PASSED, Status.ERROR], False),
    ],
)
def test_a_run_passes_only_if_something_passed_and_nothing_else_happened(statuses, passed):
    assert summary(*map(result, statuses)).passed is passed


def test_the_table_tells_each_failure_below_its_case():
    results = [result(Status.PASSED), result(Status.FAILED, FAILURE)]
    assert table(results, summary(*results)).splitlines() == [
        "passed  S 5  decode, error 0.25 of what is allowed, 1.50 s",
        "failed  S 5  decode",
        "        KG704: submission.py:12: race",
        "1 passed, 1 failed in 2.0 s; seed 7; NVIDIA H200; triton 3.6.0",
    ]


def test_the_table_says_that_nothing_ran():
    assert table([], summary()).startswith("no case ran in ")
