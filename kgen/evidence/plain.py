"""Plain JSON as frozen dataclasses and back: strict when it reads, one text for one value when it writes.

It needs the standard library alone, since a GPU machine writes records with it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Misfit:
    """One value that does not belong where it is; `key` is a path such as `shapes[3].bytes`, "" for the whole."""

    key: str
    found: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.key or 'the whole'}: there is {self.found}; {self.wanted} belongs there"


class ReadingError(ValueError):
    """Raised with every misfit that was found, never with the first alone."""

    def __init__(self, misfits: typing.Iterable[Misfit]):
        self.misfits = tuple(misfits)
        super().__init__("\n".join(map(str, self.misfits)))


def canonical(value: Any) -> str:
    """The one text of plain data: sorted keys, no spaces, ASCII, a newline at the end.

    Raises ValueError for NaN and infinity, which JSON does not have.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def digest(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def parse(text: str) -> Any:
    """The plain data of a JSON text. Raises `ReadingError` for what is no JSON, for a key given twice and for NaN."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise ReadingError([Misfit("", "JSON that is nested too deep", "a flat object")]) from None
    except json.JSONDecodeError as error:
        found = f"no JSON ({error.msg} at line {error.lineno} column {error.colno})"
        raise ReadingError([Misfit("", found, "one JSON object")]) from None
    except ReadingError:
        raise
    except ValueError as error:
        raise ReadingError([Misfit("", f"no JSON ({error})", "one JSON object")]) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReadingError([Misfit(twice, "the key twice in one object", "each key once")])
    if not all(map(_encodable, found)):
        raise ReadingError([Misfit("", "a key that is no text in UTF-8", "a text")])
    return found


def _encodable(text: str) -> bool:
    """Whether a text has bytes: JSON can write half of a character."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _no_constant(name: str) -> float:
    raise ReadingError([Misfit("", f"the number {name}", "a finite number or null")])


def plain(value: Any) -> Any:
    """Dataclasses, mappings and tuples as objects and lists."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in _fields(type(value))}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def read(kind: type[T], data: Any, key: str = "") -> T:
    """`data` as the dataclass `kind`: every field there, no other, each of its declared type.

    Raises `ReadingError` with every misfit.
    """
    misfits: list[Misfit] = []
    value = _read(kind, data, key, misfits)
    if misfits:
        raise ReadingError(misfits)
    return value


def _read(kind: Any, data: Any, key: str, misfits: list[Misfit]) -> Any:
    """`data` as `kind`; what does not fit is added to `misfits`, and the value is of no use then."""
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, data, key, misfits)
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return _union(parts, data, key, misfits)
    if origin is tuple and isinstance(data, list):
        return tuple(_read(parts[0], one, f"{key}[{i}]", misfits) for i, one in enumerate(data))
    if origin is Mapping and isinstance(data, dict):
        return types.MappingProxyType(
            {name: _read(parts[1], one, f"{key}[{name!r}]", misfits) for name, one in data.items()}
        )
    if origin is typing.Literal and isinstance(data, str) and data in parts:
        return data
    if isinstance(kind, type) and _is(kind, data):
        return float(data) if kind is float else data
    misfits.append(Misfit(key, described(data), _wanted(kind)))
    return None


def _is(kind: type, data: Any) -> bool:
    """Whether `data` is of a plain type; an integer also serves as a real number, a truth value as neither."""
    if isinstance(data, bool) or kind is bool:
        return kind is bool and isinstance(data, bool)
    if kind is float:
        return isinstance(data, (int, float)) and abs(data) < 2**1023 and math.isfinite(data)
    if not isinstance(data, kind):
        return False
    return _encodable(data) if kind is str else kind is not int or abs(data) < 2**63


_WORDS: Mapping[Any, str] = types.MappingProxyType(
    {
        str: "a text",
        int: "an integer of 64 bits",
        float: "a finite number",
        bool: "true or false",
        type(None): "null",
    }
)


def _union(parts: tuple[Any, ...], data: Any, key: str, misfits: list[Misfit]) -> Any:
    """`data` as the first of several kinds that it fits; unions here are of plain types, or of one kind and null."""
    if data is None and type(None) in parts:
        return None
    rest = [part for part in parts if part is not type(None)]
    if any(part not in _WORDS for part in rest):
        return _read(rest[0], data, key, misfits)
    fitting = [part for part in rest if _is(part, data)]
    if not fitting:
        misfits.append(Misfit(key, described(data), " or ".join(map(_wanted, parts))))
        return None
    # 1 stays an integer where both an integer and a real number may stand
    return float(data) if fitting == [float] else data


def _dataclass(kind: Any, data: Any, key: str, misfits: list[Misfit]) -> Any:
    if not isinstance(data, dict):
        misfits.append(Misfit(key, described(data), f"an object ({kind.__name__})"))
        return None
    fields = {field.name: hint for field, hint in _hinted(kind)}
    within = f"{key}." if key else ""
    known = ", ".join(fields)
    for name in data.keys() - fields.keys():
        misfits.append(Misfit(within + name, "an unknown key", f"only {known}"))
    for name in fields.keys() - data.keys():
        misfits.append(Misfit(within + name, "nothing", _wanted(fields[name])))
    before = len(misfits)
    values = {
        name: _read(hint, data[name], within + name, misfits)
        for name, hint in fields.items()
        if name in data
    }
    return kind(**values) if len(misfits) == before and values.keys() == fields.keys() else None


@functools.cache
def _fields(kind: type) -> tuple[dataclasses.Field, ...]:
    return dataclasses.fields(kind)


@functools.cache
def _hinted(kind: type) -> tuple[tuple[dataclasses.Field, Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in _fields(kind))


def _wanted(kind: Any) -> str:
    """What belongs somewhere, in words."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return " or ".join(map(_wanted, parts))
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, parts))
    if origin is tuple:
        return "a list"
    if origin is Mapping or dataclasses.is_dataclass(kind):
        return "an object"
    return _WORDS[kind]


def described(data: Any) -> str:
    """What stands somewhere, in words."""
    if data is None:
        return "null"
    if isinstance(data, bool):
        return str(data).lower()
    if isinstance(data, (int, float)):
        return f"the number {data}"
    if isinstance(data, str):
        return f"the text {data[:40]!r}"
    return "an object" if isinstance(data, dict) else "a list"


def require(checks: Callable[[], Iterator[Misfit]]) -> None:
    """Raises `ReadingError` if `checks` yields anything."""
    found = list(checks())
    if found:
        raise ReadingError(found)
