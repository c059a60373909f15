"""kgen's own record: what hits, what misses, and that a hit needs no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kgen.compile import Job, batch, compile_all, versions
from kgen.diagnostics import KgenError

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).with_name("kernels")
NO_WORKER = "no_such_worker_module"
"""A worker that can't start: whoever needs it gets `crashed`."""


@pytest.fixture(scope="module")
def recorded(job, tmp_path_factory):
    """A folder with a source of its own and a record of two jobs: one compiled, one refused."""
    folder = tmp_path_factory.mktemp("recorded")
    source = folder / "submission.py"
    source.write_text((KERNELS / "sound.py").read_text() + (KERNELS / "refused.py").read_text())
    good = job("doubles", types={"p_x": "*fp64"})
    bad = job("undefined", types={"p_x": "*i32"})
    jobs = [replace(one, source=source) for one in (good, bad)]
    found = compile_all(jobs, cache_dir=folder / "cache")
    assert [(one.status, one.cached) for one in found] == [("compiled", False), ("refused", False)]
    return folder, jobs, found


def again(folder: Path, jobs: list[Job], **changes):
    return compile_all(jobs, cache_dir=folder / "cache", **{"worker_module": NO_WORKER, **changes})


def rewritten(folder: Path, jobs: list[Job], name: str, old: str, new: str) -> list[Job]:
    text = jobs[0].source.read_text()
    assert old in text
    source = folder / name
    source.write_text(text.replace(old, new))
    return [replace(one, source=source) for one in jobs]


def test_the_second_run_gives_the_same_and_starts_no_worker(recorded):
    folder, jobs, first = recorded
    second = again(folder, jobs)
    assert [one.cached for one in second] == [True, True]
    assert [replace(one, cached=False) for one in second] == first


def test_a_hit_imports_no_triton_and_starts_no_process(recorded):
    folder, jobs, _ = recorded
    script = (
        "import json, subprocess, sys\n"
        "from pathlib import Path\n"
        "def refuse(*a, **k): raise AssertionError('a process was started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "from kgen.compile import Job, compile_all\n"
        "jobs = [Job.from_json(data) for data in json.loads(sys.argv[1])]\n"
        "found = compile_all(jobs, cache_dir=Path(sys.argv[2]))\n"
        "print([one.cached for one in found], {'torch', 'triton'} & set(sys.modules))\n"
    )
    import json

    done = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            json.dumps([one.as_json() for one in jobs]),
            folder / "cache",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[True, True] set()"


def test_comments_and_other_kernels_keep_the_record_and_the_line_moves_along(recorded):
    folder, jobs, first = recorded
    moved = rewritten(folder, jobs, "moved.py", "import triton\n", "# one\n# two\nimport triton\n")
    moved = rewritten(folder, moved, "moved.py", "p_x + i * 3", "p_x + i * 4")
    good, bad = again(folder, moved)
    assert good.cached and bad.cached
    lines = moved[0].source.read_text().splitlines()
    assert lines[bad.line - 1].strip() == "tl.store(p_x, missing)"
    assert bad.line > first[1].line


@pytest.mark.parametrize(
    "change",
    [
        {"target": "sm_80"},
        {"num_warps": 8},
        {"num_stages": 2},
        {"divisible_by_16": ("p_x",)},
        {"signature": {"p_x": "*fp32"}},
        {"options": {"maxnreg": 64}},
    ],
)
def test_whatever_the_compiler_is_told_is_part_of_the_key(recorded, change):
    folder, jobs, _ = recorded
    (found,) = again(folder, [replace(jobs[0], **change)])
    assert (found.status, found.cached) == ("crashed", False)


def test_a_changed_kernel_misses(recorded):
    folder, jobs, _ = recorded
    changed = rewritten(folder, jobs, "changed.py", "tl.load(p) * 3.0", "tl.load(p) * 4.0")
    assert [one.cached for one in again(folder, changed)] == [False, True]


@pytest.mark.parametrize("tool", ["triton", "ptxas"])
def test_another_version_of_a_tool_misses(recorded, monkeypatch, tool):
    folder, jobs, _ = recorded
    real = versions.toolchain

    monkeypatch.setattr(batch, "toolchain", lambda cache: {**real(cache), tool: "0.0.1"})
    assert [one.cached for one in again(folder, jobs)] == [False, False]


def test_a_damaged_record_is_compiled_again(recorded):
    folder, jobs, first = recorded
    records = list((folder / "cache" / "compile").rglob("*.json"))
    assert len(records) == 2
    for record in records:
        record.write_bytes(record.read_bytes()[:-20])
    assert [one.status for one in again(folder, jobs)] == ["crashed", "crashed"]
    repaired = again(folder, jobs, worker_module="kgen.compile.worker")
    assert [(r.cached, r.registers, r.line) for r in repaired] == [
        (False, f.registers, f.line) for f in first
    ]
    assert [one.cached for one in again(folder, jobs)] == [True, True]


def test_a_failed_import_is_not_recorded_as_the_kernels_fault(job, tmp_path):
    source = tmp_path / "submission.py"
    source.write_text((KERNELS / "broken_import.py").read_text())
    broken = [replace(job("kernel", types={"p_x": "*i32"}), source=source)]
    (found,) = compile_all(broken, cache_dir=tmp_path)
    assert (found.status, found.line) == ("refused", 6)
    source.write_text(source.read_text().replace("LIMIT / 0", "LIMIT / 1"))
    (found,) = compile_all(broken, cache_dir=tmp_path)
    assert (found.status, found.cached) == ("compiled", False)


def test_a_kernel_that_depends_on_the_environment_is_compiled_each_time(job, tmp_path, monkeypatch):
    source = tmp_path / "submission.py"
    source.write_text(
        "import os\nimport triton\nimport triton.language as tl\n\n"
        'COUNT = tl.constexpr(int(os.environ["KGEN_TEST_COUNT"]))\n\n\n'
        "@triton.jit\ndef kernel(p_x):\n"
        "    for i in tl.static_range(COUNT):\n        tl.store(p_x + 3 * i, i)\n"
    )
    jobs = [replace(job("kernel", types={"p_x": "*i32"}), source=source)]
    for count in (2, 5):
        monkeypatch.setenv("KGEN_TEST_COUNT", str(count))
        (found,) = compile_all(jobs, cache_dir=tmp_path)
        assert (found.instructions["global_stores_4B"], found.cached) == (count, False)


def test_equal_jobs_are_compiled_once_and_told_each(recorded, job, tmp_path):
    _, (good, _), _ = recorded
    told = []
    found = compile_all(
        [good, good, replace(good)],
        cache_dir=tmp_path,
        on_done=lambda job, resources: told.append(resources),
    )
    assert found[0] is found[1] is found[2] and found[0].status == "compiled"
    assert told == found
    assert len(list((tmp_path / "compile").rglob("*.json"))) == 1


def test_settings_of_the_users_shell_do_not_change_what_is_recorded(
    recorded, tmp_path, monkeypatch, compiled, jobs
):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "1")
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    name = "aligned copy sm_90"
    (found,) = compile_all([jobs[name]], cache_dir=tmp_path)
    assert replace(found, seconds=0) == replace(compiled[name], seconds=0)


def test_without_triton_the_reason_is_told(monkeypatch, recorded):
    import importlib.metadata

    folder, jobs, _ = recorded

    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(KgenError, match="KG601: kernels can't be compiled: Triton isn't installed"):
        again(folder, jobs)


def test_another_ptxas_that_the_user_names_is_another_version(tmp_path, monkeypatch):
    own = tmp_path / "ptxas"
    own.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 19.7, V19.7.31'\n")
    own.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(own))
    assert versions.toolchain(tmp_path)["ptxas"] == "19.7.31"


def test_a_tools_version_is_asked_once_for_the_same_file(tmp_path, monkeypatch):
    own = tmp_path / "ptxas"
    own.write_text("#!/bin/sh\necho 'V1.2.3'\n")
    own.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(own))
    versions.toolchain(tmp_path)
    monkeypatch.setattr(versions, "ask_version", lambda tool: "asked again")
    assert versions.toolchain(tmp_path)["ptxas"] == "1.2.3"
    own.write_text("#!/bin/sh\necho 'V1.2.4, another'\n")
    assert versions.toolchain(tmp_path)["ptxas"] == "asked again"
