"""A comparison as plain data, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kgen.diff.model import Change, FileDiff, Side


def as_json(found: FileDiff) -> dict[str, Any]:
    """Everything that was found, without the files themselves."""
    plain = {
        "name": found.name,
        **{key: _json_side(side) for key, side in (("a", found.a), ("b", found.b))},
        "differs": found.differs,
        "spec": None if found.spec is None else [_json_change(one) for one in found.spec],
    }
    rest = (found.source, found.consequence)
    plain |= {k: v and asdict(v) for k, v in zip(("source", "consequence"), rest)}
    plain["waves"] = [asdict(one) for one in found.waves]
    plain["measured"] = found.measured and [asdict(one) for one in found.measured]
    return plain


def _json_side(side: Side | None) -> dict[str, Any] | None:
    return side and {"label": side.label, "kind": side.kind, "note": side.note}


def _json_change(change: Change) -> dict[str, Any]:
    """A key that a side does not have is not in the object either."""
    there = zip(("old", "new"), (change.old, change.new), change.present)
    return {"key": change.key, **{name: value for name, value, has in there if has}}
