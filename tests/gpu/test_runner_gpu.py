"""On a GPU: honest kernels pass, also replayed from a CUDA graph; planted faults are told."""

from __future__ import annotations

import re

import pytest

from kgen.runner.results import Status

NAMES = ("vector_add", "row_softmax", "split_sum", "gather_rows")

# name: (kernel file, honest text, planted text, unit, code, what the message says)
FAULTS = {
    "a wrong value": (
        "vector_add",
        "b_x + b_y",
        "b_x - b_y",
        "one_block",
        "KG701",
        r"output 'out' is wrong at element \[\d+\]: got",
    ),
    "an output that is never written": (
        "vector_add",
        "m = o < n",
        "m = o < n - 1",
        "ragged",
        "KG702",
        r"output 'out' was never written at element \[74\]",
    ),
    "an input that a kernel stores to": (
        "vector_add",
        "tl.store(p_out + o, b_x + b_y, mask=m)",
        "tl.store(p_out + o, b_x + b_y, mask=m)\n    tl.store(p_y + o, b_x, mask=o == 3)",
        "ragged",
        "KG706",
        r"input 'y' was changed at element \[3\]",
    ),
    "a counter that is not armed again": (
        "split_sum",
        "        tl.store(p_count + i_row, 0)\n",
        "",
        "graph:all",
        "KG715",
        r"replay 1 of the graph, with the inputs of '.*': output 'out' was never written",
    ),
    "a decision taken on the host": (
        "gather_rows",
        "n = table.shape[1]",
        "n = table.shape[1] + 0 * int(ids[0])",
        "graph:all",
        "KG715",
        r"a CUDA graph can't hold the call: the file raised .*",
    ),
    "data kept from the first call": (
        "row_softmax",
        "rows, n = x.shape",
        "x = _kept.setdefault(x.shape, x.clone())\n    rows, n = x.shape",
        "graph:all",
        "KG715",
        r"replay \d of the graph, with the inputs of '.*': output 'out' is wrong at element",
    ),
    "an exception while compiling": (
        "vector_add",
        "m = o < n",
        "m = o < n.nonesuch",
        "one_block",
        "KG711",
        r"the file raised CompilationError",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_kernel_passes_and_replays(on_gpu, name):
    report = on_gpu(name)
    assert report.passed, report.diagnostics()
    assert [result.status for result in report.results] == [Status.PASSED] * 3
    assert report.results[-1].name == "graph:all"
    assert re.fullmatch(r"[3-9] replays with other inputs", report.results[-1].note)
    assert report.summary.mode == "gpu"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_reported(on_gpu, fault):
    name, honest, planted, unit, code, message = FAULTS[fault]
    kept = [("@triton.jit", "_kept = {}\n\n\n@triton.jit")] if "_kept" in planted else []
    report = on_gpu(name, *kept, (honest, planted))
    assert not report.passed
    told = [f.failure for f in report.findings if f.case == unit and f.failure.code == code]
    assert told, report.findings
    assert re.search(message, told[0].message), told[0].message


def test_an_error_of_the_compiler_names_the_line(on_gpu):
    report = on_gpu("vector_add", ("m = o < n", "m = o < n.nonesuch"))
    text = (report.directory / "submission.py").read_text().splitlines()
    assert "nonesuch" in text[report.findings[0].failure.line - 1]


def test_an_illegal_access_costs_its_own_case_only(on_gpu):
    """The process can't be used after it; the next case gets a fresh one."""
    far = "tl.store(p_out + o + tl.where(n == 32, 1 << 40, 0), b_x + b_y, mask=m)"
    report = on_gpu("vector_add", ("tl.store(p_out + o, b_x + b_y, mask=m)", far))
    by_name = {result.name: result for result in report.results}
    assert by_name["one_block"].status is Status.FAILED
    assert by_name["one_block"].device_lost
    assert "illegal memory access" in by_name["one_block"].failures[0].message
    assert by_name["ragged"].status is Status.PASSED


def test_a_path_that_no_graph_can_hold_is_skipped_and_said_to_be(on_gpu):
    regime = {"name": "all", "launches": [["add_kernel"]], "capturable": False}
    report = on_gpu("vector_add", regimes=[regime])
    assert report.results[-1].status is Status.SKIPPED
    assert report.results[-1].note == "the manifest says that a CUDA graph can't hold this regime"
