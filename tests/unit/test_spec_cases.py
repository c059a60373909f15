"""Bad specs, each with the text of everything that is said about it: `cases/spec/NAME.yaml` and `NAME.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.spec import load

CASES = Path(__file__).with_name("cases") / "spec"


@pytest.mark.parametrize("name", sorted(file.stem for file in CASES.glob("*.yaml")))
def test_what_is_wrong_is_said_in_these_words(name, monkeypatch):
    monkeypatch.chdir(CASES)
    with pytest.raises(KgenError) as caught:
        load(f"{name}.yaml")
    assert str(caught.value) == Path(f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def test_each_case_has_its_text():
    cases = {file.stem for file in CASES.glob("*.yaml")}
    assert cases == {file.stem for file in CASES.glob("*.txt")}
    assert len(cases) > 100
