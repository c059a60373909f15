"""What a sweep shows while it runs, and what it says where a package is missing."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.sweep.needs import needed
from kgen.sweep.progress import Bars, line
from kgen.sweep.remote import Lines
from kgen.sweep.state import State

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

from fields import entrant  # noqa: E402

STATE = State("decode", 54, 10, 2, 3, entrant(7, 1.0), math.log(1.25), 75.9)


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_tells_what_it_cannot_show():
    assert line(STATE, 90) == (
        "90 dropped, 2 failed, 3 in question, best 1.250x BLOCK_N=7 variant=toy, at most 1:15 left"
    )
    begun = replace(STATE, failed=0, racing=0, best=None)
    assert line(begun, 0) == "at most 1:15 left"


def test_bars_are_on_a_terminal_only_and_only_where_they_are_wanted(monkeypatch):
    shown = {}
    for wanted, stream in ((True, Terminal()), (False, Terminal()), (True, io.StringIO())):
        monkeypatch.setattr(sys, "stderr", stream)
        with Bars(wanted) as bars:
            bars.compiled("decode", 3, 9)
            bars.measured(STATE, 90)
        shown[wanted, stream.isatty()] = stream.getvalue()
    assert "decode: candidates measured" in shown[True, True]
    assert shown[False, True] == shown[True, False] == ""


def test_without_rich_there_is_a_line_whenever_something_is_new(capsys):
    lines = Lines()
    for state in (STATE, replace(STATE, seconds_left=70.0), replace(STATE, measured=11)):
        lines(state)
    assert capsys.readouterr().err.splitlines() == [
        "decode: 10 of 54 measured, 2 failed, 3 in question, best 1.250x candidate 7, 76 s left",
        "decode: 11 of 54 measured, 2 failed, 3 in question, best 1.250x candidate 7, 76 s left",
    ]


def test_a_package_that_is_missing_is_named_with_the_extra_that_has_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(KgenError) as told:
        needed("optuna")
    assert "KG987: optuna is not installed in this Python environment" in str(told.value)
    assert "pip install 'kgen[sweep]'" in str(told.value)
