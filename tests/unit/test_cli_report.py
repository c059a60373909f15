"""What every verb shares: where text goes, what a program reads, and the exit code."""

from __future__ import annotations

import json

import pytest
import typer

from kgen.cli.report import Report, reporting, show
from kgen.diagnostics import Diagnostic, KgenError, Place, Severity

PLACE = Place("specs/a.yaml", 2, 7, 3)


def diagnostic(severity: Severity = Severity.ERROR) -> Diagnostic:
    return Diagnostic("KG204", "unknown key", PLACE, "write tile", "      til: 3", severity)


def exit_code(severity: Severity | None) -> int:
    with pytest.raises(typer.Exit) as exited:
        with reporting("check", as_json=True) as report:
            report.diagnose([] if severity is None else [diagnostic(severity)])
    return exited.value.exit_code


@pytest.mark.parametrize(
    ("severity", "code"),
    [(None, 0), (Severity.INFO, 0), (Severity.FINDING, 1), (Severity.ERROR, 1)],
)
def test_errors_and_findings_exit_1_and_information_exits_0(severity, code):
    assert exit_code(severity) == code


@pytest.mark.parametrize(
    ("code", "file", "exits"),
    [
        ("KG117", "<--set 1>", 2),
        ("KG201", "<--set 1>", 1),
        ("KG853", "<--axis 2>", 2),
        ("KG853", "a.yaml", 1),
    ],
)
def test_an_argument_that_is_wrong_by_itself_exits_2(code, file, exits):
    report = Report("sweep", as_json=True)
    report.diagnose([Diagnostic(code, "wrong", Place(file, 1, 1))])
    assert report.code == exits


def test_a_gate_that_failed_without_a_diagnostic_exits_1():
    report = Report("test", as_json=True)
    report.fail()
    assert report.code == 1


def test_results_go_to_stdout_and_diagnostics_to_stderr(capsys):
    with pytest.raises(typer.Exit):
        with reporting("check", as_json=False) as report:
            report.say("proved 3")
            report.diagnose([diagnostic()])
    printed = capsys.readouterr()
    assert printed.out == "proved 3\n"
    assert printed.err == f"{diagnostic()}\nkgen check: 1 error\n"


def test_a_person_is_told_how_many_there_are_of_each_severity(capsys):
    with pytest.raises(typer.Exit):
        with reporting("check", as_json=False) as report:
            kinds = (Severity.INFO, Severity.FINDING, Severity.FINDING)
            report.diagnose(map(diagnostic, kinds))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "kgen check: 2 findings, 1 for information"


def test_a_program_reads_one_object_with_every_diagnostic_of_an_error(capsys):
    with pytest.raises(typer.Exit) as exited:
        with reporting("check", as_json=True) as report:
            report.say("not for programs")
            report.values["specs"] = ["a"]
            raise KgenError([diagnostic(), diagnostic(Severity.FINDING)])
    printed = capsys.readouterr()
    assert exited.value.exit_code == 1
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "verb": "check",
        "ok": False,
        "interrupted": False,
        "diagnostics": [diagnostic().as_json(), diagnostic(Severity.FINDING).as_json()],
        "specs": ["a"],
    }


def test_ctrl_c_keeps_what_there_is_and_exits_130(capsys):
    with pytest.raises(typer.Exit) as exited:
        with reporting("test", as_json=True) as report:
            report.values["cases"] = [1, 2]
            raise KeyboardInterrupt
    told = json.loads(capsys.readouterr().out)
    assert exited.value.exit_code == 130
    assert (told["ok"], told["interrupted"], told["cases"]) == (False, True, [1, 2])


def test_ctrl_c_tells_a_person_that_the_rest_was_not_run(capsys):
    with pytest.raises(typer.Exit):
        with reporting("test", as_json=False):
            raise KeyboardInterrupt
    assert capsys.readouterr().err == "kgen test: interrupted; the rest was not run\n"


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"),
    [(True, "", True), (True, "1", False), (False, "", False)],
)
def test_colour_only_on_a_terminal_that_wants_it(terminal, no_color, coloured, monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    show(diagnostic())
    printed = capsys.readouterr().err
    assert ("\x1b[" in printed) == coloured
    if not coloured:
        assert printed == str(diagnostic()) + "\n"


def test_progress_is_one_line_on_a_terminal_and_nothing_elsewhere(monkeypatch, capsys):
    report = Report("compile", as_json=False)
    report.progress("1 of 2")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    report.progress("1 of 2")
    report.say("done")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("done\n", "\r\x1b[K1 of 2\r\x1b[K")
    Report("compile", as_json=True).progress("1 of 2")
    assert capsys.readouterr().err == ""


def test_brackets_in_a_message_are_text_not_markup(monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show(Diagnostic("KG201", "range is [red]low, high[/red]", Place("a.yaml")))
    assert "[red]low, high[/red]" in capsys.readouterr().err
