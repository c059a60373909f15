"""`kgen compile`: what it prints of the compiler's results, with the compiler played by the tests."""

from __future__ import annotations

import json

import pytest

import kgen.compile
from kgen.compile import Resources

SPEC = "specs/norm/rms_odd.yaml"
GOOD = Resources(
    "compiled", registers=40, stack_bytes=0, spill_bytes=0, shared_bytes=16, tmem_columns=0
)
SPILLS = Resources(
    "compiled", registers=255, stack_bytes=8, spill_bytes=8, shared_bytes=16, tmem_columns=0
)
REFUSED = Resources("refused", message="no such type", line=60)


@pytest.fixture(autouse=True)
def here(root, monkeypatch):
    monkeypatch.chdir(root)


@pytest.fixture
def compiler(monkeypatch):
    """Sets what each job in turn comes to; an exception is raised where its turn is."""

    def answer(*turns: Resources | type[BaseException]) -> None:
        def compile_all(jobs, *, on_done, **_):
            for job, turn in zip(jobs, turns, strict=False):
                if not isinstance(turn, Resources):
                    raise turn
                on_done(job, turn)

        monkeypatch.setattr(kgen.compile, "compile_all", compile_all)

    return answer


def test_a_row_is_the_most_that_any_signature_of_a_kernel_takes(kgen, compiler):
    compiler(GOOD, Resources("compiled", 48, 0, 0, 1024, 0), GOOD)
    told = kgen("compile", SPEC)
    assert (told.code, told.err) == (0, "")
    header, row, summary = told.out.splitlines()
    assert header.split()[:3] == ["kernel", "target", "signatures"]
    assert row.split()[:6] == ["rms_kernel", "sm_90", "3", "48", "0", "1,024"]
    assert summary == "3 signatures: 3 compiled"


def test_a_spill_beyond_the_limit_is_a_finding_at_the_launch_in_the_spec(kgen, compiler, root):
    compiler(GOOD, SPILLS, GOOD)
    told = kgen("compile", SPEC)
    line = next(
        number
        for number, text in enumerate((root / SPEC).read_text().splitlines(), 1)
        if "num_warps" in text and "variant" in text
    )
    assert told.code == 1
    assert told.err.startswith(f"{SPEC}:{line}:")
    assert "KG607" in told.err


def test_what_a_target_outside_the_spec_refuses_is_information(kgen, compiler):
    compiler(REFUSED, REFUSED, REFUSED)
    told = kgen("compile", SPEC, "--target", "sm_80")
    assert told.code == 0
    assert "3 signatures: 3 refused" in told.out
    assert told.err.splitlines()[-1] == "kgen compile: 3 for information"


def test_what_a_target_of_the_spec_refuses_is_a_finding_and_counts_no_registers(kgen, compiler):
    compiler(GOOD, REFUSED, GOOD)
    told = kgen("compile", SPEC)
    assert told.code == 1
    row = told.out.splitlines()[1].split()
    assert row[:6] == ["rms_kernel", "sm_90", "3", "-", "-", "-"]
    assert row[-1] == "refused"


def test_ctrl_c_keeps_what_is_compiled_and_says_what_was_not_tried(kgen, compiler):
    compiler(GOOD, KeyboardInterrupt)
    told = kgen("compile", SPEC)
    assert told.code == 130
    assert "3 signatures: 1 compiled, 2 not tried" in told.out
    assert "interrupted; the rest was not run" in told.err


def test_a_program_gets_each_job_with_its_resources(kgen, compiler):
    compiler(GOOD, GOOD, GOOD)
    kernels = json.loads(kgen("compile", SPEC, "--json").out)["kernels"]
    assert [one["constants"]["H"] for one in kernels] == [3, 513, 2880]
    assert {(one["target"], one["registers"], one["status"]) for one in kernels} == {
        ("sm_90", 40, "compiled")
    }


def test_a_bundle_is_compiled_without_its_spec(kgen, compiler):
    compiler(GOOD, SPILLS, GOOD)
    told = kgen("compile", "generated/norm/rms_odd")
    assert told.code == 1
    assert told.err.startswith("generated/norm/rms_odd/submission.py:")


def test_a_folder_without_a_manifest_is_no_bundle(kgen, tmp_path):
    told = kgen("compile", tmp_path)
    assert told.code == 1
    assert f"{tmp_path}: KG193: the folder is no bundle" in told.err
    assert "help: give a spec, or a folder that `kgen render` wrote" in told.err


def test_a_spec_with_a_refuted_plan_is_not_compiled(kgen, compiler):
    compiler(AssertionError)
    told = kgen("compile", "specs/norm/rms_4096.yaml", "--set", "axes.H={const: 1000000}")
    assert told.code == 1
    assert "KG420" in told.err
