"""Certificates that were stored are read back as they were, and what was changed is noticed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kgen.algebra import Space, conjunction, decide, ge, le, lt
from kgen.algebra.certificate import Certificate
from kgen.algebra.store import CLASSES, DEFINITIONS, StoreError, identity, restored, stored
from kgen.algebra.store import _hints, _options
from kgen.algebra.sympy_check import recheck


@pytest.fixture(scope="module")
def certificates() -> list[Certificate]:
    """Proofs over quotients, a table, cases and products, in one space."""
    space = Space()
    n, tile = space.axis("N", 1, 4096), space.fixed("TILE", 64)
    tiles = space.ceiling_quotient(n, tile)
    pid, lane = space.program(0, tiles), space.lane(0, 64)
    width = space.choice("W", (3, 5))
    place = pid * tile + lane
    statements = [
        (ge(place, 0), ()),
        (lt(place, n + 64), ()),
        (lt(pid * tile, n), ()),
        (le(space.minimum(n, width), 5), ()),
        (ge(space.where(lt(n, width), n, width), 1), ()),
        (le(n * width, 4096 * 5), (lt(lane, n),)),
    ]
    found = [decide(space, goal, conjunction(*given)).certificate for goal, given in statements]
    assert all(found)
    return found


def test_what_was_stored_is_read_back_and_holds(certificates):
    back = restored(json.loads(json.dumps(stored(certificates))))
    assert list(map(identity, back)) == list(map(identity, certificates))
    assert len(set(map(identity, back))) == len(certificates)
    assert all(map(recheck, back))


def numbers(plain: Any, path: tuple = ()) -> Iterator[tuple]:
    """Where the numbers are."""
    if isinstance(plain, (list, dict)):
        items = plain.items() if isinstance(plain, dict) else enumerate(plain)
        for key, value in items:
            yield from numbers(value, (*path, key))
    elif type(plain) is int:
        yield path


def test_every_number_that_is_changed_is_noticed(certificates):
    plain = stored(certificates)
    own = list(map(identity, certificates))
    places = list(numbers(plain))
    assert len(places) > 100
    for path in places:
        spoiled = copy.deepcopy(plain)
        part = spoiled
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] += 1
        try:
            assert list(map(identity, restored(spoiled))) != own, path
        except StoreError:
            pass


def test_every_word_that_is_changed_is_noticed(certificates):
    text = json.dumps(stored(certificates))
    own = list(map(identity, certificates))
    for name in CLASSES:
        for other in CLASSES:
            if f'"{name}"' in text and other != name:
                try:
                    spoiled = restored(json.loads(text.replace(f'"{name}"', f'"{other}"', 1)))
                    assert list(map(identity, spoiled)) != own, (name, other)
                except StoreError:
                    pass


def test_a_weaker_proof_than_its_claim_does_not_hold(certificates):
    plain = stored(certificates)
    goals = {one[1] for one in plain["certificates"]}
    for number, (given, goal, steps) in enumerate(plain["certificates"]):
        for other in goals - {goal}:
            swapped = copy.deepcopy(plain)
            swapped["certificates"] = [[given, other, steps]]
            (found,) = restored(swapped)
            assert identity(found) != identity(certificates[number])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p["variables"].append([0, "Minimum", 0, 0]), "not defined by variables before"),
        (lambda p: p["variables"].append([10**9, "Fixed", "X", 1]), "not defined by variables"),
        (lambda p: p["polynomials"].append([[0]]), "is no term"),
        (lambda p: p["polynomials"].append([[1, 2, 1]]), "is no term"),
        (lambda p: p["polynomials"].append([[True]]), "is no term"),
        (lambda p: p["polynomials"].append([[1], [2]]), "two terms"),
        (lambda p: p["formulas"].append(["AtLeast", 10**6]), "there is no number"),
        (lambda p: p["formulas"].append(["Trivial"]), "Trivial is out of place"),
        (lambda p: p["formulas"].append(["AtLeast"]), "AtLeast has 1 fields, and 0 are given"),
        (lambda p: p["certificates"].append([0, 0, []]), "IndexError"),
        (lambda p: p["certificates"].append([0, 0, [["Refuted", 0]]]), "there is no number 0"),
        (lambda p: p.pop("formulas"), "KeyError"),
    ],
)
def test_what_is_no_certificate_is_refused(certificates, change, reason):
    plain = stored(certificates)
    change(plain)
    with pytest.raises(StoreError, match=reason):
        restored(plain)


def test_a_variable_may_not_be_defined_by_itself(certificates):
    plain = stored(certificates)
    last = plain["variables"][-1][0]
    plain["polynomials"].append([[1, last + 1]])
    itself = len(plain["polynomials"]) - 1
    plain["variables"].append([last + 1, "Minimum", itself, itself])
    with pytest.raises(StoreError, match="not defined by variables before it"):
        restored(plain)


def test_every_class_has_fields_that_can_be_read():
    for kind in CLASSES.values():
        for hint in _hints(kind).values():
            assert _options(hint)
    import kgen.algebra.definition as base

    def every(kind: type) -> Iterator[type]:
        for one in kind.__subclasses__():
            yield one
            yield from every(one)

    assert {one for one in every(base.Definition) if one.__module__.startswith("kgen")} == set(
        DEFINITIONS
    )
