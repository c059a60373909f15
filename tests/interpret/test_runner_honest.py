"""Kernels without a fault pass, each in every layout and twice in a row."""

from __future__ import annotations

import pytest

import kgen.run
from kgen.runner.results import Status

NAMES = ("vector_add", "row_softmax", "split_sum", "gather_rows")


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_kernel_passes(interpret, name):
    report = interpret(name)
    assert report.passed, report.diagnostics()
    assert [result.status for result in report.results] == [Status.PASSED] * 2
    assert report.summary.counts == {"passed": 2, "failed": 0, "error": 0, "skipped": 0}


def test_a_report_says_what_ran_on_what(interpret):
    report = interpret("vector_add")
    assert report.summary.mode == "interpret"
    assert report.summary.device.startswith("Triton's interpreter on ")
    assert set(report.summary.versions) == {"python", "torch", "triton", "numpy"}
    assert report.results[1].launched == ("add_kernel",)
    assert report.results[0].launched == ("add_kernel",)
    assert 0 <= report.results[0].worst <= 1


def test_rows_far_apart_in_memory_are_addressed_with_an_annotated_int64(interpret):
    """Rows lie 2**30 elements apart, so that row 2 begins past the reach of 32 bits."""
    assert interpret("gather_rows").results[1].name == "far"


def test_a_seed_gives_the_same_inputs_whatever_else_runs(bundle, preloaded):
    def run(**how: object) -> kgen.run.Report:
        return kgen.run.test_bundle(directory, mode="interpret", python=preloaded, **how)

    directory = bundle("row_softmax")
    alone = run(seed=7, filter="padded")
    together = run(seed=7)
    other = run(seed=8, filter="padded")
    assert alone.results[0].worst == together.results[1].worst != other.results[0].worst


def test_a_filter_that_matches_nothing_does_not_pass(bundle):
    report = kgen.run.test_bundle(bundle("vector_add"), mode="interpret", filter="nonesuch")
    assert not report.results
    assert not report.passed
