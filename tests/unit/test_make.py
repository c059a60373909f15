"""What is remembered is used only where it is what was made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgen.make import make
from kgen.plan.templates import Templates
from kgen.spec import load

NORM = "specs/norm/rms_4096.yaml"


@pytest.fixture
def spec(root: Path):
    return load(root / NORM)


def test_a_second_make_gives_the_same_from_what_is_remembered(spec, tmp_path, monkeypatch):
    first = make(spec, Templates(), tmp_path)
    monkeypatch.setattr("kgen.make._make", lambda *given: pytest.fail("it was made again"))
    again = make(spec, Templates(), tmp_path)
    assert (again.text, again.manifest) == (first.text, json.loads(json.dumps(first.manifest)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace("rms_kernel", "rms_kernal", 1),
        lambda text: text[: len(text) // 2],
    ],
    ids=["empty", "another shape", "edited", "cut"],
)
def test_what_was_damaged_is_made_again(spec, tmp_path, damage):
    first = make(spec, Templates(), tmp_path)
    for stored in [*tmp_path.glob("made/*"), *tmp_path.glob("black/*")]:
        stored.write_text(damage(stored.read_text()))
    assert make(spec, Templates(), tmp_path).text == first.text
