"""The second opinion is the same from a process beside this one as from this one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgen.algebra import Certificate, Space, decide, ge, le
from kgen.algebra.second import at_once, beside


@pytest.fixture
def certificates() -> list[Certificate]:
    """Two claims of one space, one of another, and a wrong one: the proof of a weaker claim."""
    space, other = Space(), Space()
    n, tile = space.axis("N", 0), space.axis("TILE", 1)
    m = other.axis("M", 3, 9)
    right = [
        decide(space, ge(space.ceiling_quotient(n, tile) * tile, n)).certificate,
        decide(space, ge(n * tile, n)).certificate,
        decide(other, le(m, 9)).certificate,
    ]
    return [*right, replace(right[-1], goal=le(m, 8))]


def test_a_process_beside_refuses_what_this_one_refuses(certificates):
    expected = at_once(certificates).result()
    assert expected == certificates[3:]
    with beside() as confirm:
        assert confirm(certificates).result() == expected
        assert confirm(certificates[:3]).result() == []
        assert confirm([]).result() == []


def test_where_the_process_dies_this_one_answers(certificates, monkeypatch):
    monkeypatch.setattr("kgen.algebra.second.WORKER", "kgen.no_such_module")
    with beside() as confirm:
        assert confirm(certificates).result() == certificates[3:]
