"""A runner that dies, hangs or can't start is an error of its own case, and never a pass."""

from __future__ import annotations

import sys

import pytest

import kgen.run
from kgen.runner.results import Status

RETURN = "return out"


@pytest.fixture
def preloaded() -> str:
    """A usual Python: its processes are what is tested here."""
    return sys.executable


def only_if_ragged(statement: str) -> tuple[str, str]:
    """The statement in the toy's second case, just before it returns."""
    return RETURN, f"if n == 75:\n        {statement}\n    return out"


def test_a_crash_is_an_error_of_the_case_that_ran(interpret):
    report = interpret("vector_add", only_if_ragged("import os; os.abort()"))
    assert [result.status for result in report.results] == [Status.PASSED, Status.ERROR]
    failure = report.findings[0].failure
    assert failure.code == "KG714"
    assert "was killed by SIGABRT" in failure.message
    assert "the case took the whole process down" in failure.message
    assert not report.passed


def test_the_case_after_a_crash_gets_a_fresh_process(interpret):
    crash = "if n == 32:\n        import os; os.abort()\n    return out"
    report = interpret("vector_add", (RETURN, crash))
    assert [result.status for result in report.results] == [Status.ERROR, Status.PASSED]


def test_a_hang_is_an_error_after_the_timeout(interpret):
    report = interpret("vector_add", only_if_ragged("while True: pass"), timeout=3)
    assert [result.status for result in report.results] == [Status.PASSED, Status.ERROR]
    message = report.findings[0].failure.message
    assert message == "no result within 3 s: a kernel or the file hangs, or is too slow"


def test_what_a_submission_prints_does_not_disturb(interpret):
    report = interpret("vector_add", (RETURN, 'print("{}"); return out'))
    assert report.passed


def test_a_runner_that_cannot_start_is_told(bundle):
    report = kgen.run.test_bundle(bundle("vector_add"), python="/bin/false")
    assert not report.passed
    assert report.refused.code == "KG714"
    assert report.refused.message.startswith("the runner could not start: ")


def test_a_gpu_that_is_not_there_is_told(bundle, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    report = kgen.run.test_bundle(bundle("vector_add"), mode="gpu")
    assert not report.passed
    assert not report.results
    assert report.refused.code == "KG720"
    assert str(report.diagnostics()[0]).endswith("test with --mode interpret")


def test_a_problem_module_that_raises_is_an_error_and_no_verdict(interpret):
    case = {"name": "odd", "axes": {}, "runtime": {}, "layout": "plain", "regime": "all"}
    report = interpret("vector_add", problem={"operation": "add", "cases": [case]})
    assert report.results[0].status is Status.ERROR
    assert report.findings[0].failure.code == "KG717"
    assert "toy_family raised" in report.findings[0].failure.message
    assert "KeyError: 'N'" in report.findings[0].failure.message


def test_a_problem_module_that_lacks_a_function_is_refused(interpret):
    report = interpret("vector_add", problem_module="json")
    assert report.refused.code == "KG717"
    assert report.refused.message == "json has no cases, inputs, expected"


def test_a_case_of_an_unknown_regime_is_refused(interpret):
    report = interpret("vector_add", regimes=[{"name": "other", "launches": [["add_kernel"]]}])
    assert report.refused.code == "KG717"
    assert "'one_block' asks for the regime 'all'; the manifest has other" in report.refused.message


def test_an_edited_file_is_tested_and_said_to_be_edited(bundle):
    directory = bundle("vector_add", source_map=[[0, 7]] * 30, templates_index=["toy.py.j2"])
    submission = directory / "submission.py"
    submission.write_text(submission.read_text().replace("m = o < n", "m = o <= n"))
    report = kgen.run.test_bundle(directory, mode="interpret", seed=1)
    assert report.summary.edited
    assert not report.passed
    assert report.diagnostics()[0].hint == ""


def test_a_failure_is_taken_to_the_template_that_wrote_the_line(interpret):
    report = interpret(
        "vector_add",
        ("m = o < n", "m = o <= n"),
        source_map=[None] + [[0, line + 100] for line in range(2, 30)],
        templates_index=["toy/kernel.py.j2"],
    )
    finding = report.findings[0]
    assert (finding.template, finding.template_line) == ("toy/kernel.py.j2", 112)
    told = str(report.diagnostics()[0])
    assert told.splitlines()[0].startswith(
        f"{report.directory / 'submission.py'}:12:5: KG703: case 'ragged': load out of bounds"
    )
    assert "  12 |     b_x = tl.load(p_x + o, mask=m, other=0.0)" in told
    assert told.endswith("help: this line comes from toy/kernel.py.j2:112")
