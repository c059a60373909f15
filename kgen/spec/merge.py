"""`extends`: one document on top of another."""

from __future__ import annotations

from dataclasses import replace

from kgen.spec.axis import DOMAIN
from kgen.spec.nodes import Entry, Mapping, Node
from kgen.spec.regime import SECTIONS

REPLACES = {
    **{key: frozenset(DOMAIN) - {key} for key in DOMAIN},
    "variant": frozenset({"fallback"}),
    "fallback": frozenset({"variant", *SECTIONS}),
}
"""Keys that exclude others: writing one in a later document drops those that an earlier one has."""


def merged(base: Node, over: Node) -> Node:
    """`over` on top of `base`: mappings are merged key by key, everything else is replaced."""
    if not (isinstance(base, Mapping) and isinstance(over, Mapping)):
        return over
    result = base
    for key, entry in over.entries.items():
        before = result.entries.get(key)
        node = merged(before.node, entry.node) if before else entry.node
        result = put(result, key, Entry(entry.key_mark, node), keep=over.entries)
    return replace(result, mark=over.mark, size=base.size + over.size)


def put(mapping: Mapping, key: str, entry: Entry, keep: dict[str, Entry] | None = None) -> Mapping:
    """`mapping` with `key` set; the keys that it replaces go, except those in `keep`."""
    dropped = REPLACES.get(key, frozenset()) - set(keep or ())
    entries = {name: held for name, held in mapping.entries.items() if name not in dropped}
    return replace(mapping, entries={**entries, key: entry})


def without(mapping: Mapping, key: str) -> Mapping:
    """`mapping` without `key`."""
    return replace(mapping, entries={k: v for k, v in mapping.entries.items() if k != key})
