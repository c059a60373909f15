"""Importing generated files."""

from __future__ import annotations

import os
import sys

import pytest

from kgen.compile.loading import load


def test_a_rewritten_file_of_the_same_size_and_time_is_loaded_anew(tmp_path):
    source = tmp_path / "submission.py"
    for value in (1, 2, 3):
        source.write_text(f"VALUE = {value}\n")
        os.utime(source, (1_000_000, 1_000_000))
        assert load(source).VALUE == value
    assert list(tmp_path.iterdir()) == [source]


def test_a_file_is_loaded_once_for_each_variant(tmp_path):
    source = tmp_path / "submission.py"
    source.write_text("VALUE = object()\n")
    assert load(source, "sm_90") is load(source, "sm_90")
    assert load(source, "sm_90").VALUE is not load(source, "sm_80").VALUE


def test_a_file_that_fails_leaves_no_half_module(tmp_path):
    source = tmp_path / "submission.py"
    source.write_text("VALUE = 1\nraise RuntimeError('at import')\n")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="at import"):
            load(source)
    assert not {name for name in set(sys.modules) - before if name.startswith("kgen_generated")}
