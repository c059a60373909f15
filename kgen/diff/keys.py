"""Resolved keys of a spec, by path, and which of them differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgen.diff.model import Change, Side

_HASH = "spec.sha256"
_TOP = ("family", "judge", "arguments", "returns", "devices", "targets", "limits", "gates")
_REGIME = ("name", "when", "variant", "fallback", "parameters")


def changes(a: Side, b: Side) -> tuple[Change, ...] | None:
    """The keys that differ between two sides; None where a side says nothing of its spec.

    Of two specs these are all keys, with what they extend and what `--set` changes. A rendered bundle keeps what its
    file depends on, under the names of parameters, so that with one on either side both are read so.
    """
    if a.document is not None and b.document is not None:
        return _between(_flat(a.document), _flat(b.document))
    if a.manifest is None or b.manifest is None:
        return None
    old, new = _told(a.manifest), _told(b.manifest)
    # an older kgen kept less: what only one manifest tells of is no change
    both = old.keys() & new.keys()
    found = _between(*(_flat({k: v for k, v in one.items() if k in both}) for one in (old, new)))
    hashes = [one["spec"]["sha256"] for one in (a.manifest, b.manifest)]
    # what no manifest keeps, such as `sweep`, still makes another spec
    return found or (() if hashes[0] == hashes[1] else (Change(_HASH, *hashes),))


def _told(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a manifest tells of."""
    problem = {k: v for k, v in manifest["problem"].items() if k not in (*_TOP, "regimes")}
    return {
        "name": manifest["spec"]["name"],
        **{key: manifest[key] for key in _TOP if key in manifest},
        **problem,
        "regimes": [{key: one[key] for key in _REGIME} for one in manifest["regimes"]],
    }


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_leaves(document, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each value with its path; items of a list that have names go by these, and their order is a value too."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif _named(value):
        yield f"{path} (order)", [one["name"] for one in value]
        for one in value:
            rest = {key: inner for key, inner in one.items() if key != "name"}
            yield from _leaves(rest, f"{path}.{one['name']}")
    else:
        yield path, list(value) if isinstance(value, tuple) else value


def _named(value: Any) -> bool:
    items = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    return items and all(isinstance(one, Mapping) and "name" in one for one in value)


def _between(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(
        Change(key, old.get(key), new.get(key), (key in old, key in new))
        for key in keys
        if key not in old or key not in new or _written(old[key]) != _written(new[key])
    )


def _written(value: Any) -> str:
    """A value as the hash of a spec takes it: to Python, but not to a spec, 1 is True."""
    return json.dumps(value, sort_keys=True)


def literals(a: Side, b: Side) -> dict[tuple[str, str], set[str]]:
    """The values of parameters and constant axes that differ, as literals of the source, with their names.

    None where the templates differ too: then the same numbers may have changed for another reason.
    """
    if a.manifest is None or b.manifest is None:
        return {}
    if a.manifest.get("templates") != b.manifest.get("templates"):
        return {}
    old, new = _values(a.manifest), _values(b.manifest)
    found: dict[tuple[str, str], set[str]] = {}
    for key in old.keys() & new.keys():
        if _written(old[key]) != _written(new[key]):
            found.setdefault((repr(old[key]), repr(new[key])), set()).add(key[-1])
    return found


def _values(manifest: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    axes = manifest["problem"]["axes"].items()
    constants = {("", name): axis["const"] for name, axis in axes if "const" in axis}
    return constants | {
        (one["name"], name): value
        for one in manifest["regimes"]
        for name, value in one["parameters"].items()
    }
