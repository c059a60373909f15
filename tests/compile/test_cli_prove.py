"""`kgen prove`: verdicts on a file as it is, for people and programs, and the exit code."""

from __future__ import annotations

import json
import shutil

import pytest

SPEC = "specs/norm/rms_odd.yaml"
FILE = "generated/norm/rms_odd/submission.py"


@pytest.fixture(autouse=True)
def here(root, monkeypatch):
    monkeypatch.chdir(root)


@pytest.fixture
def changed(tmp_path, root):
    """The file with one column too many."""
    text = (root / FILE).read_text()
    path = tmp_path / "submission.py"
    path.write_text(text.replace("m_h = o_h < H", "m_h = o_h <= H"))
    assert path.read_text() != text
    return path


def test_a_good_file_is_proved_and_counted_by_kernel_and_subject(kgen):
    told = kgen("prove", FILE, "--spec", SPEC)
    assert (told.code, told.err) == (0, "")
    header, *rows = told.out.splitlines()
    assert header.split() == ["kernel", "subject", "proved", "refuted", "unknown"]
    assert any(row.split() == ["rms_kernel", "bounds", "3", "0", "0"] for row in rows)
    assert all(row.split()[-2:] == ["0", "0"] for row in rows)


def test_verbose_prints_every_obligation_with_its_line_and_evidence(kgen):
    told = kgen("prove", FILE, "--spec", SPEC, "-v")
    *rows, promise = told.out.splitlines()
    assert all(row.startswith("proved ") for row in rows)
    assert promise.startswith("assumed  torch ")
    assert any(
        "rms_kernel line" in row and "load x[t, h] stays inside (0 <= t < T, 0 <= h < " in row
        for row in rows
    )


def test_a_fault_is_a_finding_with_values_line_and_template(kgen, changed):
    told = kgen("prove", changed, "--spec", SPEC)
    assert told.code == 1
    first = told.err.splitlines()[0]
    assert first.startswith(f"{SPEC}:") and "KG801: rms_kernel: " in first
    assert f"({changed}:" in first and ".py.j2:" in first
    assert "T = " in first or "T=" in first
    assert told.err.splitlines()[-1].startswith("kgen prove: ")


def test_a_program_gets_the_same(kgen, changed):
    told = kgen("prove", changed, "--spec", SPEC, "--json")
    said = json.loads(told.out)
    assert (told.code, said["ok"]) == (1, False)
    refuted = [one for one in said["obligations"] if one["status"] == "refuted"]
    assert refuted and {"kernel", "subject", "says", "evidence", "line"} <= set(refuted[0])
    assert "KG801" in {one["code"] for one in said["diagnostics"]}


def test_a_changed_comment_proves_nothing_anew_and_moves_the_lines(kgen, tmp_path, root):
    kgen("prove", FILE, "--spec", SPEC)
    lines = {
        one["says"]: one["line"]
        for one in json.loads(kgen("prove", FILE, "--spec", SPEC, "--json").out)["obligations"]
    }
    copy = tmp_path / "submission.py"
    copy.write_text("# a new line\n" + (root / FILE).read_text())
    moved = json.loads(kgen("prove", copy, "--spec", SPEC, "--json").out)
    for one in moved["obligations"]:
        assert one["line"] == (lines[one["says"]] + 1 if lines[one["says"]] else 0)


def test_a_file_that_is_no_python_is_a_finding(kgen, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def (:\n")
    told = kgen("prove", path, "--spec", SPEC)
    assert told.code in (1, 2) and "Traceback" not in told.err


def test_without_triton_it_says_so(kgen, monkeypatch, tmp_path):
    import importlib.metadata

    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "triton":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    told = kgen("prove", FILE, "--spec", SPEC)
    assert told.code != 0 and "KG601" in told.err and "pip install triton" in told.err


def test_a_file_of_another_spec_is_not_proved(kgen, tmp_path, root):
    other = tmp_path / "submission.py"
    shutil.copy(root / "generated/norm/rms_4096/submission.py", other)
    told = kgen("prove", other, "--spec", SPEC)
    assert told.code == 1 and "KG80" in told.err


def test_a_file_of_another_spec_is_called_that_before_anything_else(kgen):
    told = kgen("prove", FILE, "--spec", "specs/norm/rms_4096.yaml")
    assert told.code == 1
    assert told.err.startswith(
        f"{FILE}: KG806: the file was rendered from another spec, rms_odd (rms_odd.yaml), than rms_4096\n"
        "  help: name the spec that it was made from with --spec; "
        "what follows compares it with rms_4096\n"
    )
    assert "KG802: the file: every launcher is followed (" not in told.err
    assert "KG802: the file: every launcher is followed could not be proved: " in told.err
    assert ": : " not in told.err
    assert any(row.startswith("the file ") for row in told.out.splitlines())


def test_a_file_whose_spec_has_changed_since_is_of_that_spec(kgen):
    assert "KG806" not in kgen("prove", FILE, "--spec", SPEC, "--set", "norm.eps=1e-5").err


def test_a_mask_that_is_always_true_is_a_finding_where_it_stands(kgen, tmp_path, root):
    before = "tl.load(p_x + i_t * stride_x_t + o_h, mask=m_h, "
    text = (root / FILE).read_text()
    assert before in text
    path = tmp_path / "submission.py"
    path.write_text(text.replace(before, before.replace("m_h", "m_h & (o_h >= 0)")))
    told = kgen("prove", path, "--spec", SPEC)
    assert told.code == 1
    assert "KG805: rms_kernel: every condition of the mask of x decides something (" in told.err
    assert " is false: " in told.err and "is always true" in told.err
    assert told.err.splitlines()[-1] == "kgen prove: 1 finding"
    assert ["rms_kernel", "masks", "0", "1", "0"] in map(str.split, told.out.splitlines())


def test_a_mask_that_one_width_makes_idle_is_waived_by_its_variant_and_shown(kgen):
    told = kgen("check", "specs/norm/rms_4096.yaml")
    assert (told.code, told.err) == (0, "")
    waived = [row for row in told.out.splitlines() if row.startswith("waived ")]
    assert len(waived) == 4
    assert all("waived because the kernel takes any width at run time)" in row for row in waived)
    assert "waived " not in kgen("check", SPEC).out
