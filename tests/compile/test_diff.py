"""`kgen diff` with the real compiler: which changes of a text change the machine code, and which do not."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from kgen.compile import compile_all

SPEC = "specs/norm/rms_4096.yaml"
BUNDLE = "generated/norm/rms_4096"


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_names_comments_and_lines_are_not_in_the_hash_of_machine_code(job, tmp_path, target):
    types = {"p_x": "*bf16", "p_y": "*bf16", "n": "i64"}
    first = job("copy", target, types=types, constants={"BLOCK": 1024})
    text = first.source.read_text()
    assert text.count("def copy(") == 1
    moved = tmp_path / "moved.py"
    moved.write_text("# one line more\n" + text.replace("def copy(", "def another_name("))
    same = dataclasses.replace(first, source=moved, function="another_name")
    other = dataclasses.replace(first, constants={"BLOCK": 512})
    one, two, three = compile_all([first, same, other], cache_dir=tmp_path / "cache")
    assert {made.status for made in (one, two, three)} == {"compiled"}
    assert len(one.code_sha256) == 64
    assert one.code_sha256 == two.code_sha256 != three.code_sha256
    (again,) = compile_all([first], cache_dir=tmp_path / "cache")
    assert again.cached and again.code_sha256 == one.code_sha256


@pytest.fixture
def refactored(root, tmp_path, monkeypatch):
    """Runs `kgen diff` of the committed file with what a changed template renders."""
    monkeypatch.chdir(root)
    shutil.copytree("templates", tmp_path / "templates")
    path = tmp_path / "templates/norm/rms/kernel.py.j2"

    def change(kgen, *replacements):
        text = path.read_text()
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        told = kgen("diff", BUNDLE, SPEC, "--templates", tmp_path / "templates", "--json")
        assert told.code == 1
        (one,) = json.loads(told.out)["files"]
        return one

    return change


def test_a_refactored_template_changes_the_text_and_no_instruction(kgen, refactored):
    one = refactored(kgen, ("b_rstd", "b_scale"), ("b_x * b_x", "(b_x * b_x)"))
    assert [(r["old"], r["new"]) for r in one["source"]["renames"]] == [("b_rstd", "b_scale")]
    assert one["source"]["core_differs"] is True
    assert (one["consequence"]["machine"], one["consequence"]["kernels"]) == ("same", [])
    assert one["consequence"]["reason"] == "compiled the 1 of 2 signatures whose text differs"


def test_a_changed_formula_changes_instructions(kgen, refactored):
    one = refactored(kgen, ("b_y = b_x * b_rstd", "b_y = b_x * b_rstd + 1"))
    assert one["consequence"]["machine"] == "differs"
    assert [kernel["new"] for kernel in one["consequence"]["kernels"]] == ["rms_kernel"]
