"""The values of a document, each with its path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each value with its path; items of a list that have names go by these, and their order is a value too."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif named(value):
        yield f"{path} (order)", [one["name"] for one in value]
        for one in value:
            rest = {key: inner for key, inner in one.items() if key != "name"}
            yield from leaves(rest, f"{path}.{one['name']}")
    else:
        yield path, list(value) if isinstance(value, tuple) else value


def named(value: Any) -> bool:
    """Whether it is a list whose items have names."""
    items = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    return items and all(isinstance(one, Mapping) and "name" in one for one in value)


def written(value: Any) -> str:
    """A value as the hash of a spec takes it: to Python, but not to a spec, 1 is True."""
    return json.dumps(value, sort_keys=True)
