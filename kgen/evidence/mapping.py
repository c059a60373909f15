"""The mapping from a remote judge's JSON to an import: where in the answer each thing stands.

A place is a JSON pointer (RFC 6901) such as `/results/0/median`, or `=text` for what the answer does not say. Under `each`
stands the pointer to a list or an object; the other pointers beside it begin at one of its items, and `@key` is the key under
which an item stands in an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from kgen.evidence.imports import ROLES, UNITS, ImportedCase, ImportedShape, Time
from kgen.evidence.plain import Misfit, ReadingError, described, read

ITSELF, KEY = "", "@key"


@dataclass(frozen=True)
class TimeAt:
    """Where a time and its interval stand; without an interval both ends are null."""

    seconds: str
    low: str | None
    high: str | None


@dataclass(frozen=True)
class ShapesAt:
    """Where the rows of the judge's table stand."""

    each: str
    name: str
    candidate: TimeAt | None
    baseline: TimeAt | None
    incumbent: TimeAt | None


@dataclass(frozen=True)
class CasesAt:
    """Where correctness cases stand, and which statuses mean that a case passed."""

    each: str
    name: str
    status: str
    passed: tuple[str, ...]


@dataclass(frozen=True)
class FlagsAt:
    """Where flags stand; `text` leads from an item to its text, "" for the item itself."""

    each: str
    text: str


@dataclass(frozen=True)
class ModeAt:
    """Where the answer says what it is, and the words for one that counts and for a mere check."""

    at: str
    scored: tuple[str, ...]
    check: tuple[str, ...]


@dataclass(frozen=True)
class ImportMapping:
    """A mapping file. `unit` is that of all its times; what is null the answer does not tell."""

    mapping: int
    unit: Literal["s", "ms", "us", "ns"]
    problem: str
    device: str
    job: str
    evaluator: str
    mode: ModeAt
    started: str | None
    quota_left: str | None
    shapes: ShapesAt
    cases: CasesAt | None
    flags: FlagsAt | None


def read_mapping(data: Any) -> ImportMapping:
    """A mapping from plain data, where optional keys may be left out. Raises `ReadingError` with every misfit."""
    found = read(ImportMapping, _completed(data))
    if found.mapping != 1:
        raise ReadingError([Misfit("mapping", f"the number {found.mapping}", "1")])
    both = [word for word in found.mode.scored if word in found.mode.check]
    if both:
        told = f"{both[0]!r} in `scored` and in `check`"
        raise ReadingError([Misfit("mode", told, "a word in one of them")])
    return found


def _completed(data: Any) -> Any:
    """`data` with null for what may be left out."""
    if not isinstance(data, dict):
        return data
    whole = {**dict.fromkeys(("started", "quota_left", "cases", "flags")), **data}
    if isinstance(whole.get("flags"), dict):
        whole["flags"] = {"text": ITSELF, **whole["flags"]}
    if isinstance(whole.get("shapes"), dict):
        shapes = {**dict.fromkeys(ROLES), **whole["shapes"]}
        for role in ROLES:
            if isinstance(shapes[role], dict):
                shapes[role] = {"low": None, "high": None, **shapes[role]}
        whole["shapes"] = shapes
    return whole


def mapped(mapping: ImportMapping, answer: Any) -> dict[str, Any]:
    """The fields of an import that the answer gives. Raises `ReadingError` with every place that leads nowhere."""
    reader = _Reader()
    fields = {
        name: reader.text(answer, getattr(mapping, name), name)
        for name in ("problem", "device", "job", "evaluator")
    }
    fields["started"] = mapping.started and reader.moment(answer, mapping.started, "started")
    fields["quota_left"] = reader.count(answer, mapping.quota_left, "quota_left")
    fields["mode"] = reader.mode(answer, mapping.mode)
    fields["shapes"] = tuple(reader.shapes(answer, mapping.shapes, UNITS[mapping.unit]))
    fields["cases"] = tuple(reader.cases(answer, mapping.cases)) if mapping.cases else ()
    fields["flags"] = tuple(reader.flags(answer, mapping.flags)) if mapping.flags else ()
    if reader.misfits:
        raise ReadingError(reader.misfits)
    return fields


class _Reader:
    """Follows places and gathers what does not fit."""

    def __init__(self) -> None:
        self.misfits: list[Misfit] = []

    def text(self, data: Any, place: str, key: str) -> str:
        found = self._at(data, place, key)
        if isinstance(found, (str, int)) and not isinstance(found, bool):
            return str(found)
        return self._misfit(key, place, found, "a text") or ""

    def moment(self, data: Any, place: str, key: str) -> str | None:
        """A time as a record has it."""
        text = self.text(data, place, key)
        try:
            found = datetime.fromtimestamp(int(text), UTC) if text.isdigit() else _utc(text)
            return found.strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, OverflowError, OSError):
            wanted = "a time such as 2026-05-31T12:00:00Z, or its seconds since 1970,"
            return text and self._misfit(key, place, text, wanted)

    def count(self, data: Any, place: str | None, key: str) -> int | None:
        if place is None:
            return None
        found = self._at(data, place, key)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        return self._misfit(key, place, found, "an integer")

    def mode(self, answer: Any, at: ModeAt) -> str:
        found = self.text(answer, at.at, "mode.at")
        if found in at.scored:
            return "scored"
        if found not in at.check:
            known = ", ".join((*at.scored, *at.check))
            self._misfit("mode", at.at, found, f"one of {known}")
        return "check"

    def shapes(self, answer: Any, at: ShapesAt, unit: float) -> Iterator[ImportedShape]:
        for item, key, own in self._items(answer, at.each, "shapes.each"):
            name = self._named(item, at.name, f"shapes.name{key}", own)
            times = [
                self._time(item, getattr(at, role), f"shapes.{role}", key, unit) for role in ROLES
            ]
            yield ImportedShape(name, *times)

    def cases(self, answer: Any, at: CasesAt) -> Iterator[ImportedCase]:
        for item, key, own in self._items(answer, at.each, "cases.each"):
            name = self._named(item, at.name, f"cases.name{key}", own)
            status = self._status(item, at.status, f"cases.status{key}")
            yield ImportedCase(name, status, status in at.passed)

    def flags(self, answer: Any, at: FlagsAt) -> Iterator[str]:
        for item, key, own in self._items(answer, at.each, "flags.each"):
            yield self._named(item, at.text, f"flags.text{key}", own)

    def _status(self, item: Any, place: str, key: str) -> str:
        found = self._at(item, place, key)
        if isinstance(found, bool):
            return str(found).lower()
        return self.text(item, place, key)

    def _time(self, item: Any, at: TimeAt | None, name: str, key: str, unit: float) -> Time | None:
        if at is None:
            return None
        seconds = self._number(item, at.seconds, f"{name}.seconds{key}")
        low, high = (
            None if place is None else self._number(item, place, f"{name}.{end}{key}")
            for end, place in (("low", at.low), ("high", at.high))
        )
        # a row that the judge did not time holds null
        if seconds is None:
            return None
        return Time(seconds * unit, *(end and end * unit for end in (low, high)))

    def _number(self, item: Any, place: str, key: str) -> float | None:
        found = self._at(item, place, key)
        if found is None or isinstance(found, (int, float)) and not isinstance(found, bool):
            return found
        return self._misfit(key, place, found, "a number or null")

    def _named(self, item: Any, place: str, key: str, own: str | None) -> str:
        """A text of an item, or its `own` key."""
        if place != KEY:
            return self.text(item, place, key)
        if own is None:
            self.misfits.append(
                Misfit(key, f"{KEY} of an item of a list", "a pointer into the item")
            )
        return own or ""

    def _items(self, answer: Any, place: str, key: str) -> Iterator[tuple[Any, str, str | None]]:
        """Items, how they are called in messages, and their keys in an object."""
        found = self._at(answer, place, key)
        if isinstance(found, list):
            yield from ((item, f" of item {index}", None) for index, item in enumerate(found))
        elif isinstance(found, Mapping):
            yield from ((item, f" of {name!r}", name) for name, item in found.items())
        else:
            self._misfit(key, place, found, "a list or an object")

    def _at(self, data: Any, place: str, key: str) -> Any:
        if place.startswith("="):
            return place[1:]
        found = follow(data, place)
        if isinstance(found, _Nowhere):
            self.misfits.append(
                Misfit(key, f"{place!r}, and {found.why}", "a pointer into the answer")
            )
        return found

    def _misfit(self, key: str, place: str, found: Any, wanted: str) -> None:
        if not isinstance(found, _Nowhere):
            self.misfits.append(Misfit(key, f"{described(found)} at {place!r}", wanted))


def _utc(text: str) -> datetime:
    """A time of ISO 8601; one that says no offset is in UTC. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)


@dataclass(frozen=True)
class _Nowhere:
    """What a pointer that leads nowhere gives."""

    why: str


def follow(data: Any, pointer: str) -> Any:
    """What a JSON pointer leads to."""
    if pointer == ITSELF:
        return data
    if not pointer.startswith("/"):
        return _Nowhere("a pointer begins with /")
    for step in (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")):
        data = _step(data, step)
        if isinstance(data, _Nowhere):
            break
    return data


def _step(data: Any, step: str) -> Any:
    if isinstance(data, Mapping):
        return data[step] if step in data else _Nowhere(f"there is no {step!r}")
    if isinstance(data, Sequence) and not isinstance(data, str):
        inside = step.isascii() and step.isdigit() and int(step) < len(data)
        return data[int(step)] if inside else _Nowhere(f"there is no item {step}")
    return _Nowhere(f"{step!r} leads into {described(data)}")
