"""`kgen explain`: pages of codes, and the document that holds them all."""

from __future__ import annotations

import json

from kgen.diagnostics.pages import all_codes


def test_a_page_says_what_why_and_what_instead(kgen):
    told = kgen("explain", "KG190")
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[0] == "KG190: a generated file is not current"
    assert [line for line in lines if line and not line.startswith(" ")][1:] == [
        "What it is",
        "Why it matters",
        "Instead",
    ]
    assert max(map(len, lines)) <= 100


def test_a_code_is_found_in_small_letters(kgen):
    assert kgen("explain", "kg190").out == kgen("explain", "KG190").out


def test_an_unknown_code_is_told_those_of_its_area(kgen):
    told = kgen("explain", "kg199")
    assert told.code == 2
    assert "there is no code KG199; there are KG101, " in told.err
    assert "KG2" not in told.err


def test_a_line_of_a_rendered_file_is_traced_to_its_template(kgen, root):
    file = root / "generated/norm/rms_4096/submission.py"
    manifest = json.loads(file.with_name("manifest.json").read_text())
    first, last = manifest["functions"]["rms_kernel"]
    origin = json.loads(kgen("explain", f"{file}:{last}", "--json").out)["origin"]
    assert (origin["function"], origin["template"]) == ("rms_kernel", "norm/rms/kernel.py.j2")
    template = (root / "templates" / origin["template"]).read_text().splitlines()
    assert template[origin["template_line"] - 1].strip()
    assert first < last


def test_the_committed_document_holds_every_page_as_it_is_today(kgen, root):
    printed = kgen("explain", "--all").out
    assert (root / "docs" / "errors.md").read_text() == printed
    assert [code for code in all_codes() if f"\n### {code}: " not in printed] == []


def test_a_program_gets_the_page_as_data(kgen):
    page = json.loads(kgen("explain", "KG190", "--json").out)["page"]
    assert page["code"] == "KG190" and set(page) == {"code", "title", "what", "why", "instead"}
