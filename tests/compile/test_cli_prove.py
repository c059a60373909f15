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


def test_a_stride_that_decides_is_told_also_where_there_is_one_row(kgen, tmp_path, root):
    path = tmp_path / "submission.py"
    text = (root / FILE).read_text()
    changed = text.replace("p_x + i_t * stride_x_t", "p_x + i_t * stride_x_t.to(tl.int32)")
    assert changed != text
    path.write_text(changed)
    told = kgen("prove", path, "--spec", SPEC)
    (line,) = [one for one in told.err.splitlines() if "the narrowed value for b_x fits" in one]
    assert "2147483648 cast to int32, which does not hold it" in line
    assert "T = 1, H = 3, x.stride(0) = 2147483648" in line


def test_evidence_of_one_case_of_several_says_which(kgen):
    rows = kgen("check", SPEC, "-v").out.splitlines()
    (bounds,) = [row for row in rows if "load weight[h] stays inside" in row]
    assert bounds.endswith(
        "(0 <= h < 3; certificates of 3 steps; this is the case H = 3, one of 3)"
    )
    (widths,) = [row for row in rows if "the product for b_x fits 64 bits" in row]
    assert "this is the case" not in widths


PAGES = "attention/gqa8_fp8_page1"


@pytest.fixture
def faulty(kgen, tmp_path, root):
    """What is not proved of the demo file after an edit of its first kernel."""

    def find(old: str, new: str) -> list[dict]:
        text = (root / "generated" / PAGES / "submission.py").read_text()
        assert old in text
        path = tmp_path / "submission.py"
        path.write_text(text.replace(old, new, 1))
        told = kgen("prove", path, "--spec", f"specs/{PAGES}.yaml", "--json")
        return [one for one in json.loads(told.out)["obligations"] if one["status"] != "proved"]

    return find


@pytest.mark.full
def test_a_statement_about_writes_is_refuted_by_writes(faulty):
    store = "tl.store(p_partial_max + o_p, b_m"
    found = {one["says"]: one["evidence"] for one in faulty(f"{store}, mask=m_m)", f"{store})")}
    twice = found["no element of partial_max is written twice"]
    assert "partial_max[b=1, h=0, s=0, m=0] is written 2 times (program (0, 0, 0), line " in twice
    assert "is read 0 times" in found["what is stored to partial_max is read exactly once"]


@pytest.mark.full
def test_what_one_kernel_does_wrong_is_not_told_of_another(faulty):
    found = faulty("stride_k_page: tl.int64", "stride_k_page: tl.int32")
    wrong = [one for one in found if one["says"] == "every small call goes right"]
    assert [one["kernel"] for one in wrong] == ["split_kernel"]
    assert "of split_kernel reads k_cache at offset " in wrong[0]["evidence"]


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
