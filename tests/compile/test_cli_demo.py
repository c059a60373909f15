"""`kgen demo`: one real spec through prover, compiler and interpreter."""

from __future__ import annotations

import json

TARGETS = {"sm_80", "sm_90", "sm_100", "sm_120", "gfx942"}


def test_a_spec_goes_through_everything_that_needs_no_gpu(kgen, root, monkeypatch):
    monkeypatch.chdir(root)
    told = kgen("demo", "specs/norm/rms_odd.yaml", "--json")
    said = json.loads(told.out)
    assert told.code == 0, said["diagnostics"]
    assert {one["status"] for one in said["obligations"]} == {"proved"}
    assert {one["target"] for one in said["kernels"]} == TARGETS
    assert {one["status"] for one in said["kernels"]} == {"compiled"}
    assert all(one["registers"] > 0 for one in said["kernels"])
    assert said["summary"]["mode"] == "interpret"
    assert said["summary"]["counts"]["passed"] == len(said["cases"]) > 0


def test_a_person_reads_what_was_proved_compiled_and_compared(kgen, root, monkeypatch):
    monkeypatch.chdir(root)
    told = kgen("demo", "specs/norm/rms_odd.yaml")
    headings = [line.split()[0] for line in told.out.splitlines() if ":" in line and line[0] != " "]
    assert [word for word in headings if word in ("check", "render", "compile", "test")] == [
        *("check", "render", "compile", "test")
    ]
    assert "out against the fp64 reference" in told.out
    assert "Nothing ran on a GPU" in told.out


def test_a_spec_that_is_wrong_is_neither_compiled_nor_run(kgen, root, monkeypatch):
    monkeypatch.chdir(root)
    told = kgen("demo", "specs/norm/rms_4096.yaml", "--json", "--set", "axes.H={const: 1000000}")
    said = json.loads(told.out)
    assert told.code == 1
    assert "kernels" not in said and "cases" not in said
