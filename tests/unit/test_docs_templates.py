"""A variant written by following docs/templates.md, with no Python of kgen touched."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.templates import Templates
from kgen.plan.variant import Variant
from kgen.render.assemble import render
from kgen.spec import load


def _documented(root: Path):
    location = importlib.util.spec_from_file_location(
        "documented", root / "tests" / "documented.py"
    )
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module


def test_the_example_is_checked_and_rendered(root, tmp_path):
    spec, folder = _documented(root).write_softmax(root / "docs" / "templates.md", tmp_path)
    templates = Templates([folder])
    plan = build(load(spec), templates)
    assert check(plan).clean
    text = render(plan, templates).text
    assert "def softmax_kernel(" in text
    assert "def softmax_padded_kernel(" in text


def test_every_key_of_a_declaration_is_documented(root):
    text = (root / "docs" / "templates.md").read_text()
    missing = [
        key
        for key in Variant.model_fields
        if not re.search(rf"^\| .*`{key}`|^{key}:", text, re.MULTILINE)
    ]
    assert missing == []
