"""Waivers on the command line: what is waived is shown with its reason everywhere, and never as proved."""

from __future__ import annotations

import json

import pytest

SPEC = "specs/norm/rms_odd.yaml"
FILE = "generated/norm/rms_odd/submission.py"
REASON = "rows are padded by the caller"
SAYS = ("load x[t, h] stays inside", "load weight[h] stays inside", "store out[t, h] stays inside")


@pytest.fixture
def changed(tmp_path, root):
    """The file with one column too many: four statements are refuted, and one is unknown."""
    path = tmp_path / "submission.py"
    path.write_text((root / FILE).read_text().replace("m_h = o_h < H", "m_h = o_h <= H"))
    return path


@pytest.fixture
def waiving(tmp_path, root):
    """Writes the spec with these waivers, as (subject, statement, verdict)."""

    def write(*statements: tuple[str, str, str]):
        items = [
            f'  - {{kernel: rms_kernel, subject: {subject}, says: "{says}", verdict: {verdict}, reason: "{REASON}"}}\n'
            for subject, says, verdict in statements
        ]
        path = tmp_path / "spec.yaml"
        path.write_text((root / SPEC).read_text() + "waive:\n" + "".join(items))
        return path

    return write


ALL = (
    *(("bounds", says, "refuted") for says in SAYS),
    ("exactly once", "every element of out is written exactly once", "refuted"),
    ("exactly once", "x is read exactly once for each t, h, and nowhere else", "unknown"),
)


def test_a_file_with_every_open_statement_waived_passes_and_shows_each_with_its_reason(
    kgen, changed, waiving
):
    told = kgen("prove", changed, "--spec", waiving(*ALL))
    assert (told.code, told.err) == (0, "")
    header, *rows = told.out.splitlines()
    assert header.split() == ["kernel", "subject", "proved", "refuted", "unknown", "waived"]
    assert ["rms_kernel", "bounds", "0", "0", "0", "3"] in [row.split() for row in rows]
    shown = [row for row in rows if row.startswith("waived ")]
    assert len(shown) == 5 and all(row.endswith(f"waived because {REASON})") for row in shown)
    (first,) = [row for row in shown if SAYS[0] in row]
    assert first.startswith("waived   rows: rms_kernel line ")
    assert "bounds: load x[t, h] stays inside (refuted: " in first and "T = 1, H = 3" in first


def test_verbose_and_json_show_the_verdict_and_the_reason(kgen, changed, waiving):
    spec = waiving(*ALL)
    rows = kgen("prove", changed, "--spec", spec, "-v").out.splitlines()
    shown = [row for row in rows if row.startswith("waived ")]
    assert len(shown) == 5 and all(REASON in row for row in shown)
    assert not any(row.startswith("proved ") and says in row for row in rows for says in SAYS)
    said = json.loads(kgen("prove", changed, "--spec", spec, "--json").out)
    assert said["ok"] is True and said["diagnostics"] == []
    waived = {one["says"]: one for one in said["obligations"] if "waived" in one}
    assert {one["waived"] for one in waived.values()} == {REASON} and len(waived) == 5
    assert waived[SAYS[0]]["status"] == "refuted"
    assert not any(one["status"] == "proved" for one in waived.values())


def test_one_waiver_leaves_the_other_findings(kgen, changed, waiving):
    told = kgen("prove", changed, "--spec", waiving(ALL[0]))
    assert told.code == 1
    assert told.err.count("KG801: ") == 3 and told.err.count("KG802: ") == 1
    assert SAYS[0] not in told.err


def test_a_waiver_that_the_file_does_not_need_fails_at_its_place(kgen, waiving, root):
    spec = waiving(ALL[0])
    told = kgen("prove", root / FILE, "--spec", spec)
    assert told.code == 1 and "waived" not in told.out
    line = spec.read_text().splitlines().index("waive:") + 2
    assert told.err.startswith(
        f"{spec}:{line}:5: KG811: `bounds: {SAYS[0]}` is proved\n  {line} |   - {{kernel: rms_kernel"
    )
    assert told.err.endswith("  help: remove the waiver\nkgen prove: 1 finding\n")


def test_a_variants_waiver_is_found_in_its_file(kgen, tmp_path, root):
    folder = tmp_path / "templates" / "norm" / "rms"
    folder.mkdir(parents=True)
    for name in ("variant.yaml", "kernel.py.j2"):
        text = (root / "templates/norm/rms" / name).read_text()
        folder.joinpath(name).write_text(text.replace("o_h < H", "o_h <= H"))
    declared = folder / "variant.yaml"
    plain = declared.read_text()
    items = "".join(
        f'  - {{kernel: rms, subject: {subject}, says: "{says}", verdict: {verdict}, reason: "{REASON}"}}\n'
        for subject, says, verdict in ALL
    )
    declared.write_text(f"{plain}waive:\n{items}")
    arguments = ("check", root / SPEC, "--templates", tmp_path / "templates")
    told = kgen(*arguments)
    assert (told.code, told.err) == (0, "")
    assert told.out.count(f"waived because {REASON}") == 5
    declared.write_text(f"{plain}waive:\n{items.replace('verdict: refuted', 'verdict: unknown')}")
    told = kgen(*arguments)
    assert told.code == 1
    assert told.err.count("norm/rms/variant.yaml:") == 4 and told.err.count("KG814: ") == 4
    assert told.err.count("KG801: ") == 4, "what a waiver does not cover is a finding all the same"
