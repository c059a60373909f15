"""`kgen test`: what it prints of a run, with the runner played by the tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import kgen.run
from kgen.run.report import make_report
from kgen.runner.results import CaseResult, Failure, Status, Summary, count

BUNDLE = "generated/norm/rms_odd"
PASSED = CaseResult("T 1", "rows", Status.PASSED, worst=0.25, seconds=0.5)
CLOSE = CaseResult("T 2", "rows", Status.PASSED, worst=0.75)
WRONG = Failure("KG701", "out is wrong")
FAILED = CaseResult("T 3", "rows", Status.FAILED, (WRONG,))
SKIPPED = CaseResult("T 4", "rows", Status.SKIPPED, note="needs a GPU")
NOTHING = CaseResult("T 0", "", Status.PASSED)


@pytest.fixture(autouse=True)
def here(root, monkeypatch):
    monkeypatch.chdir(root)


@pytest.fixture
def runner(monkeypatch):
    """Sets what each case in turn comes to, or what is raised; keeps how it was called."""
    calls = []

    def answer(*turns: CaseResult | type[BaseException], edited: bool = False) -> list[dict]:
        def test_bundle(directory, *, on_case, **options):
            calls.append({"directory": directory, **options})
            for turn in turns:
                if not isinstance(turn, CaseResult):
                    raise turn
                on_case(turn)
            summary = Summary(
                bundle=str(directory),
                sha256="0" * 64,
                edited=edited,
                mode="interpret",
                device="played",
                seed=7,
                versions={"triton": "3.7.1"},
                counts=count(turns),
            )
            return make_report(Path(directory), turns, summary)

        monkeypatch.setattr(kgen.run, "test_bundle", test_bundle)
        return calls

    return answer


def test_each_case_is_told_then_each_regime_then_what_ran_on_what(kgen, runner):
    runner(PASSED, CLOSE, NOTHING)
    told = kgen("test", BUNDLE)
    assert (told.code, told.err) == (0, "")
    first, *_, header, rows, nothing, last = told.out.splitlines()
    assert first == "passed  rows: T 1  error 0.25 of what is allowed, 0.50 s"
    assert header.split()[:6] == ["regime", "cases", "passed", "failed", "error", "skipped"]
    assert rows.split() == ["rows", "2", "2", "0", "0", "0", "0.75"]
    assert nothing.startswith("(nothing to launch)")
    assert last.startswith("3 passed in ") and last.endswith("seed 7; played; triton 3.7.1")


def test_a_failed_case_is_a_finding_in_the_rendered_file_with_its_template_line(kgen, runner, root):
    manifest = json.loads((root / BUNDLE / "manifest.json").read_text())
    _, line = manifest["functions"]["rms_kernel"]
    runner(PASSED, replace(FAILED, failures=(replace(WRONG, line=line),)))
    told = kgen("test", BUNDLE)
    assert told.code == 1
    assert f"{BUNDLE}/submission.py:{line}:" in told.err
    assert "KG701: case 'T 3': out is wrong" in told.err
    assert "help: this line comes from norm/rms/kernel.py.j2:" in told.err


def test_a_run_in_which_nothing_passed_is_not_good(kgen, runner):
    runner(SKIPPED)
    assert kgen("test", BUNDLE).code == 1
    runner()
    assert kgen("test", BUNDLE).code == 1


def test_a_file_that_was_edited_after_rendering_is_said_to_be(kgen, runner):
    runner(PASSED, edited=True)
    assert "edited after it was rendered" in kgen("test", BUNDLE).out
    runner(PASSED)
    assert "edited" not in kgen("test", BUNDLE).out


def test_a_skipped_case_counts_as_skipped(kgen, runner):
    runner(PASSED, SKIPPED)
    told = kgen("test", BUNDLE)
    assert told.code == 0
    assert "1 passed, 1 skipped" in told.out


def test_ctrl_c_keeps_the_cases_that_ran(kgen, runner):
    runner(PASSED, KeyboardInterrupt)
    told = kgen("test", BUNDLE, "--json")
    said = json.loads(told.out)
    assert (told.code, said["ok"], said["interrupted"]) == (130, False, True)
    assert [case["name"] for case in said["cases"]] == ["T 1"]


def test_options_reach_the_runner(kgen, runner):
    calls = runner(PASSED)
    kgen("test", BUNDLE, "--mode", "gpu", "--seed", "5", "--filter", "T 1", "--timeout", "9")
    wanted = {"mode": "gpu", "seed": 5, "filter": "T 1", "timeout": 9.0}
    assert calls == [{"directory": Path(BUNDLE), **wanted}]


def test_a_program_gets_cases_and_summary(kgen, runner):
    runner(PASSED, FAILED)
    said = json.loads(kgen("test", BUNDLE, "--json").out)
    assert [case["status"] for case in said["cases"]] == ["passed", "failed"]
    assert said["summary"]["counts"]["failed"] == 1
    assert [one["code"] for one in said["diagnostics"]] == ["KG701"]


def test_a_regime_without_a_case_is_told_as_not_run(kgen, runner):
    runner(NOTHING)
    told = kgen("test", BUNDLE, "--json")
    assert json.loads(told.out)["not_run"] == ["rows"]
    assert "not run: rows, which no case that was asked for reaches" in kgen("test", BUNDLE).out
    runner(PASSED)
    assert "not run" not in kgen("test", BUNDLE).out
