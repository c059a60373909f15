"""Resources against limits: which diagnostic, how grave, in which words. Needs no compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import kgen.diagnostics
from kgen.compile import Job, Limits, Resources, report
from kgen.diagnostics import Place, Severity

JOB = Job(
    source=Path("submission.py"),
    function="split_k",
    signature={"p_q": "*bf16", "BLOCK_N": "constexpr"},
    constants={"BLOCK_N": 64},
    divisible_by_16=("p_q",),
    num_warps=4,
    num_stages=3,
    target="sm_90",
)
FINE = Resources(
    "compiled", registers=96, stack_bytes=0, spill_bytes=0, shared_bytes=232448, tmem_columns=0
)
NAME = "split_k[BLOCK_N=64, num_warps=4, num_stages=3] for sm_90"


def findings(resources: Resources, job: Job = JOB, **limits: int):
    return report(
        [(job, resources)], Limits(**limits), ["sm_90"], lambda job: Place("s.yaml", 7, 3)
    )


def only(resources: Resources, job: Job = JOB, **limits: int):
    (found,) = findings(resources, job, **limits)
    return found


def test_a_kernel_at_its_limits_is_no_finding():
    assert findings(FINE, spill_bytes=0, registers=96, shared_bytes=232448) == []


def test_spills_without_a_limit_are_no_finding():
    assert findings(replace(FINE, spill_bytes=640, stack_bytes=320)) == []


def test_spills_over_the_limit():
    found = only(replace(FINE, spill_bytes=1048, registers=255), spill_bytes=1000)
    assert found.code == "KG607"
    assert found.message == (
        f"{NAME} spills 1,048 bytes a thread with 255 registers; limits.spill_bytes is 1,000"
    )
    assert found.place == Place("s.yaml", 7, 3)
    assert "more warps or a smaller tile" in found.hint


def test_unknown_spills_never_pass_a_limit():
    found = only(replace(FINE, spill_bytes=None), spill_bytes=10**9)
    assert (found.code, found.severity) == ("KG609", Severity.FINDING)
    assert "limits.spill_bytes was not checked" in found.message


def test_one_byte_of_shared_memory_too_many_is_a_finding_without_any_limit():
    found = only(replace(FINE, shared_bytes=232449))
    assert found.code == "KG605"
    assert found.message == (
        f"{NAME} takes 232,449 bytes of shared memory, 1 more than the 232,448 that a CTA on sm_90"
        " can have; Triton compiles it all the same, and the launch fails"
    )


def test_the_limit_of_shared_memory_is_the_jobs_own_targets():
    job = replace(JOB, target="sm_120")
    found = only(replace(FINE, shared_bytes=101377), job)
    assert (found.code, found.severity) == ("KG605", Severity.INFO)
    assert "the 101,376 that a CTA on sm_120 can have" in found.message


def test_a_limit_of_ones_own_below_the_targets_does_not_claim_that_the_launch_fails():
    found = only(replace(FINE, shared_bytes=65537), shared_bytes=65536)
    assert found.message == (
        f"{NAME} takes 65,537 bytes of shared memory, 1 more than the 65,536 that "
        "limits.shared_bytes allows"
    )


def test_a_limit_of_ones_own_above_the_targets_changes_nothing():
    assert only(replace(FINE, shared_bytes=232449), shared_bytes=10**6).code == "KG605"


def test_registers_over_the_limit():
    found = only(replace(FINE, registers=129), registers=128)
    assert found.code == "KG608"
    assert "takes 129 registers a thread; limits.registers is 128" in found.message


def test_tensor_memory_over_the_targets():
    job = replace(JOB, target="sm_100")
    assert findings(replace(FINE, tmem_columns=512), job) == []
    found = only(replace(FINE, tmem_columns=1024), job)
    assert found.code == "KG606"
    assert "takes 1024 columns of tensor memory, an SM of sm_100 has 512" in found.message


@pytest.mark.parametrize("status, code", [("crashed", "KG603"), ("timeout", "KG604")])
def test_what_was_not_compiled_is_a_finding_with_the_reason(status, code):
    found = only(Resources(status, message="the worker was killed by SIGABRT"), spill_bytes=0)
    assert (found.code, found.severity) == (code, Severity.FINDING)
    assert "the worker was killed by SIGABRT" in found.message


def test_a_refusal_names_the_generated_files_line():
    found = only(Resources("refused", message="type fp8e4nv not supported", line=31))
    assert found.code == "KG602"
    assert found.message == (
        f"{NAME} is refused by the compiler (submission.py:31): type fp8e4nv not supported"
    )


def test_outside_the_specs_targets_everything_is_information():
    jobs = [replace(JOB, target=target) for target in ("sm_80", "sm_90")]
    refused = Resources("refused", message="no")
    found = report([(job, refused) for job in jobs], Limits(), ["sm_90"], lambda job: Place("s"))
    assert [one.severity for one in found] == [Severity.INFO, Severity.FINDING]


def test_several_problems_of_one_kernel_are_all_reported():
    bad = replace(FINE, spill_bytes=8, registers=255, shared_bytes=300000)
    found = findings(bad, spill_bytes=0, registers=128)
    assert [one.code for one in found] == ["KG605", "KG607", "KG608"]


def test_limits_are_read_from_a_spec_and_unknown_ones_refused():
    assert Limits.from_mapping({"spill_bytes": 0}) == Limits(spill_bytes=0)
    with pytest.raises(ValueError, match="unknown limits spils; known are registers, spill_bytes"):
        Limits.from_mapping({"spils": 0})


def test_every_code_has_a_page():
    pages = Path(kgen.diagnostics.__file__).with_name("pages") / "compile.yaml"
    documented = yaml.safe_load(pages.read_text())
    assert set(documented) == {f"KG60{digit}" for digit in range(1, 10)}
    for page in documented.values():
        assert set(page) == {"title", "what", "why", "instead"} and all(page.values())
