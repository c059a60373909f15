"""`kgen render`: what is written, what is left alone, and what stops it."""

from __future__ import annotations

import json
import shutil

import pytest

SPEC = "rms_4096.yaml"


@pytest.fixture
def here(root, tmp_path, monkeypatch):
    """A working directory with one spec in it."""
    shutil.copy(root / "specs" / "norm" / SPEC, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_bundle_is_the_file_and_its_manifest_in_a_folder_of_the_specs_name(kgen, here):
    told = kgen("render", SPEC)
    assert told.code == 0
    assert told.out.splitlines() == [
        "wrote out/rms_4096/submission.py",
        "wrote out/rms_4096/manifest.json",
    ]
    manifest = json.loads((here / "out/rms_4096/manifest.json").read_text())
    assert manifest["spec"]["name"] == "rms_4096"
    assert {one["status"] for one in manifest["plan"]} == {"proved"}


def test_what_is_current_is_not_written_again(kgen, here):
    kgen("render", SPEC, "-o", "there")
    before = (here / "there/rms_4096/submission.py").stat().st_mtime_ns
    told = kgen("render", SPEC, "-o", "there")
    assert (told.code, told.out) == (0, "there/rms_4096 is current\n")
    assert (here / "there/rms_4096/submission.py").stat().st_mtime_ns == before


def test_check_accepts_what_is_current(kgen, here):
    kgen("render", SPEC)
    told = kgen("render", SPEC, "--check")
    assert (told.code, told.out) == (0, "out/rms_4096 is current\n")


def test_check_names_the_first_line_that_differs_and_writes_nothing(kgen, here):
    kgen("render", SPEC)
    file = here / "out/rms_4096/submission.py"
    lines = file.read_text().splitlines(keepends=True)
    edited = "".join([*lines[:4], "# by hand\n", *lines[4:]])
    file.write_text(edited)
    told = kgen("render", SPEC, "--check")
    assert told.code == 1
    assert "out/rms_4096/submission.py:5:1: KG190: the file is not what kgen generates" in told.err
    assert f"help: run `kgen render {SPEC} -o out`" in told.err
    assert file.read_text() == edited


def test_check_reports_each_missing_file_and_writes_none(kgen, here):
    told = kgen("render", SPEC, "--check")
    assert told.code == 1
    assert told.err.count("KG190: the generated file is missing") == 2
    assert not (here / "out").exists()


def test_a_wrong_spec_writes_nothing_and_the_next_one_is_rendered(kgen, here):
    (here / "wrong.yaml").write_text(
        (here / SPEC).read_text().replace("family: norm", "family: nrm")
    )
    told = kgen("render", "wrong.yaml", SPEC)
    assert told.code == 1
    assert "KG204" in told.err
    assert [path.name for path in (here / "out").iterdir()] == ["rms_4096"]


def test_a_refuted_plan_writes_nothing(kgen, here):
    told = kgen("render", SPEC, "--set", "axes.H={const: 1000000}")
    assert told.code == 1
    assert "KG420" in told.err
    assert not (here / "out").exists()


def test_set_changes_the_spec_that_is_rendered(kgen, here):
    assert kgen("render", SPEC, "--set", "name=other").code == 0
    assert [path.name for path in (here / "out").iterdir()] == ["other"]


def test_all_renders_every_spec_to_the_same_place_under_generated(kgen, here):
    (here / "specs/norm").mkdir(parents=True)
    shutil.move(here / SPEC, here / "specs/norm")
    assert kgen("render", "--all").code == 0
    assert (here / "generated/norm/rms_4096/submission.py").is_file()
    assert kgen("render", "--all", "--check").code == 0


def test_all_where_there_are_no_specs_is_wrong_use(kgen, here):
    told = kgen("render", "--all")
    assert told.code == 2
    assert "there is no spec under specs/" in told.err


def test_all_and_set_do_not_go_together(kgen, here):
    assert kgen("render", "--all", "--set", "name=other").code == 2


def test_a_program_is_told_what_changed(kgen, here):
    told = kgen("render", SPEC, "--json")
    assert json.loads(told.out) == {
        "verb": "render",
        "ok": True,
        "interrupted": False,
        "diagnostics": [],
        "bundles": [
            {
                "spec": SPEC,
                "directory": "out/rms_4096",
                "changed": ["out/rms_4096/submission.py", "out/rms_4096/manifest.json"],
            }
        ],
    }


def test_the_committed_bundles_are_what_kgen_renders_today(kgen, root, monkeypatch):
    monkeypatch.chdir(root)
    told = kgen("render", "--all", "--check")
    assert (told.code, told.err) == (0, "")
    committed = {path.parent for path in (root / "generated").rglob("submission.py")}
    specs = {path.relative_to(root / "specs") for path in (root / "specs").rglob("*.yaml")}
    assert {path.relative_to(root / "generated") for path in committed} == {
        path.with_suffix("") for path in specs
    }
