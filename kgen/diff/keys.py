"""Resolved keys of a spec, by path, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgen.diff.leaves import leaves, written
from kgen.diff.model import Change, Side
from kgen.diff.regimes import REGIMES, called, renamed

_HASH = "spec.sha256"
_TOP = ("family", "judge", "arguments", "returns", "devices", "targets", "limits", "gates")
_REGIME = ("name", "when", "variant", "fallback", "parameters")


def changes(a: Side, b: Side) -> tuple[Change, ...] | None:
    """The keys that differ between two sides; None where a side says nothing of its spec.

    Of two specs these are all keys, with what they extend and what `--set` changes. A rendered bundle keeps what its
    file depends on, under the names of parameters, so that with one on either side both are read so.
    """
    if a.document is not None and b.document is not None:
        return _between(a.document, b.document)
    if a.manifest is None or b.manifest is None:
        return None
    old, new = _told(a.manifest), _told(b.manifest)
    # an older kgen kept less: what only one manifest tells of is no change
    both = old.keys() & new.keys()
    found = _between(*({k: v for k, v in one.items() if k in both} for one in (old, new)))
    hashes = [one["spec"]["sha256"] for one in (a.manifest, b.manifest)]
    # what no manifest keeps, such as `sweep`, still makes another spec
    return found or (() if hashes[0] == hashes[1] else (Change(_HASH, *hashes),))


def _told(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a manifest tells of."""
    problem = {k: v for k, v in manifest["problem"].items() if k not in (*_TOP, REGIMES)}
    return {
        "name": manifest["spec"]["name"],
        **{key: manifest[key] for key in _TOP if key in manifest},
        **problem,
        REGIMES: [{key: one[key] for key in _REGIME} for one in manifest["regimes"]],
    }


def _between(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """The keys that differ, a regime that was given another name under that."""
    names = renamed(old, new)
    told = tuple(Change(f"{REGIMES} (renamed)", *pair) for pair in names.items())
    before, after = dict(leaves(called(old, names), "")), dict(leaves(new, ""))
    keys = [*before, *(key for key in after if key not in before)]
    return told + tuple(
        Change(key, before.get(key), after.get(key), (key in before, key in after))
        for key in keys
        if key not in before or key not in after or written(before[key]) != written(after[key])
    )


def literals(a: Side, b: Side) -> dict[tuple[str, str], set[str]]:
    """The values of parameters and constant axes that differ, as literals of the source, with their names.

    None where the templates differ too: then the same numbers may have changed for another reason.
    """
    if a.manifest is None or b.manifest is None:
        return {}
    if a.manifest.get("templates") != b.manifest.get("templates"):
        return {}
    names = renamed(_told(a.manifest), _told(b.manifest))
    old, new = _values(a.manifest, names), _values(b.manifest, {})
    found: dict[tuple[str, str], set[str]] = {}
    for key in old.keys() & new.keys():
        if written(old[key]) != written(new[key]):
            found.setdefault((repr(old[key]), repr(new[key])), set()).add(key[-1])
    return found


def _values(manifest: Mapping[str, Any], names: Mapping[str, str]) -> dict[tuple[str, str], Any]:
    """Constant axes, and parameters by regime, whose other name counts where `names` has one."""
    axes = manifest["problem"]["axes"].items()
    constants = {("", name): axis["const"] for name, axis in axes if "const" in axis}
    return constants | {
        (names.get(one["name"], one["name"]), name): value
        for one in manifest["regimes"]
        for name, value in one["parameters"].items()
    }
