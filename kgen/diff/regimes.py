"""Regimes that were given another name: recognised by what they say, and among equals by their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kgen.diff.leaves import leaves, named, written

REGIMES, SWEEP = "regimes", "sweep"
ALIKE = 0.5
"""Of the keys that either has, the share that is equal in a regime and what it was."""


def renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """The regimes of `old` that have another name in `new`, with that name."""
    before, after = _regimes(old), _regimes(new)
    gone, come = _only(before, after), _only(after, before)
    pairs = sorted(
        (-likeness, abs(gone[one] - come[two]), gone[one], one, two)
        for one in gone
        for two in come
        if (likeness := _likeness(before[one], after[two])) >= ALIKE
    )
    found: dict[str, str] = {}
    for *_, one, two in pairs:
        if one not in found and two not in found.values():
            found[one] = two
    return {one: found[one] for one in gone if one in found}


def called(document: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    """A document whose regimes have other names, where these say so."""
    if not names:
        return document
    regimes = [{**one, "name": names.get(one["name"], one["name"])} for one in document[REGIMES]]
    whole = {**document, REGIMES: regimes}
    if isinstance(document.get(SWEEP), Mapping):
        whole[SWEEP] = {names.get(key, key): value for key, value in document[SWEEP].items()}
    return whole


def _regimes(document: Mapping[str, Any]) -> dict[str, frozenset[tuple[str, str]]]:
    """The keys and values of each regime, by its name."""
    listed = document.get(REGIMES)
    if not named(listed):
        return {}
    rests = ((one["name"], {k: v for k, v in one.items() if k != "name"}) for one in listed)
    return {
        name: frozenset((key, written(value)) for key, value in leaves(rest, ""))
        for name, rest in rests
    }


def _only(these: Collection[str], others: Collection[str]) -> dict[str, int]:
    """The names that the others have not, with their places."""
    return {name: place for place, name in enumerate(these) if name not in others}


def _likeness(one: frozenset, two: frozenset) -> float:
    """The equal keys, as a share of the larger number of keys."""
    return len(one & two) / max(len(one), len(two), 1)
