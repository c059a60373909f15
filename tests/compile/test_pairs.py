"""No pair of features is open, wrong, or refused without a committed reason; `docs/pairs.md` has each."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

import pairs as table  # noqa: E402

# pages that no tile divides, and a tile of rows over one row: both were not wholly proved once. A window over a tree
# compiled only where a tile has as many keys as a mask has bits
KINDS = (
    "pages of 3 & group of 1",
    pytest.param("tree of draft tokens & window of 20", marks=pytest.mark.full),
)


def _rows(names: Iterable[str]) -> list[table.Row]:
    """Made in a process of their own: the interpreter has to be there before Triton."""
    wanted = [pair for pair in table.pairs() if table.name_of(pair) in set(names)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return list(pool.map(table.row, wanted))


def _document() -> dict[str, str]:
    """The mark of each pair in the matrix, by its name."""
    lines = [line for line in table.DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    marks = {}
    known = table.features()
    for first, row in zip(known, rows[1:]):
        assert row[1] == first.name
        for second, mark in zip(known, row[2:]):
            both = (first,) if first is second else (first, second)
            marks[table.name_of(both)] = mark
    return marks


@pytest.mark.full
@pytest.mark.parametrize("name", KINDS)
def test_a_pair_is_proved_and_right(name):
    (row,) = _rows([name])
    assert row.mark == "T", row


def test_the_document_has_every_pair_and_none_is_open_or_wrong():
    marks = _document()
    names = {table.name_of(pair) for pair in table.pairs()}
    assert {name for name, mark in marks.items() if mark in "TR" and name in names} == names


def test_a_pair_is_refused_if_and_only_if_a_reason_is_committed():
    refused = {name for name, mark in _document().items() if mark == "R"}
    names = {table.name_of(pair) for pair in table.pairs()}
    assert refused & names == set(table.impossible())
    assert all(reason.strip() for reason in table.impossible().values())


def test_what_the_document_calls_refused_is_refused():
    pairs = {table.name_of(pair): pair for pair in table.pairs()}
    assert all(table.refusal(pairs[name]) for name in table.impossible())


@pytest.mark.full
def test_a_sample_comes_out_as_the_document_says():
    names = [table.name_of(pair) for pair in table.pairs()]
    marks = _document()
    for row in _rows(random.Random(7).sample(names, 12)):
        assert row.mark == marks[row.name], row
