"""No wrong mutant of any template is proved; `docs/mutants.md` has the verdict on each."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

import mutants as table  # noqa: E402

from kgen.algebra import Status  # noqa: E402
from kgen.prove.mutate import OPERATORS, VALUE, mutants  # noqa: E402


def sites() -> list:
    return [(file, mutant) for file in table.FILES for mutant in file.mutants()]


def counted() -> Counter:
    """How many mutants of each template and operator there are."""
    found = Counter((file.functions[one.function], one.operator) for file, one in sites())
    for one in mutants(table.LAST_BLOCK.read_text(), table.BY_HAND_FUNCTIONS):
        found[table.BY_HAND, one.operator] += 1
    return found


def document() -> list[list[str]]:
    """The rows of the document's first table."""
    lines = table.DOCUMENT.read_text().splitlines()
    start = lines.index("|---|---|--:|--:|--:|--:|--:|--:|") + 1
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_every_operator_has_mutants():
    found = Counter(operator for (_, operator), n in counted().items() for _ in range(n))
    assert [name for name in OPERATORS if not found[name]] == []


def test_the_document_has_every_mutant():
    listed = {(template, operator): int(n) for template, operator, n, *_ in document()}
    assert listed == counted()


def test_no_wrong_mutant_is_proved_in_the_document():
    assert all(row[-1] == "0" for row in document())
    memory = [row for row in document() if row[1] not in VALUE]
    assert sum(int(row[3]) for row in memory) > 100  # refuted with values


def test_no_broken_last_block_is_proved():
    found = list(table.by_hand())
    refused = [row for row in found if row.shown == "refused"]
    assert {row.verdict for row in found if row not in refused} == {"refuted"}
    assert all(row.why.startswith("CompilationError") for row in refused)
    order = {"barrier removed", "release removed", "reset removed"}
    assert order <= {row.operator for row in found}


@pytest.mark.parametrize("number", (0, 2))
def test_a_few_mutants_of_the_templates_anew(number):
    file, mutant = random.Random(number).choice(sites())
    shown = file.judgement(mutant)
    status, why = file.verdict(mutant, shown)
    assert not (status is Status.PROVED and shown.outcome == "wrong"), f"{mutant}: {shown.why}"
    assert status is Status.PROVED or why


@pytest.mark.full
@pytest.mark.parametrize("part", (1, 6))
def test_every_tenth_mutant_anew(part):
    """The document has all of them, and takes an hour."""
    for file, mutant in sites()[part::20]:
        shown = file.judgement(mutant)
        status, _ = file.verdict(mutant, shown)
        assert not (status is Status.PROVED and shown.outcome == "wrong"), f"{mutant}: {shown.why}"
