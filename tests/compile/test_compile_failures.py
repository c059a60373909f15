"""What is refused, with its reason and line; and compilers that die or hang."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kgen.compile import compile_all
from kgen.devices import UnknownName

HERE = Path(__file__).parent
REFUSED = "refused.py"


def line_of(file: str, text: str) -> int:
    lines = (HERE / "kernels" / file).read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return number


@pytest.fixture(scope="module")
def refusals(job, tmp_path_factory):
    ints = {"p_x": "*i32"}
    jobs = {
        "widen sm_80": job(
            "widen", "sm_80", file=REFUSED, types={"p_x": "*fp8e4nv", "p_y": "*fp32"}
        ),
        "widen sm_90": job(
            "widen", "sm_90", file=REFUSED, types={"p_x": "*fp8e4nv", "p_y": "*fp32"}
        ),
        "outer": job("outer", file=REFUSED, types=ints),
        "demanding": job("demanding", file=REFUSED, types=ints, constants={"BLOCK": 16}),
        "misspelt": job("misspelt", file=REFUSED, types=ints),
        "undefined": job("undefined", file=REFUSED, types=ints),
        "standard": job("standard", file=REFUSED, types=ints),
        "pass": job("nested_sums", "sm_100", file=REFUSED, types={"p_x": "*bf16", "p_y": "*fp32"}),
        "import": job("kernel", file="broken_import.py", types=ints),
        "absent": job("absent", file=REFUSED, types=ints),
        "signature": job("undefined", file=REFUSED, types={"p_y": "*i32"}),
        "divisible": job("undefined", file=REFUSED, types=ints, divisible_by_16=("p_y",)),
        "option": job("undefined", file=REFUSED, types=ints, options={"num_warp": 8}),
        "warps": job("undefined", file=REFUSED, types=ints, num_warps=3),
    }
    results = compile_all(list(jobs.values()), cache_dir=tmp_path_factory.mktemp("cache"))
    return dict(zip(jobs, results))


@pytest.mark.parametrize(
    "name, reason, line",
    [
        ("widen sm_80", "type fp8e4nv not supported in this architecture", "def widen(p_x, p_y):"),
        ("outer", "input and other must have equal ranks", "the dot of vectors"),
        ("demanding", "BLOCK has to be at least 32", "static_assert"),
        ("undefined", "missing is not defined", "tl.store(p_x, missing)"),
        ("standard", "invalid axis 3", "tl.sum(x, 3)"),
    ],
)
def test_the_front_end_refuses_with_reason_and_line(refusals, name, reason, line):
    found = refusals[name]
    assert found.status == "refused"
    assert reason in found.message and "\n" not in found.message
    assert found.line == line_of(REFUSED, line)
    assert found.registers is None


def test_another_target_takes_what_one_refuses(refusals):
    assert refusals["widen sm_90"].status == "compiled"


def test_the_assembler_refuses_with_reason_and_line(refusals):
    found = refusals["misspelt"]
    assert found.status == "refused"
    assert found.message == "ptxas: Not a name of any known instruction: 'nonsense'"
    call = line_of(REFUSED, "tl.inline_asm_elementwise(")
    assert call <= found.line <= call + 2


def test_a_failed_pass_is_refused_with_what_the_compiler_printed(refusals):
    found = refusals["pass"]
    if found.status == "compiled":
        pytest.skip("this Triton no longer fails on nested sums for sm_100")
    assert found.status == "refused"
    assert found.message.startswith("a compiler pass failed: ")
    assert "parent layout must have at least rank >= 2" in found.message
    assert found.line == line_of(REFUSED, "def nested_sums(")


def test_a_file_that_cannot_be_imported_is_refused_with_the_line(refusals):
    found = refusals["import"]
    assert found.status == "refused"
    assert found.message == "the file can't be imported: ZeroDivisionError: division by zero"
    assert found.line == line_of("broken_import.py", "LIMIT / 0")


@pytest.mark.parametrize(
    "name, reason",
    [
        ("absent", "the file has no kernel absent; its kernels are widen, inner, outer"),
        ("signature", "the signature (p_y) with constants () doesn't fit undefined(p_x)"),
        ("divisible", "divisible_by_16 names no run-time argument: ('p_y',)"),
        ("option", "Triton has no compile option num_warp for sm_90"),
        ("warps", "num_warps must be a power of 2"),
    ],
)
def test_a_job_that_does_not_fit_the_file_is_refused(refusals, name, reason):
    assert refusals[name].status == "refused"
    assert reason in refusals[name].message


def test_an_unknown_target_raises_before_anything_starts(job, tmp_path):
    with pytest.raises(UnknownName, match="no target is named 'sm_91'"):
        compile_all([job("doubles", "sm_91", types={"p_x": "*fp64"})], cache_dir=tmp_path)


@pytest.fixture
def planted(monkeypatch):
    """The compile worker, made to die or hang at certain kernels; see planted_worker.py."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    return "planted_worker"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_compiler_that_dies_costs_its_own_job_only(job, tmp_path, planted, workers):
    kernels = ["doubles", "plant_abort", "doubles", "plant_error", "doubles"]
    jobs = [
        job(name, types={"p_x": "*fp64"}, num_stages=stages)
        for stages, name in enumerate(kernels, 1)
    ]
    told = []
    found = compile_all(
        jobs,
        cache_dir=tmp_path,
        workers=workers,
        worker_module=planted,
        on_done=lambda job, resources: told.append((job.function, resources.status)),
    )
    expected = ["compiled", "crashed", "compiled", "crashed", "compiled"]
    assert [one.status for one in found] == expected
    assert sorted(told) == sorted(zip(kernels, expected))
    assert "was killed by SIGABRT" in found[1].message
    assert "LLVM ERROR: planted" in found[1].message
    assert "KeyError: 'planted'" in found[3].message


def test_a_compiler_that_hangs_is_stopped(job, tmp_path, planted):
    begun = time.monotonic()
    (found,) = compile_all(
        [job("plant_hang", types={"p_x": "*fp64"})],
        cache_dir=tmp_path,
        timeout=3,
        worker_module=planted,
    )
    assert time.monotonic() - begun < 30
    assert found.status == "timeout"
    assert "gave no result within 3 s and was killed" in found.message
    assert "still optimizing" in found.message


def test_neither_a_crash_nor_a_timeout_is_recorded(job, tmp_path, planted):
    doomed = [job("plant_abort", types={"p_x": "*fp64"})]
    for _ in range(2):
        (found,) = compile_all(doomed, cache_dir=tmp_path, worker_module=planted)
        assert (found.status, found.cached) == ("crashed", False)
