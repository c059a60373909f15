"""`kgen diff`: levels, layouts, exit codes and what is said where nothing can be compared."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import kgen.diff.consequence
from kgen.compile import Resources

SPEC = "specs/norm/rms_odd.yaml"
BUNDLE = "generated/norm/rms_odd"
MORE_WARPS = ("--set", "regimes.rows.launch.num_warps=8")


@pytest.fixture(autouse=True)
def here(root, monkeypatch):
    monkeypatch.chdir(root)


@pytest.fixture
def compiler(monkeypatch):
    """A compiler whose registers are the warps, and whose machine code is all that a job says."""

    def compile_all(jobs, **_):
        return [
            Resources("compiled", 10 * job.num_warps, 0, 0, 0, 0, code_sha256=str(job.num_warps))
            for job in jobs
        ]

    monkeypatch.setattr(kgen.diff.consequence, "compile_all", compile_all)


def test_identical_sides_differ_in_nothing(kgen):
    told = kgen("diff", BUNDLE, SPEC)
    assert (told.code, told.err) == (0, "")
    assert told.out == "1 file, text differs in none, machine code in none\n"


def test_a_spec_with_a_change_is_compared_with_itself_at_three_levels(kgen, compiler, tmp_path):
    told = kgen("diff", SPEC, *MORE_WARPS, "--receipts", tmp_path)
    assert (told.code, told.err) == (1, "")
    assert told.out.splitlines() == [
        f"A  {SPEC}",
        f"B  {SPEC} --set regimes.rows.launch.num_warps=8",
        "spec",
        "  regimes.rows.launch.num_warps: 4 -> 8",
        "source",
        "  NUM_WARPS: 4 -> 8  (5 places: header, launch_rows, warmup)",
        "consequence",
        "  the machine code differs: compiled the 3 of 3 signatures whose text differs",
        "  rms_kernel (H=3, BLOCK_H=4) for sm_90: num_warps 4 -> 8, registers 40 -> 80",
        "  rms_kernel (H=513, BLOCK_H=1024) for sm_90: num_warps 4 -> 8, registers 40 -> 80",
        "  rms_kernel (H=2880, BLOCK_H=4096) for sm_90: num_warps 4 -> 8, registers 40 -> 80",
        "  measured: no receipt has both",
        "",
        "1 file, text differs in 1, machine code in 1, spec in 1",
    ]


def test_without_compiling_the_machine_code_is_not_known(kgen):
    told = kgen("diff", SPEC, *MORE_WARPS, "--no-compile")
    assert "  whether the machine code differs is not known: not compiled" in told.out
    assert told.out.splitlines()[-1] == (
        "1 file, text differs in 1, machine code not known in 1, spec in 1"
    )


def test_changes_are_of_b_where_two_specs_are_given(kgen, compiler):
    told = kgen("diff", "specs/norm/rms_4096.yaml", SPEC, *MORE_WARPS, "--json")
    (one,) = json.loads(told.out)["files"]
    assert one["a"]["label"] == "specs/norm/rms_4096.yaml"
    assert one["b"]["label"] == f"{SPEC} {' '.join(MORE_WARPS)}"


def test_a_change_in_a_comment_alone_leaves_the_core(kgen, tmp_path):
    text = Path(BUNDLE, "submission.py").read_text()
    (tmp_path / "b.py").write_text(text.replace("# the mean is", "# a mean is"))
    told = kgen("diff", BUNDLE, tmp_path / "b.py")
    assert told.code == 1
    assert "source (comments and layout only: the core is the same)" in told.out
    assert "@ norm/rms/kernel.py.j2:" in told.out and ", a comment" in told.out
    assert "the machine code is the same: only comments and layout differ" in told.out


def test_a_hunk_is_tagged_with_its_template_line(kgen, tmp_path, root):
    shutil.copytree(root / "templates", tmp_path / "templates")
    template = tmp_path / "templates/norm/rms/kernel.py.j2"
    text = template.read_text()
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "tl.rsqrt" in one)
    template.write_text(text.replace("tl.rsqrt(", "1 / tl.sqrt("))
    told = kgen("diff", BUNDLE, SPEC, "--templates", tmp_path / "templates", "--no-compile")
    assert f"  @ norm/rms/kernel.py.j2:{line} in rms_kernel (A " in told.out
    assert "\nspec\n" not in told.out


def test_two_columns_hold_both_texts(kgen, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = Path(BUNDLE, "submission.py").read_text()
    (tmp_path / "b.py").write_text(text.replace("tl.program_id(0)", "tl.program_id(1)"))
    wide = kgen("diff", BUNDLE, tmp_path / "b.py", "--side-by-side")
    (row,) = [line for line in wide.out.splitlines() if "program_id(0)" in line]
    assert row.index("-     i_t = tl.program_id(0)") < row.index("+     i_t = tl.program_id(1)")
    narrow = kgen("diff", BUNDLE, tmp_path / "b.py")
    assert "  -     i_t = tl.program_id(0)\n  +     i_t = tl.program_id(1)\n" in narrow.out


def test_many_files_are_a_table_of_one_line_each(kgen, tmp_path):
    shutil.copytree("generated/norm", tmp_path / "norm")
    edited = tmp_path / "norm/rms_odd/submission.py"
    edited.write_text(edited.read_text().replace("tl.program_id(0)", "tl.program_id(1)"))
    shutil.copytree("generated/norm/rms_odd", tmp_path / "norm/other")
    told = kgen("diff", "generated/norm", tmp_path / "norm", "--stat")
    assert told.code == 1
    header, *rows, total = told.out.splitlines()
    assert header.split()[:2] == ["file", "text"]
    assert [row.split()[:2] for row in rows] == [
        ["other", "only"],
        ["rms_4096", "same"],
        ["rms_odd", "differs"],
    ]
    assert rows[2].split()[-3:] == ["1", "1", "unknown"]
    assert total == "3 files, text differs in 1, machine code not known in 1, 1 only in B"


def test_a_program_gets_every_level_as_data(kgen, compiler):
    told = json.loads(kgen("diff", SPEC, *MORE_WARPS, "--json").out)
    (one,) = told["files"]
    assert told["ok"] is False
    assert one["spec"] == [{"key": "regimes.rows.launch.num_warps", "old": 4, "new": 8}]
    assert one["source"]["constants"][0]["name"] == "NUM_WARPS"
    assert one["source"]["core_differs"] is True
    assert one["consequence"]["machine"] == "differs"
    assert one["consequence"]["kernels"][0]["numbers"]["registers"] == [40, 80]
    assert one["measured"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give A and B, or --all REV"),
        ((SPEC, BUNDLE, "--all", "HEAD"), "give A and B, or --all REV"),
        ((SPEC,), "only REV:PATH is compared with the same path now"),
        (("--all", "HEAD", *MORE_WARPS), "it changes one spec, and --all takes every one"),
        ((SPEC, BUNDLE, *MORE_WARPS), f"it changes a spec, and {BUNDLE} is none"),
        ((SPEC, SPEC, "--target", "sm_91"), "no target is named 'sm_91'"),
    ],
)
def test_wrong_use_is_told_what_to_write(kgen, arguments, said):
    told = kgen("diff", *arguments)
    assert told.code == 2
    assert said in " ".join(told.err.split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nowhere", BUNDLE), "KG180"),
        (("no-such-revision:generated", BUNDLE), "KG181"),
        (("HEAD:nowhere", BUNDLE), "KG182"),
        (("README.md", BUNDLE), "KG183"),
        (("specs", BUNDLE), "KG184"),
        (("generated/norm", BUNDLE), "KG185"),
        ((SPEC, "--set", "axes.T.rnge=1"), "KG201"),
    ],
)
def test_where_nothing_can_be_compared_the_code_is_2_and_the_reason_said(kgen, arguments, code):
    told = kgen("diff", *arguments)
    assert told.code == 2
    assert f" {code}: " in told.err
    assert "kgen diff: nothing was compared" in told.err
    assert json.loads(kgen("diff", *arguments, "--json").out)["refused"] == "nothing was compared"


@pytest.fixture
def repository(root, tmp_path, monkeypatch):
    """A repository with two specs and their files, whose templates are its own."""
    for name in (SPEC, BUNDLE, "specs/norm/rms_4096.yaml", "generated/norm/rms_4096"):
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy(root / name, tmp_path / name)
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_compares_every_spec_with_the_revision(kgen, repository, compiler):
    told = kgen("diff", "--all", "HEAD")
    assert (told.code, told.out) == (0, "2 files, text differs in none, machine code in none\n")
    spec = repository / SPEC
    spec.write_text(spec.read_text().replace("num_warps: 4", "num_warps: 8"))
    told = kgen("diff", "--all", "HEAD")
    assert told.code == 1
    assert told.out.startswith("== norm/rms_odd\nA  HEAD:generated/norm/rms_odd\n")
    assert told.out.splitlines()[-1] == "2 files, text differs in 1, machine code in 1, spec in 1"


def test_a_refactored_template_is_told_in_one_line(kgen, repository, root, compiler):
    templates = repository / "mine"
    shutil.copytree(root / "templates/norm/rms", templates / "norm/rms")
    kernel = templates / "norm/rms/kernel.py.j2"
    kernel.write_text(kernel.read_text().replace("m_h", "m_inside"))
    told = kgen("diff", "--all", "HEAD", "--stat", "--templates", templates)
    assert told.code == 1
    assert told.out.splitlines()[-1] == "2 files, text differs in 1, machine code in none"


def test_where_no_side_has_a_spec_nothing_is_the_same(kgen, repository, monkeypatch):
    (repository / "docs").mkdir()
    monkeypatch.chdir(repository / "docs")
    told = kgen("diff", "--all", "HEAD")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "kgen diff: neither is a spec below specs/ here, nor has HEAD one: run it in the folder that has specs/\n"
    )


def test_a_spec_that_cannot_be_rendered_leaves_the_others_compared(kgen, repository):
    (repository / SPEC).write_text("kgen: 1\n")
    told = kgen("diff", "--all", "HEAD")
    assert told.code == 2
    assert told.out.splitlines()[-1] == (
        "2 files, text differs in none, machine code in none, 1 not compared"
    )
    assert "kgen diff: 1 of the specs could not be compared" in told.err


def test_a_path_of_a_revision_is_compared_with_the_same_path_now(kgen, repository, compiler):
    assert kgen("diff", f"HEAD:{SPEC}").code == 0
    spec = repository / SPEC
    spec.write_text(spec.read_text().replace("num_warps: 4", "num_warps: 8"))
    told = kgen("diff", f"HEAD:{SPEC}")
    assert told.code == 1
    assert told.out.startswith(f"A  HEAD:{SPEC}\nB  {SPEC}\nspec\n")


def test_two_files_of_different_families_have_nothing_in_common_but_their_helpers(kgen):
    other = "generated/attention/gqa8_bf16_page16"
    told = json.loads(kgen("diff", BUNDLE, other, "--no-compile", "--json").out)
    (one,) = told["files"]
    assert {"key": "family", "old": "norm", "new": "attention"} in one["spec"]
    changed = [
        (found["kind"], found["old"] or found["new"]) for found in one["source"]["functions"]
    ]
    assert {("removed", "rms_kernel"), ("added", "split_kernel")} <= set(changed)
    assert not (one["source"]["renames"] or one["source"]["constants"])
    assert one["consequence"]["machine"] == "unknown"


def test_a_spec_that_differs_only_in_what_its_file_does_not_have_differs(kgen):
    told = kgen("diff", SPEC, "--set", "sweep.rows={launch.num_warps: [4, 8]}")
    assert told.code == 1
    assert "\nspec\n" in told.out and "source" not in told.out and "consequence" not in told.out
    assert told.out.splitlines()[-1].endswith(
        "text differs in none, machine code in none, spec in 1"
    )


def test_the_page_shows_what_is_printed(kgen, root):
    page = (root / "docs/diff.md").read_text()
    shown = re.findall(r"```sh\nkgen ([^\n]*)\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    printed = dict(shown)
    (spec,) = [one for one in printed if "--set" in one]
    told = kgen(*spec.split(), "--no-compile").out.splitlines()
    assert told[: told.index("consequence")] == printed[spec].splitlines()[:6]
    (line,) = [one for one in printed if one.startswith("explain")]
    assert kgen(*line.split()).out == printed[line]
