"""`kgen check`: verdicts for people and programs, and the exit code."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(autouse=True)
def here(root, monkeypatch):
    monkeypatch.chdir(root)


SPEC = "specs/norm/rms_4096.yaml"


def test_a_good_spec_prints_how_many_obligations_have_which_verdict(kgen):
    told = kgen("check", SPEC)
    assert told.code == 0
    assert "finding" not in told.err and "error" not in told.err
    header, first, *_ = told.out.splitlines()
    assert header.split() == ["regime", "subject", "proved", "refuted", "unknown"]
    assert first.split()[-2:] == ["0", "0"]


def test_verbose_prints_each_obligation_with_its_evidence(kgen):
    told = kgen("check", SPEC, "--verbose")
    said = json.loads(kgen("check", SPEC, "--json").out)
    rows = told.out.splitlines()
    promised = [row for row in rows if row.startswith("assumed  ")]
    assert [row.removeprefix("assumed  ") for row in promised] == said["promises"] != []
    assert len(rows) - len(promised) == len(said["obligations"])
    assert all(
        row.startswith(("proved ", "waived ")) and row.endswith(")")
        for row in rows[: -len(promised)]
    )


def test_a_refuted_obligation_is_a_finding_at_its_regime(kgen):
    told = kgen("check", SPEC, "--set", "axes.H={const: 1000000}")
    assert told.code == 1
    assert f"{SPEC}:" in told.err and "KG420" in told.err
    assert told.err.splitlines()[-1].startswith("kgen check: ")


def test_a_finding_names_the_file_as_it_was_given_this_time(kgen, root, monkeypatch):
    change = ("--set", "axes.H={const: 1000000}")
    assert kgen("check", SPEC, *change).err.startswith(f"{SPEC}:")
    monkeypatch.chdir(root / "specs" / "norm")
    assert kgen("check", "rms_4096.yaml", *change).err.startswith("rms_4096.yaml:")


def test_all_problems_of_a_spec_are_reported_at_once(kgen, tmp_path):
    text = (tmp_path / "two.yaml").write_text(
        "kgen: 1\nname: two\nfamily: norm\ncolour: red\nshape: round\n"
    )
    told = kgen("check", tmp_path / "two.yaml")
    assert text and told.code == 1
    assert "two.yaml:4:1: KG201" in told.err
    assert "two.yaml:5:1: KG201" in told.err


def test_a_program_gets_the_obligations_and_the_diagnostics(kgen):
    told = kgen("check", SPEC, "--json", "--set", "axes.H={const: 1000000}")
    said = json.loads(told.out)
    assert (told.code, told.err, said["ok"]) == (1, "", False)
    assert "refuted" in {one["status"] for one in said["obligations"]}
    assert {one["code"] for one in said["diagnostics"]} == {"KG420"}
