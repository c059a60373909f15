"""Every code has a page, and every page a code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kgen
from kgen.diagnostics.pages import all_codes, page
from kgen.spec import loads

SOURCES = sorted(Path(kgen.__file__).parent.rglob("*.py"))


def test_codes_and_pages_are_the_same():
    text = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES)
    assert set(re.findall(r'"(KG\d{3})"', text)) == set(all_codes())


@pytest.mark.parametrize("code", all_codes())
def test_a_page_says_what_happened_why_it_matters_and_what_to_do(code):
    found = page(code)
    assert re.fullmatch(r"KG[1-9]\d\d", found.code)
    assert found.title and not found.title.endswith(".")
    for part in (found.what, found.why):
        assert part.strip().endswith(".")
    assert found.instead.strip()


def test_a_code_is_found_in_any_case_of_letters():
    assert page("kg204") is page("KG204")
    with pytest.raises(KeyError):
        page("KG999")


def test_the_small_spec_that_is_shown_for_an_empty_file_is_valid():
    _, _, spec = page("KG105").instead.partition("\n\n")
    assert loads(spec, "small.yaml").document.name == "rms_4096"
