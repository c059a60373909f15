"""What a call must move and compute, against counts made by hand, and the reference where its arguments lie."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from kgen.families.attention import problem as attention
from kgen.families.attention.problem.case import case_of
from kgen.families.norm import problem as norm
from kgen.measure.sets import copies, rotation, rounds_for
from kgen.measure.task import find_task
from kgen.runner.bundle import read_bundle
from kgen.runner.problem import Asker


def manifest(root, name):
    return json.loads((root / "generated" / name / "manifest.json").read_text())["problem"]


def test_attention_counts_live_keys_once_and_pairs_twice(root):
    problem = manifest(root, "attention/gqa8_fp8_page1")
    case = next(one for one in attention.workloads(problem) if one.name == "B 8 Q 1 S 8192")
    work = attention.work(problem, case)
    keys = 8 * 8192
    assert work.bytes == 2 * keys * 128 + 4 * keys + 2 * (8 * 8 * 128 * 2) + 4 * 8
    assert work.operations == 2 * 2 * keys * 8 * 128


def test_a_window_and_causal_rows_are_counted(root):
    problem = manifest(root, "attention/gqa8_fp8_page1")
    case = case_of(problem, 8, 4096, [10000], "plain")
    work = attention.work(problem, case)
    assert work.operations == 4 * 128 * 8 * 8 * 4096
    assert work.bytes == 2 * (4096 + 7) * 128 + 4 * (4096 + 7) + 2 * (8 * 8 * 128 * 2) + 4


@pytest.mark.parametrize("name", ["attention/gqa8_fp8_page1", "norm/rms_4096"])
def test_workloads_are_cases_that_the_file_serves(root, name):
    asker = Asker(read_bundle(root / "generated" / name))
    cases = asker.workloads()
    assert cases and all(case.regime in asker._bundle.regimes for case in cases)
    for case in cases:
        for other in asker.variations(case):
            assert dict(other.axes) == dict(case.axes) and other.runtime != case.runtime


def test_norm_moves_its_rows_and_weights(root):
    problem = manifest(root, "norm/rms_4096")
    work = norm.work(problem, norm.workloads(problem)[0])
    assert work.bytes == 2 * 4096 * 2 + 4096 * 2


def test_sets_outgrow_twice_the_cache_unless_memory_or_calls_run_out():
    assert rotation(100, 100, 1000, 10**6).sets == 21 and rotation(100, 100, 1000, 10**6).cold
    assert rotation(10**9, 10**9, 1000, 10**12).sets == 2
    few = rotation(100, 100, 1000, 1000)
    assert few.sets == 6 and not few.cold
    assert rotation(1, 1, 10**9, 10**12).sets == 8192


def test_a_replay_is_long_enough_to_time():
    assert rounds_for(50e-6, 10) == 4
    assert rounds_for(1e-3, 10) == 1
    assert rounds_for(1e-9, 8000) == 1


def test_copies_lie_alike_and_share_what_was_shared():
    whole = torch.arange(24.0).reshape(4, 6)
    given = {"a": whole[:, 1:4], "b": whole[1:], "n": 3}
    made = copies(given)
    assert torch.equal(made["a"], given["a"]) and made["a"].stride() == given["a"].stride()
    assert made["a"].storage_offset() == 1 and made["n"] == 3
    made["b"][0, 1] = -1.0
    assert made["a"][1, 0] == -1.0 and whole[1, 1] == 7.0


def test_a_problem_that_is_a_package_is_hashed_with_all_that_it_is_made_of(
    root, tmp_path, monkeypatch
):
    package = tmp_path / "problem_in_parts"
    package.mkdir()
    (package / "__init__.py").write_text("from problem_in_parts.answers import expected\n")
    (package / "answers.py").write_text("expected = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    task = find_task(str(root / "generated/attention/gqa8_fp8_page1"))
    task = replace(task, form=replace(task.form, problem_module=package.name))
    before = task.sha256()
    (package / "answers.py").write_text("expected = 2\n")
    assert task.sha256() != before
